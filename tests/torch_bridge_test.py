"""The bridge between libtensortap_pytorch.so and the interpreter: names, source lines, torch.compile, the package's own calls.

The programs run in TENSORTAP_TEST_PYTHON, which has torch; what they print is compared.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import BUILD, ROOT, package_alone

PYTHON = os.environ.get("TENSORTAP_TEST_PYTHON", "python3")
LIBRARY = BUILD / "tests" / "libtorch_bridge_library.so"


@functools.cache
def torch_is_missing() -> str:
    """Say why the programs cannot run, "" when they can."""
    if not LIBRARY.exists():
        return f"{LIBRARY} is not built"
    asked = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False, cwd="/")
    return "" if asked.returncode == 0 else f"{PYTHON} has no torch: set TENSORTAP_TEST_PYTHON to one that has"


@pytest.fixture(autouse=True)
def needs_torch() -> None:
    if torch_is_missing():
        pytest.skip(torch_is_missing())


def run(folder: Path, program: str, *options: str, install: bool = True, **environment: str) -> list[str]:
    """Run a program with the bridge in it; give the lines that it printed."""
    start = f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nimport torch\nfrom torch import nn\n"
    start += "import torch_bridge_program as bridge\n"
    if install:
        start += "side = bridge.install()\nf = side.functions\n"
    text = start + textwrap.dedent(program)
    file = folder / "program.py"
    file.write_text(text)
    given = {name: value for name, value in os.environ.items() if name != "TENSORTAP_EXEC"}
    given |= {"TORCH_BRIDGE_LIBRARY": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([PYTHON, *options, str(file)], capture_output=True, text=True, check=False, cwd=folder, env=given, timeout=500)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("USDT:")]  # torch's own, when it profiles
    assert said == []
    return done.stdout.splitlines()


MODELS = """
class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.seen = []
    def forward(self, x):
        print(bridge.module())
        return self.linear(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Leaf(), Leaf()])
        self.again = self.blocks[0]
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.again(x)
"""


def test_modules_are_named_by_their_path_from_the_root(tmp_path: Path) -> None:
    program = "x = torch.ones(1, 2)\nnet = Net()\nnet(x)\nprint(repr(bridge.module()))\nother = Net()\nother(x)\nnet(x)\n"
    first = ["Net.blocks.0", "Net.blocks.1", "Net.blocks.0"]
    second = ["Net#1.blocks.0", "Net#1.blocks.1", "Net#1.blocks.0"]
    assert run(tmp_path, MODELS + program) == [*first, "''", *second, *first]


def test_a_module_outside_of_every_tree_is_named_by_who_calls_it(tmp_path: Path) -> None:
    program = """
    class Show(nn.Module):
        def forward(self, x):
            print(bridge.module(), f.module_id(self))
            return x
    class Calls(nn.Module):
        def forward(self, x):
            return Show()(Show()(x))
    net = Calls()
    net(torch.ones(1))
    """
    lines = run(tmp_path, program)
    assert [line.split()[0] for line in lines] == ["Calls.Show", "Calls.Show"]
    assert lines[0] == lines[1]


def test_a_module_made_anew_in_every_step_keeps_its_name(tmp_path: Path) -> None:
    program = """
    numbers = set()
    for _ in range(50):
        loss = nn.MSELoss()
        loss(torch.ones(1), torch.ones(1))
        numbers.add(f.module_id(loss))
        kept = [nn.MSELoss() for _ in range(3)]
        for other in kept:
            other(torch.ones(1), torch.ones(1))
            numbers.add(f.module_id(other))
        del loss, other, kept
    print(len(numbers))
    """
    assert run(tmp_path, program) == ["4"]


def test_addresses_that_are_used_again_do_not_inherit_names(tmp_path: Path) -> None:
    program = """
    import gc
    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.cycle = [self]
            self.part = nn.Identity()
        def forward(self, x):
            assert bridge.module() == "A", bridge.module()
            return self.part(x)
    class B(nn.Module):
        def forward(self, x):
            assert bridge.module() == "B", bridge.module()
            return x
    addresses = {}
    reused = 0
    for i in range(300):
        module = (A if i % 2 else B)()
        address = id(module)
        reused += addresses.get(address, type(module)) is not type(module)
        addresses[address] = type(module)
        assert f.module_id(module) == 0
        module(torch.ones(1))
        del module
        gc.collect()
    print(reused > 10)
    """
    assert run(tmp_path, program) == ["True"]


def test_what_a_call_left_on_the_stack_is_taken_off(tmp_path: Path) -> None:
    program = """
    class Raises(nn.Module):
        def forward(self, x):
            raise ValueError
    class Generates(nn.Module):
        def forward(self, x):
            yield bridge.module()
            yield bridge.module()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.raises, self.generates = Raises(), Generates()
        def forward(self, x):
            try:
                self.raises(x)
            except ValueError:
                pass
            print(bridge.module())
            for place in self.generates(x):
                print(place)
            raise KeyError
    try:
        Net()(torch.ones(1))
    except KeyError:
        print(repr(bridge.module()))
    """
    assert run(tmp_path, program) == ["Net", "Net", "Net", "''"]


def test_each_thread_has_its_own_modules(tmp_path: Path) -> None:
    program = """
    import threading
    barrier = threading.Barrier(4, timeout=60)
    class Part(nn.Module):
        def forward(self, x):
            barrier.wait()
            assert bridge.module().endswith(".part"), bridge.module()
            return bridge.module()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()
        def forward(self, x):
            return [self.part(x) for _ in range(20)]
    nets = [Net() for _ in range(4)]
    seen = []
    threads = [threading.Thread(target=lambda net=net: seen.append(set(net(torch.ones(1))))) for net in nets]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sorted(name for names in seen for name in names), repr(bridge.module()))
    """
    assert run(tmp_path, program) == ["['Net#1.part', 'Net#2.part', 'Net#3.part', 'Net.part'] ''"]


def test_copies_and_files_of_modules_carry_nothing_of_ours(tmp_path: Path) -> None:
    program = """
    import copy, io, pickle
    net = Net()
    before = {name: sorted(vars(module)) for name, module in net.named_modules()}
    x = torch.ones(1, 2)
    net(x)
    assert before == {name: sorted(vars(module)) for name, module in net.named_modules()}
    copied = copy.deepcopy(net)
    copied(x)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    assert b"tensortap" not in buffer.getvalue()
    buffer.seek(0)
    torch.load(buffer, weights_only=False)(x)
    assert b"tensortap" not in pickle.dumps(net)
    """
    lines = run(tmp_path, MODELS + textwrap.dedent(program))
    assert [line.partition(".")[0] for line in lines] == ["Net"] * 3 + ["Net#1"] * 3 + ["Net#2"] * 3


def test_lazy_traced_and_exported_modules_work(tmp_path: Path) -> None:
    program = """
    import warnings
    warnings.simplefilter("ignore")
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.lazy = nn.LazyLinear(3)
        def forward(self, x):
            return self.lazy(x).relu()
    net, x = Plain(), torch.ones(2, 5)
    expected = net(x)
    net(x)
    print(f.parameter_name(net.lazy.weight.untyped_storage().data_ptr()))
    assert torch.equal(torch.jit.trace(net, x)(x), expected)
    assert torch.equal(torch.jit.script(net)(x), expected)
    exported = torch.export.export(net, (x,))
    assert torch.equal(exported.module()(x), expected)
    assert torch.equal(torch.fx.symbolic_trace(net)(x), expected)
    print([str(node.target) for node in exported.graph.nodes if node.op == "call_function"], repr(bridge.module()))
    """
    lines = run(tmp_path, program)
    assert lines == ["lazy.weight", "['aten.linear.default', 'aten.relu.default'] ''"]


def test_parameters_are_named_as_in_the_state_dict_where_they_are(tmp_path: Path) -> None:
    program = """
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(5, 4)
            self.norm = nn.BatchNorm1d(4)
            self.head = nn.Linear(4, 5)
            self.head.weight = self.embed.weight
            flat = torch.zeros(8)
            self.left, self.right = nn.Parameter(flat[:4]), nn.Parameter(flat[4:])
        def forward(self, x):
            return self.head(self.norm(self.embed(x)))
    def name(tensor):
        return f.parameter_name(tensor.untyped_storage().data_ptr())
    net, x = Tied(), torch.tensor([1, 2])
    assert name(net.head.bias) == ""
    net(x)
    print([name(tensor) for tensor in (net.embed.weight, net.head.bias, net.norm.running_mean, net.left, net.right)])
    old = net.head.bias.untyped_storage()
    net.double()
    net(x)
    print(name(net.head.bias), name(net.norm.running_mean), repr(f.parameter_name(old.data_ptr())))
    old = net.head.bias.data
    net.head.bias.data = torch.zeros(5, dtype=torch.double)
    for _ in range(5): net(x)
    print(name(net.head.bias), repr(name(old)))
    storages = [tensor.untyped_storage() for tensor in net.state_dict().values()]
    del net
    print([f.parameter_name(storage.data_ptr()) for storage in storages])
    """
    lines = run(tmp_path, program)
    assert lines[0] == "['embed.weight', 'head.bias', 'norm.running_mean', '', '']"
    assert lines[1] == "head.bias norm.running_mean ''"
    assert lines[2] == "head.bias ''"
    assert set(json.loads(lines[3].replace("'", '"'))) == {""}


def test_wrappers_have_the_names_of_what_they_wrap(tmp_path: Path) -> None:
    program = "net = Net()\ntorch.compile(net, backend='eager')\ncompiled = torch._dynamo.eval_frame.OptimizedModule(net, lambda x: x)\n"
    program += "compiled(torch.ones(1, 2))\nprint(f.module_id(net) == f.module_id(compiled) != 0)\n"
    assert run(tmp_path, MODELS + program)[-1] == "True"


def test_the_tracker_is_told_of_calls_of_roots(tmp_path: Path) -> None:
    program = """
    bridge.record_events()
    net = Net()
    net(torch.ones(1, 2))
    net.eval()(torch.ones(1, 2))
    net.again(torch.ones(1, 2))
    torch.nn.ReLU()(torch.ones(1, 2))
    f.step()
    print("|".join(bridge.events()))
    """
    models = "begin Net with tensors|end Net|begin Net with tensors|end Net|begin Net.blocks.0 with tensors|end Net.blocks.0"
    expected = models + "|begin ReLU|end ReLU|step"
    assert run(tmp_path, MODELS + textwrap.dedent(program))[-1] == expected


LINES = """
import contextlib, functools, inspect
def line():
    return f"program.py:{inspect.currentframe().f_back.f_lineno}"
