"""Modules of a model captured in memory: values inside of the block, gradients, the bound, and a program that stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch_support import run_program

NET = """
import json, torch, tensortap
torch.manual_seed(0); torch.set_num_threads(1)
class Attn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q = torch.nn.Linear(4, 4)
    def forward(self, x, scale=None):
        return self.q(x) * (1 if scale is None else scale)
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.norm = Attn(), torch.nn.LayerNorm(4)
    def forward(self, x):
        return self.norm(self.attn(x, scale=torch.tensor(2.0)).relu_())  # in place: over what the module gave
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(4))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net, x = Net(), torch.randn(2, 4)
answers = {}
def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"
"""
END = "\nprint(json.dumps(answers))\n"


def answers_of(folder: Path, program: str, **environment: str) -> dict[str, Any]:
    done = run_program(folder, NET + program + END, **environment)
    assert done.returncode == 0, done.stderr
    assert "tensortap" not in done.stderr
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    assert sorted(path.name for path in folder.iterdir()) == ["package", "program.py"], "no folder is left"
    return answers


VALUES = """
seen = {}
handles = [layer.attn.register_forward_hook(lambda m, a, out, n=n: seen.update({n: out.clone()})) for n, layer in enumerate(net.layers)]
with tensortap.capture(net, modules="layers.*.attn", full=True, memory="2GB") as cap:
    y = net(x)
    answers["inside"] = [torch.equal(cap[f"layers.{n}.attn:out0"], seen[n]) for n in range(4)]
    answers["negative before relu_"] = bool((cap["layers.3.attn:out0"] < 0).any())
    first = cap["layers.3.attn"].clone()
    net(-x)
    answers["second"] = torch.equal(cap["layers.3.attn:out0@1"], seen[3])
    answers["first stays"] = torch.equal(first, cap["layers.3.attn:out0@0#0"])
    answers["repr"] = repr(cap)
    answers["html"] = cap._repr_html_()
for handle in handles: handle.remove()
numbers = cap.dump.tensor("layers.3.attn", step=1, as_="numpy")
answers["numpy"] = [type(numbers).__module__, numbers.flags.writeable, numbers.ctypes.data == cap["layers.3.attn@1"].data_ptr()]
answers["after"] = torch.equal(cap.dump.tensor("layers.3.attn", step=1), seen[3])
answers["names"] = cap.names()
answers["module"] = cap.dump.module("layers.3").names()
answers["by_module"] = {name: len(records) for name, records in cap.by_module().items()}
answers["of a module"] = torch.equal(cap.by_module()["layers.3.attn"]["out0@1"], seen[3])
answers["ended"] = repr(cap)
answers["hooks left"] = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in net.modules())
answers["missing"] = [error_of(lambda: cap[name]) for name in ("layers.3.attn:out1", "layers.9:out0", "layers.3.attn:grad0")]
"""


def test_values_are_those_that_the_module_gave(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, VALUES)
    assert answers["inside"] == [True] * 4
    assert answers["negative before relu_"], "the copy does not hold what the program writes over the output later"
    assert answers["second"] and answers["first stays"] and answers["after"] and answers["of a module"]
    assert answers["numpy"] == ["numpy", False, True], "read-only, in the memory of the tensor"
    assert answers["names"] == [f"layers.{n}.attn:out0" + step for step in ("", "@1") for n in range(4)]
    assert answers["module"] == ["layers.3.attn:out0", "layers.3.attn:out0@1"]
    assert answers["by_module"] == {f"layers.{n}.attn": 2 for n in range(4)}
    assert answers["repr"] == "<tensortap.ModuleCapture running: 4 modules, 2 steps, 8 records, 8.45 kB of at most 2 GB>"
    assert "layers.3.attn:out0@1" in answers["html"] and "<table>" in answers["html"]
    assert answers["ended"].startswith("<tensortap.ModuleCapture ended: 4 modules, 2 steps")
    assert answers["hooks left"] == 0
    assert answers["missing"] == [
        "Error: there is no record 'layers.3.attn:out1'. Of 'layers.3.attn' there are layers.3.attn:out0, layers.3.attn:out0@1",
        "Error: there is no record 'layers.9:out0'. Did you mean 'layers.3.attn'? "
        "Modules with records: layers.0.attn, layers.1.attn, layers.2.attn, layers.3.attn",
        "Error: there is no record 'layers.3.attn:grad0'; a gradient exists once backward() ran inside of the block. "
        "Of 'layers.3.attn' there are layers.3.attn:out0, layers.3.attn:out0@1",
    ]


GRADIENTS = """
theirs = {}
def follow(name, module):
    return module.register_full_backward_hook(lambda m, given, made: theirs.update({name: made[0].clone()}))