def check(found, expected):
    assert found == expected, (found, expected)
def generate():
    for _ in range(3):
        yield bridge.where(lock=True), line()
def deep(level):
    return (bridge.where(lock=True), line()) if level == 0 else deep(level - 1)
class Net(nn.Module):
    def forward(self, x):
        return self.made(x)
    def made(self, x):
        return [bridge.where(lock=True), line()]
@contextlib.contextmanager
def inside():
    check(bridge.where(lock=True), line())
    yield
class Hooked:
    @functools.cached_property
    def value(self):
        return bridge.where(lock=True), line()
def everywhere():
    check(bridge.where(lock=True), line())
    for found, expected in generate(): check(found, expected)
    for level in (0, 1, 5, 23, 200): check(*deep(level))
    check(*nn.Sequential(Net())(torch.ones(1)))
    with inside(): check(bridge.where(lock=True), line())
    check(*Hooked().value)
    check(torch.no_grad()(f.where)(), line())
    check(inside()(f.where)(), line())
    check(*max([1, 2], key=lambda _: check(bridge.where(lock=True), line()) or 0) and (0, 0))
    check(*sorted([1], key=lambda _: [check(bridge.where(lock=True), line())]) and (0, 0))
    check(*eval("bridge.where(lock=True), '<string>:1'"))
    check(
        bridge.where(lock=True), line()
    )
"""


@each_row("lock", [False, True])
def test_lines_are_those_of_the_programs_own_code(tmp_path: Path, lock: bool) -> None:
    program = f"f.walk_frames({not lock})\nassert bridge.walks_without_lock() is {not lock}\neverywhere()\nprint('all')\n"
    assert run(tmp_path, LINES + program) == ["all"]


def test_a_known_line_is_found_without_the_lock_while_other_threads_run(tmp_path: Path) -> None:
    program = """
    import gc, sys, threading, time
    stop, checks, wrong = False, 0, []
    def churn():
        while not stop:
            sys._current_frames(); gc.collect(); list(i for i in range(50))
            try: exec("def q():\\n  raise ValueError\\nq()")
            except ValueError: pass
    def rows(lock):
        for _ in range(3): yield bridge.where(lock=lock), line()
    def nested(level, lock):
        return (bridge.where(lock=lock), line()) if level == 0 else nested(level - 1, lock)
    def look(number):
        global checks
        end = time.time() + 3
        while time.time() < end:
            for found, expected in [*rows(False), nested(number, False)]:
                checks += 1
                if found != expected: wrong.append((found, expected))
            sys.settrace(lambda *_: None); sys.settrace(None)
    print(repr(next(rows(False))[0]))
    rows(True).__next__(), nested(2, True)
    threads = [threading.Thread(target=look, args=(k,)) for k in range(3)] + [threading.Thread(target=churn) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads[:3]: thread.join()
    stop = True
    for thread in threads[3:]: thread.join()
    print(checks > 0, wrong[:3])
    """
    assert run(tmp_path, LINES + textwrap.dedent(program)) == ["''", "True []"]


def pythons() -> list[str]:
    """List the Pythons of the path that start; the stand-ins of version managers may not."""
    found = [path for minor in range(10, 15) if (path := shutil.which(f"python3.{minor}"))]
    return [path for path in found if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0]


@each_row("interpreter", pythons())
def test_the_self_test_passes_on_the_pythons_that_are_there(tmp_path: Path, interpreter: str) -> None:
    program = """
    import os, sys
    sys.path.insert(0, sys.argv[1])
    import torch_bridge_program as bridge
    functions = bridge._with_lock.bridge_functions()
    def test(level):
        return functions["prepare_source"]([], []) if level == 0 else test(level - 1)
    def generate():
        yield test(7)
    print(test(0), test(30), next(generate()), max(map(test, [3])))
    def here(lock):
        return bridge.where(lock=lock)
    print(os.path.basename(here(True)) == os.path.basename(here(False)) == "program.py:12")
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    environment = {**os.environ, "TORCH_BRIDGE_LIBRARY": str(LIBRARY)}
    done = subprocess.run([interpreter, str(file), str(ROOT / "tests")], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 5


def test_the_caller_can_ask_where_it_is(tmp_path: Path) -> None:
    program = """
    x = torch.ones(3, requires_grad=True)
    print(repr(bridge.where(lock=True)))
    import sys
    sys.path.append("..")
    print(f.where())
    """
    lines = run(tmp_path, program)
    assert [line.strip("'") for line in lines] == ["program.py:10", "program.py:13"]


BOOTSTRAP = """
import sys
def calls():
    side = sys.modules.get("_tensortap_torch")
    return "installed" if side is not None and side.functions is not None else "plain"
"""


def test_the_python_side_is_installed_on_the_main_thread(tmp_path: Path) -> None:
    program = """
    import sys
    before, modules = list(sys.path), set(sys.modules)
    print(calls(), bridge.bootstrap())
    for _ in range(3): calls()
    print(calls(), bridge.bootstrap(), sys.path == before, "tensortap" in sys.modules,
          [name for name in sorted(set(sys.modules) - modules) if not name.startswith("_tensortap_torch")])
    class Net(nn.Module):
        def forward(self, x):
            return bridge.module()
    print(Net()(torch.ones(1)), bridge.bootstrap())
    """
    for options in ((), ("-I",)):
        lines = run(tmp_path, BOOTSTRAP + textwrap.dedent(program), *options, install=False)
        assert lines[0] == "plain False"
        assert lines[1:] == ["installed True True False []", "Net True"]


def test_a_main_thread_that_waits_does_not_keep_the_python_side_out(tmp_path: Path) -> None:
    program = """
    import ctypes, os, threading, time
    done = []
    wait, wake = os.pipe()
    def work():
        end = time.time() + 60
        while not bridge.bootstrap() and time.time() < end: pass
        done.append(calls())
        os.write(wake, b"!")
    thread = threading.Thread(target=work)
    thread.start()
    # The main thread stays in C code, as when it waits for a server that is written in C++.
    ctypes.CDLL(None).read(wait, ctypes.create_string_buffer(1), ctypes.c_size_t(1))
    thread.join()
    print(done)
    """
    assert run(tmp_path, BOOTSTRAP + textwrap.dedent(program), install=False) == ["['installed']"]


def test_the_python_side_is_imported_once_though_its_import_lets_other_threads_run(tmp_path: Path) -> None:
    program = """
    import threading, time
    class Slow:
        def find_spec(self, name, path, target=None):
            if name.startswith("_tensortap_torch."): time.sleep(0.1)
    sys.meta_path.insert(0, Slow())
    def work():
        while not bridge.bootstrap(): pass
        print(calls())
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive(): time.sleep(0.001)
    print(calls())
    """
    assert run(tmp_path, BOOTSTRAP + textwrap.dedent(program), install=False) == ["installed", "installed"]


def test_a_broken_package_is_said_once_and_the_program_goes_on(tmp_path: Path) -> None:
    program = """
    import os, sys
    saved = os.dup(2)
    os.dup2(1, 2)
    bridge.bootstrap(sys.path[0] + "/nowhere")
    for _ in range(3): calls()
    print(calls(), bridge.bootstrap())
    """
    lines = run(tmp_path, BOOTSTRAP + textwrap.dedent(program), "-u", install=False)
    assert len(lines) == 2
    assert lines[0].startswith("tensortap: ") and "nowhere/tensortap/_torch" in lines[0]
    assert lines[1] == "plain True"


COMPILED = """
import warnings
warnings.simplefilter("ignore")
import torch._dynamo as dynamo
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
    def forward(self, x):
        return self.linear(x).relu()
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(Part(), Part())
    def forward(self, x):
        return self.parts(x) + 1
def count(**options):
    dynamo.reset()
    dynamo.utils.counters.clear()
    graphs = []
    def backend(graph, inputs):
        graphs.append(sum(node.op == "call_function" for node in graph.graph.nodes))
        return graph.forward
    torch.manual_seed(0)
    results = []
    for _ in range(12):
        model = Model()
        compiled = torch.compile(model, backend=backend, **options)
        results += [compiled(torch.ones(2, 3)).sum().item() for _ in range(2)]
    return graphs, sum(dynamo.utils.counters["graph_break"].values()), results
plain = count(), count(fullgraph=True)
"""


def test_compiled_programs_keep_their_graphs(tmp_path: Path) -> None:
    program = """
    side = bridge.install()
    assert (count(), count(fullgraph=True)) == plain
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list as compiled_of
    assert not compiled_of(nn.Module.__call__.__code__)
    assert compiled_of(Model.forward.__code__)
    print(len(plain[0][0]), plain[0][1])
    """
    assert run(tmp_path, COMPILED + textwrap.dedent(program), install=False) == ["1 0"]


ROUTE = """
import warnings
warnings.simplefilter("ignore")
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
    def forward(self, x):
        return self.linear(x).relu().sin().sum()
def operators(function):
    with torch.autograd.profiler.profile() as profile:
        function()
    return {event.name for event in profile.function_events if event.name.startswith("aten::")}
model = Model()
compiled = torch.compile(model, **options)
x = torch.ones(2, 3)
compiled(x).backward()
names = operators(lambda: compiled(x).backward())
print(sorted(names & {"aten::sin", "aten::cos"}), f.compiled_graphs(), torch.equal(compiled(x), model(x)))
"""


@each_row(
    ("route", "options", "expected"),
    [
        ("eager", "{}", "['aten::cos', 'aten::sin'] 0 True"),
        ("eager", "{'fullgraph': True}", "['aten::cos', 'aten::sin'] 0 True"),
        ("aot", "{'fullgraph': True}", "['aten::cos', 'aten::sin'] 0 True"),
        ("inductor", "{'backend': 'eager'}", "['aten::cos', 'aten::sin'] 0 True"),
    ],
)
def test_routes_of_compiled_programs(tmp_path: Path, route: str, options: str, expected: str) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"compile": route}))
    program = ROUTE.replace("**options", f"**{options}")
    assert run(tmp_path, program, TENSORTAP_EXEC=str(request)) == [expected]