handles = [follow(f"layers.{n}.norm", layer.norm) for n, layer in enumerate(net.layers)]
net(x).pow(2).sum().backward()
for handle in handles: handle.remove()
plain = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
with tensortap.capture(net, modules="layers.*.norm, layers.3", full=True) as cap:
    loss = net(x).pow(2).sum()
    loss.backward(retain_graph=True)
    answers["equal"] = [torch.equal(cap[f"{name}:grad0"], grad) for name, grad in sorted(theirs.items())]
    loss.backward()
    answers["twice"] = cap.summary["not_kept"]
    a, b = net(x), net(-x)
    (a.sum() + 2 * (b * b).sum()).backward()
    answers["steps"] = [torch.equal(cap["layers.3:grad0@1"], torch.ones(2, 4)), torch.equal(cap["layers.3:grad0@2"], 4 * b)]
    answers["phase"] = [cap.dump.record(name)["phase"] for name in ("layers.3:out0", "layers.3:grad0")]
    late = net(x).sum()
late.backward()
answers["after the block"] = "layers.3:grad0@3" in cap
net.zero_grad()
with tensortap.capture(net, full=True) as cap:
    net(x).pow(2).sum().backward()
answers["same"] = [torch.equal(p.grad, was) for p, was in zip(net.parameters(), plain)]
leaf = torch.nn.Sequential(torch.nn.Identity())
weight = torch.nn.Parameter(torch.ones(3))
with tensortap.capture(leaf, full=True) as cap:
    (leaf(weight) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
answers["leaf"] = cap["0:grad0"].tolist()
from torch.utils.checkpoint import checkpoint
for reentrant in (False, True):
    with tensortap.capture(net, modules="layers.?", full=True) as cap:
        checkpoint(net, x.clone().requires_grad_(), use_reentrant=reentrant).sum().backward()
    answers[f"checkpoint {reentrant}"] = [len(cap), cap.summary["repeated"], cap.summary["steps"]]
"""


def test_gradients_at_borders_are_those_of_torchs_own_hooks(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, GRADIENTS)
    assert answers["equal"] == [True] * 4
    (second,) = answers["twice"]
    assert second["records"] == 5
    assert second["reason"] == "a second backward pass brought another gradient of the same call"
    assert answers["steps"] == [True, True]
    assert answers["phase"] == ["forward", "backward"]
    assert answers["after the block"] is False
    assert all(answers["same"]), "the program's gradients have the same bits"
    assert answers["leaf"] == [1.0, 2.0, 3.0]
    assert answers["checkpoint False"] == [8, 4, 1]
    records, repeated, steps = answers["checkpoint True"]
    assert (records, repeated, steps) == (4, 4, 1), "a reentrant checkpoint has no gradients of the first calls"


TYPES = """
import numpy
class Give(torch.nn.Module):
    def forward(self, value):
        return value
give = Give()
def kept(value):
    with tensortap.capture(give, slots="out", full=True) as cap:
        give(value)
        return cap, cap["Give:out0"] if "Give:out0" in cap else None
cap, tensor = kept(x.bfloat16())
array = cap.dump.tensor("Give", as_="numpy")
answers["bfloat16"] = [str(tensor.dtype), str(array.dtype), array.view(numpy.int16).tolist() == x.bfloat16().view(torch.int16).tolist()]
answers["bfloat16 mean"] = cap.dump.record("Give:out0")["mean"] == x.bfloat16().double().mean().item()
same = []
for dtype in (torch.float16, torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.int8, torch.int64, torch.bool, torch.complex64, torch.uint16):
    value = (x * 3).to(dtype) if dtype != torch.float8_e8m0fnu else (x.abs() * 3).to(dtype)
    cap, tensor = kept(value)
    bits = lambda t: t.contiguous().view(torch.uint8).tolist()
    array = cap.dump.tensor("Give", as_="numpy")
    same.append([tensor.dtype == dtype, bits(tensor) == bits(value), list(array.shape) == list(value.shape), cap.dump.record(0)["dtype"]])
answers["types"] = same
views = [x.t(), x[:1].expand(5, 4), x[:, ::2], torch.tensor(3.0), torch.zeros(0, 4), torch.view_as_complex(x.view(2, 2, 2)).conj()]
answers["layouts"] = [torch.equal(kept(view)[1], view) for view in views]
with torch.inference_mode():
    cap, tensor = kept(x)
answers["inference"] = [tensor.is_inference(), cap.dump.record(0)["phase"]]
cap, _ = kept({"a": x, "b": [x, (x + 1, "text")], "c": None})
answers["nested"] = cap.names()
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode() as mode:
    fake = mode.from_tensor(x)
with tensortap.capture(give, slots="out", full=True) as cap:
    for value in (x.to_sparse(), torch.empty(2, device="meta"), fake): give(value)
    torch.func.vmap(give)(x)
answers["not kept"] = [one["reason"] for one in cap.summary["not_kept"]]
answers["said"] = [repr(cap), error_of(lambda: cap["Give:out0"])]
with tensortap.capture(give, slots="out") as cap:
    give(torch.tensor([1.0, float("nan"), float("inf"), -3.0]))
    answers["statistics"] = {k: v for k, v in cap.dump.record(0).items() if k in ("nan", "pos_inf", "min", "shape", "absmax")}
    answers["no values"] = error_of(lambda: cap["Give:out0"])
"""


def test_every_element_type_and_layout(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, TYPES)
    assert answers["bfloat16"][0] == "torch.bfloat16"
    assert answers["bfloat16"][1] in ("bfloat16", "uint16"), "that of ml_dtypes where it is installed"
    assert answers["bfloat16"][2] and answers["bfloat16 mean"]
    assert all(dtype and bits and shape for dtype, bits, shape, _ in answers["types"]), answers["types"]
    names = ["float16", "float8_e4m3fn", "float8_e8m0", "int8", "int64", "bool", "complex64", "uint16"]
    assert [name for *_, name in answers["types"]] == names
    assert answers["layouts"] == [True] * 6
    assert answers["inference"] == [False, "inference"]
    assert answers["nested"] == ["Give:out0", "Give:out1[0]", "Give:out1[1]"]
    expected = ["sparse_coo tensor", "meta tensor", "tensor of the class FakeTensor", "tensor inside of torch.func"]
    assert sorted(answers["not kept"]) == sorted(expected)
    assert "1 not kept: sparse_coo tensor, first Give:out0" in answers["said"][0]
    assert "not kept: sparse_coo tensor" in answers["said"][1]
    assert answers["statistics"] == {"nan": 1, "pos_inf": 1, "min": -3.0, "shape": [4], "absmax": float("inf")}
    assert "full=True" in answers["no values"]


BOUND = """
big = torch.nn.Sequential(*[torch.nn.Identity() for _ in range(4)])
value = torch.ones(25_000)  # 100 kB
with tensortap.capture(big, slots="out", full=True, memory="320 kB") as cap:
    big(value)
    big(value[:10])
    answers["summary"] = cap.summary
    answers["lost"] = error_of(lambda: cap["3:out0"])
    answers["repr"] = repr(cap)
    answers["kept"] = [torch.equal(cap[name], value) for name in ("0", "1", "2")]
answers["names"] = cap.names()
answers["html"] = cap._repr_html_()
with tensortap.capture(big, slots="out", full=True, memory=5000) as cap:
    for _ in range(100): big(value[:1])
answers["many"] = [cap.summary["bytes"] <= 5000, len(cap) + cap.summary["not_kept"][0]["records"]]
"""


def test_the_bound_on_memory_holds_and_what_has_no_room_is_counted(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, BOUND)
    reason = "the bound on memory, 320 kB, was reached"
    assert answers["summary"]["not_kept"] == [{"reason": reason, "records": 2, "first": "3:out0"}]
    assert answers["summary"]["bytes"] <= answers["summary"]["bound"] == 320_000
    assert answers["lost"] == f"Error: there is no record '3:out0'. Of 3:out0, 1 record not kept: {reason}"
    for text in (answers["repr"], answers["html"]):
        assert f"2 not kept: {reason}, first 3:out0" in text
    assert answers["kept"] == [True] * 3
    assert answers["names"][:3] == ["0:out0", "1:out0", "2:out0"]
    assert "3:out0@1" in answers["names"], "what is smaller still has room"
    assert answers["many"] == [True, 500]


SAME = """
import copy, inspect, pickle, re
from torch.utils._python_dispatch import TorchDispatchMode
class Count(TorchDispatchMode):
    calls = 0
    def __torch_dispatch__(self, f, types, a=(), k=None):
        Count.calls += 1
        return f(*a, **(k or {}))
class Spy(torch.nn.Module):
    def forward(self, x):
        Spy.frames = [frame.function for frame in inspect.stack()[1:4]]
        return x
def everything():
    torch.manual_seed(3)
    Count.calls = 0
    found = [torch.rand(1).item()]
    encoder = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    with Count(), torch.no_grad():
        found.append(encoder(torch.ones(1, 3, 4)).sum().item())
    found.append(Count.calls)
    y = net(x)
    found += [y.sum().item(), y._version, y.grad_fn.name(), y._backward_hooks is None, torch.rand(1).item()]
    Spy()(x)
    found += [Spy.frames, len(pickle.dumps(net.layers[0])), copy.deepcopy(net)(x).sum().item()]
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    found.append(compiled(x).sum().item())
    with torch.profiler.profile() as prof:
        net(x)
    found.append(sorted((e.key, e.count) for e in prof.key_averages()))
    found.append(re.sub(r"___torch_mangle_\\d+[.]", "", str(torch.jit.trace(net, x, check_trace=False).graph)))
    return found
def text(found): return json.dumps(found)
everything()  # Dynamo and the tracer leave something in the modules at first
before = text(everything())
with tensortap.capture(net, full=True, slots="in,out,grad") as cap:
    during = text(everything())
answers["during"] = [before == during, [] if before == during else [before, during]]
answers["after"] = text(everything()) == before
answers["copies are other modules"] = cap.summary["steps"]
"""


def test_nothing_of_the_program_changes(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, SAME)
    assert answers["during"] == [True, []]
    assert answers["after"]


BLOCKS = """
import threading
class Loud(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
    def forward(self, x, fails=False):
        y = self.inner(x)
        if fails: raise KeyError("of the module")
        return y
loud = Loud()
def failing():
    with tensortap.capture(loud, full=True) as cap:
        kept.append(cap)
        loud(x, fails=True)
kept = []
answers["passes"] = error_of(failing)
answers["kept"] = kept[0].names()
with tensortap.capture(loud, full=True) as cap:
    for fails in (False, True, False):
        error_of(lambda: loud(x, fails=fails))
answers["steps"] = cap.names()
answers["again"] = error_of(lambda: cap.__enter__())
with tensortap.capture(loud, full=True) as outer:
    with tensortap.capture(loud.inner, full=True) as inner:
        loud(x)
    loud(x)
answers["nested"] = [outer.names(), inner.names()]
with tensortap.capture(loud, modules="inner", full=True) as cap:
    for _ in range(2):
        loud(x); loud(x); tensortap.step()
    loud.inner(x)
answers["own steps"] = cap.names()
twice = torch.nn.Sequential(loud.inner, loud.inner)
with tensortap.capture(twice, full=True) as cap:
    loud.inner(x)
    twice(x)
    answers["shared"] = [cap.names(), torch.equal(cap["1:out0#2"], cap["0:out0#2"]), "1:out0" in cap]
wide = torch.nn.Sequential(torch.nn.Identity())
with tensortap.capture(wide, full=True) as cap:
    threads = [threading.Thread(target=lambda n=n: [wide(torch.full((3,), float(n))) for _ in range(50)]) for n in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
answers["threads"] = [len(cap), cap.summary["steps"], all(torch.equal(cap[f"0@{n}"], cap[f"Sequential@{n}"]) for n in range(200))]
with tensortap.capture(net, modules=[torch.nn.LayerNorm, net.layers[1]]) as cap: pass
answers["silent"] = [cap.summary["never_called"], repr(cap)]
compiled = torch.compile(net, backend="eager")
with tensortap.capture(compiled, full=True) as cap: compiled(x)
answers["compiled"] = [cap.names(), len(cap.summary["never_called"])]
answers["slots"] = []
with tensortap.capture(net, modules="layers.0.attn", slots="in,out0", full=True) as cap:
    net(x)
    answers["slots"] = [cap.names(), torch.equal(cap["layers.0.attn:in0"], x), cap["layers.0.attn:in1"].item()]
bad = [dict(modules="nope.*"), dict(modules="layers"), dict(memory="much"), dict(slots="weights"), dict(payload="full")]
answers["bad"] = [error_of(lambda: tensortap.capture(net, **options)) for options in bad]
answers["no model"] = error_of(lambda: tensortap.capture({}, full=True))
"""


def test_blocks_steps_and_threads(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, BLOCKS)
    assert answers["passes"] == "KeyError: 'of the module'"
    assert answers["kept"] == ["inner:out0"]
    assert answers["steps"] == ["inner:out0", "Loud:out0", "inner:out0@1", "inner:out0@2", "Loud:out0@2"]
    assert answers["again"] == "Error: this capture is ended: call tensortap.capture() for another one"
    outer, inner = answers["nested"]
    assert outer == ["inner:out0", "Loud:out0", "inner:out0@1", "Loud:out0@1"]
    assert inner == ["Linear:out0"]
    assert answers["own steps"] == ["inner:out0", "inner:out0@1", "inner:out0@2", "inner:out0@2#1", "inner:out0@3"]
    assert answers["shared"] == [["0:out0", "0:out0#1", "0:out0#2", "Sequential:out0"], True, True]
    assert answers["threads"] == [400, 200, True]
    silent, said = answers["silent"]
    assert silent == ["layers.0.norm", "layers.1", "layers.1.norm", "layers.2.norm", "layers.3.norm"]
    assert "5 modules were never called: layers.0.norm" in said
    names, unseen = answers["compiled"]
    assert names == ["Net:out0"], "compiled code calls no modules"
    assert unseen == 16
    assert answers["slots"] == [["layers.0.attn:in0", "layers.0.attn:in1", "layers.0.attn:out0"], True, 2.0]
    nope, holder, memory, slots, option = answers["bad"]
    assert nope.startswith("Error: modules: the Net has no module 'nope.*'. It has Net, layers.0, layers.0.attn")
    assert holder == "Error: modules: 'layers' only holds modules and is never called itself: say layers.*"
    assert memory == "Error: memory is 'much': it must be a number of bytes, or a text such as '2GB'"
    assert slots.startswith("Error: slots: 'weights' is none of in, out, grad")
    assert option == "TypeError: capture() of a model has no option 'payload'; it has modules, slots, full, memory and out"
    assert answers["no model"] == "TypeError: capture() takes 'full' for a model only: tensortap.capture(model, full=...)"


NAMES = """
class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.ReLU()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 4), self.act)
        self.unused, self.empty = torch.nn.Linear(4, 4), Nothing()
    def forward(self, x):
        self.empty(x)
        return self.act(self.body(x))
class Nothing(torch.nn.Module):
    def forward(self, x): return None
def error(call):
    try: call()
    except tensortap.Error as problem: return str(problem)
model = Shared()
seen = []
model.act.register_forward_hook(lambda module, given, result: seen.append(result.clone()))
with tensortap.capture(model, modules="act,unused,empty,body.*", full=True) as cap:
    model(torch.randn(2, 4))
tensortap.step()
answers["paths"] = [torch.equal(cap["body.1"], seen[0]), torch.equal(cap.dump.tensor("body.1", call=1), seen[1]),
                    "body.1:out0#1" in cap.dump, cap.dump.module("body").names() == cap.module("body").names()]
answers["below"] = cap.module("body").names()
answers["missing"] = [error(lambda: cap[name]) for name in ("unused", "empty", "Shared", "body.2")]
answers["module"] = error(lambda: cap.module("bdy"))
answers["choice"] = error(lambda: tensortap.capture(net, modules="layers.*.atn"))
def chosen(modules):
    with tensortap.capture(net, modules=modules) as cap: net(x)
    return sorted({name.split(":")[0] for name in cap.names()})
patterns = ("*attn", "layers.?", "layers.3*", "Net.layers.3", "**.attn", "layers.3.**")
answers["patterns"] = {text: chosen(text) for text in patterns}
answers["repr"] = [repr(cap), cap.summary["steps"]]
"""


def test_every_path_of_a_module_reads_it_and_missing_records_have_a_reason(tmp_path: Path) -> None:
    answers = answers_of(tmp_path, NAMES)
    assert answers["paths"] == [True] * 4
    assert answers["below"] == ["body.0:out0", "act:out0", "act:out0#1"]
    unused, empty, other, none = answers["missing"]
    assert "'unused' was not called" in unused
    assert "'empty' was called and passed no tensor" in empty
    assert "'Shared' is not among the captured modules" in other
    assert "Did you mean 'body.0'?" in none
    assert "Did you mean" in answers["module"] or "Modules with records: body.0, act" in answers["module"]
    assert "no module 'layers.*.atn'. Did you mean 'layers.*.attn'?" in answers["choice"]
    attention = [f"layers.{n}.attn" for n in range(4)]
    inside = ["layers.3", "layers.3.attn", "layers.3.attn.q", "layers.3.norm"]
    assert answers["patterns"] == {
        "*attn": attention,
        "layers.?": [f"layers.{n}" for n in range(4)],
        "layers.3*": inside,
        "Net.layers.3": ["layers.3"],
        "**.attn": attention,
        "layers.3.**": inside,
    }, "* is any text, as in --modules, where the class of the model may be in front, too"
    text, steps = answers["repr"]
    assert "4 modules, 1 step, 3 records" in text and "1 module was never called: unused" in text
    assert steps == 1