def test_nodes_of_a_compiled_graph_know_module_and_line(tmp_path: Path) -> None:
    program = """
    import warnings
    warnings.simplefilter("ignore")
    seen = []
    def look(x: torch.Tensor) -> torch.Tensor:
        line = bridge.where(lock=True)
        seen.append((bridge.graph_module(), line))
        return x.clone()
    look.__code__ = look.__code__.replace(co_filename="<frozen test>")
    look = torch.library.custom_op("bridge::look", look, mutates_args=())
    look.register_fake(lambda x: torch.empty_like(x))
    def back(context, gradient):
        return look(gradient)
    look.register_autograd(back)
    class Part(nn.Module):
        def forward(self, x):
            return look(x).sin()  # line A
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Part(), Part()])
        def forward(self, x):
            for part in self.parts: x = part(x)
            return look(x).sum()  # line B
    compiled = torch.compile(Net(), fullgraph=True)
    compiled(torch.ones(2, requires_grad=True)).backward()
    seen.clear()
    loss = compiled(torch.ones(2, requires_grad=True))
    forward = list(seen)
    loss.backward()
    print(forward)
    print(seen[3:])
    """
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"compile": "aot"}))
    lines = run(tmp_path, program, TENSORTAP_EXEC=str(request))
    text = (tmp_path / "program.py").read_text().splitlines()
    line_a, line_b = (next(i for i, line in enumerate(text, 1) if line.endswith(f"# line {mark}")) for mark in "AB")
    forward = [("Net.parts.0", f"program.py:{line_a}"), ("Net.parts.1", f"program.py:{line_a}"), ("Net", f"program.py:{line_b}")]
    assert lines == [str(forward), str(forward[::-1])]


def test_graphs_that_went_to_inductor_are_counted(tmp_path: Path) -> None:
    program = """
    import warnings
    warnings.simplefilter("ignore")
    def two(x):
        y = x.sin() + 1
        torch._dynamo.graph_break()
        return y.cos() + 2
    x = torch.ones(3)
    compiled = torch.compile(two)
    assert torch.allclose(compiled(x), two(x))
    compiled(x)
    print(f.compiled_graphs())
    """
    assert run(tmp_path, program) == ["2"]


def test_dumps_are_switched_before_and_after_modules_have_names(tmp_path: Path) -> None:
    program = """
    bridge.record_events()
    net = Net()
    side.set_dump(net.blocks[1], True)
    side.set_dump(nn.Linear, False)
    print(bridge.events())
    net(torch.ones(1, 2))
    print([event for event in bridge.events() if event.startswith("set_dump")])
    side.set_dump(net.blocks, True)
    side.set_dump("softmax", True)
    side.set_dump(torch.ops.aten.add, False)
    side.set_dump(torch.ops.aten.add.Tensor, True)
    side.set_dump(Leaf, True)
    print(bridge.events())
    for target, enabled in ((7, True), (int, True), ("", True), (net, 1)):
        try: side.set_dump(target, enabled)
        except ValueError as error: print(error)
    """
    lines = [line for line in run(tmp_path, MODELS + textwrap.dedent(program)) if not line.startswith("Net.")]
    named = ["Net.blocks.0.linear  off", "Net.blocks.1  on", "Net.blocks.1.linear  off"]
    direct = ["Net.blocks  on", " softmax on", " aten::add off", " aten::add.Tensor on", "Net.blocks.0  on", "Net.blocks.1  on"]
    assert lines[:3] == ["[]", str([f"set_dump {text}" for text in named]), str([f"set_dump {text}" for text in direct])]
    kinds = "a torch.nn.Module, a class of them or an operator"
    assert lines[3] == f"The \"target\" parameter must be {kinds}, but got an instance of <class 'int'>."
    assert lines[4].endswith("<class 'type'>.") and lines[5].endswith("<class 'str'>.")
    assert lines[6] == 'The "enabled" parameter must be bool.'


def test_the_package_captures_marks_steps_and_switches_from_inside_the_program(tmp_path: Path) -> None:
    program = """
    from pathlib import Path
    import tensortap
    from tensortap import _capture
    tensortap.step()
    tensortap.set_dump(nn.Linear)
    _capture._library_path = lambda: Path(bridge.LIBRARY)
    with_events = bridge.record_events()
    with tensortap.capture({"tensortap": 1, "payload": "full"}, out="there", ops="conv.*") as capture:
        tensortap.step()
        nn.Linear(1, 1)(torch.ones(1))
        tensortap.set_dump("add", False)
        try: capture.dump
        except tensortap.Error as error: print(error.code)
    print(capture.report)
    events = [event for event in bridge.events() if not event.startswith(("begin", "end"))]
    print([event.split(" {")[0] for event in events])
    print('"out": "there"' in events[0] or '"out":"there"' in events[0], "conv.*" in events[0], '"full"' in events[0])
    for arguments, options in (((), {"out": "refuse"}), (("nowhere.json",), {}), (('{"payload": 3}',), {})):
        try:
            with tensortap.capture(*arguments, **options): print("inside")
        except tensortap.Error as error: print(error.code, error)
    try:
        with tensortap.capture(opps="x"): print("inside")
    except TypeError as error: print(error)
    """
    lines = run(tmp_path, program, install=False, PYTHONPATH=str(package_alone(tmp_path)))
    assert lines[:2] == ["invalid_argument", "{'dump': 'somewhere', 'records': 3}"]
    assert lines[2] == str(["open config there", "step", "set_dump Linear  on", "set_dump  add off", "close"])
    assert lines[3] == "True True True"
    assert lines[4] == "internal no room there"
    assert lines[5].startswith("not_found nowhere.json") and lines[6].startswith("invalid_argument config:1")
    assert lines[7].startswith("capture() has no option 'opps'")


def test_the_calls_of_the_package_may_stay_in_a_program_without_capture(tmp_path: Path) -> None:
    program = """
    import tensortap
    tensortap.step()
    tensortap.set_dump(nn.Identity(), True)
    print(nn.Module.__call__.__name__)
    with tensortap.capture(out="under_exec") as capture:
        print(capture.report, nn.Module.__call__.__name__)
    """
    lines = run(tmp_path, program, install=False, PYTHONPATH=str(package_alone(tmp_path)), TENSORTAP_EXEC="/nowhere")
    assert lines == ["_wrapped_call_impl", "{} _wrapped_call_impl"]
