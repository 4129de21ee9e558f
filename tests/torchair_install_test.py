"""Programs written for torchair and torch_npu, where neither is installed, and where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import PACKAGE

pytest.importorskip("tensortap.torchair", reason="the module is not built")


def python(
    folder: Path, *arguments: str, interpreter: str = sys.executable, package: Path = PACKAGE, also: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a Python in a folder, with the package and perhaps another folder to import from."""
    places = os.pathsep.join(str(place) for place in (package, also) if place)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([interpreter, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False)


def fine(done: subprocess.CompletedProcess[str]) -> str:
    """Give the standard output of a program that ended well."""
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_names_mean_the_same_modules(tmp_path: Path) -> None:
    program = """
import sys
import tensortap.torchair as ours
ours.install(); ours.install(npu=False)
import torchair
from torchair import CompilerConfig, logger
from torchair.configs.compiler_config import CompilerConfig as again
from torchair.core.utils import logger as logger_again
import torchair.configs.dump_config as dump_config
import tensortap.torchair.configs.debug_config
from torchair.configs import debug_config
assert torchair is ours and CompilerConfig is ours.CompilerConfig is again and logger is logger_again is ours.logger
assert dump_config is sys.modules["tensortap.torchair.configs.dump_config"]
assert debug_config is tensortap.torchair.configs.debug_config
assert ours.__name__ == ours.__spec__.name == "tensortap.torchair" and dump_config.__spec__.name == dump_config.__name__
places = [getattr(module, "__file__", None) for module in {id(module): module for module in sys.modules.values()}.values()]
doubled = {place for place in places if place and "torchair" in place and places.count(place) > 1}
assert not doubled, doubled
assert len([finder for finder in sys.meta_path if "tensortap" in type(finder).__module__]) == 3
"""
    fine(python(tmp_path, "-c", program))


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    program = """
import tensortap.torchair; tensortap.torchair.install()
import torchair
for name in ("torchair.experimental", "torchair.configs.nothing"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert str(error) == f"{name} is not in tensortap.torchair; see docs/torchair.md for what is", error
        assert error.name == name
    else:
        raise AssertionError(name)
try:
    torchair.experimental
except AttributeError as error:
    assert str(error) == "torchair.experimental is not in tensortap.torchair; see docs/torchair.md for what is"
assert not hasattr(torchair, "core_of_it") and "scope" in dir(torchair)
try:
    from torchair import core_of_it
except ImportError:
    pass
"""
    fine(python(tmp_path, "-c", program))


def test_without_install_nothing_of_it_exists(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", "import tensortap.torchair\nimport torchair")
    assert done.returncode == 1
    assert "No module named 'torchair'" in done.stderr
    without = "import tensortap.torchair\ntensortap.torchair.install(npu=False)\nimport torchair\nimport torch_npu"
    assert "No module named 'torch_npu'" in python(tmp_path, "-c", without).stderr


def test_the_real_packages_win(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "torchair/configs").mkdir(parents=True)
    (real / "torchair/__init__.py").write_text("name = 'the real one'\n")
    (real / "torchair/configs/__init__.py").write_text("")
    (real / "torchair/configs/compiler_config.py").write_text("name = 'its config'\n")
    (real / "torch_npu.py").write_text("name = 'the real device'\n")
    (tmp_path / "program.py").write_text(
        "import torchair, torch_npu\nfrom torchair.configs import compiler_config\nimport tensortap.torchair\n"
        "print(torchair.name, compiler_config.name, torch_npu.name, tensortap.torchair.CompilerConfig.__name__, sep=', ')\n"
        "try: import torchair.core\nexcept ModuleNotFoundError as error: print(error)\n"
    )
    out = fine(python(tmp_path, "-m", "tensortap.torchair", "program.py", also=real))
    assert out == "the real one, its config, the real device, CompilerConfig\nNo module named 'torchair.core'\n"
    late = (
        "import importlib.util\nimport torchair\nimport tensortap.torchair as ours\nours.install()\n"
        "assert 'tensortap' in type(importlib.util.find_spec('torch_npu').loader).__module__\n"
        "import torchair.configs.compiler_config as c\nprint(c.name)"
    )
    (real / "torch_npu.py").unlink()
    assert fine(python(tmp_path, "-c", late, also=real)) == "its config\n"


def test_a_program_runs_as_under_python_itself(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/helper.py").write_text("word = 'beside the program'\n")
    (tmp_path / "sub/program.py").write_text(
        """
import sys, os, atexit, inspect, pickle
import helper
class Mine: pass
def where(): return inspect.getsource(Mine).strip()
print(__name__, __file__, sys.argv, helper.word, os.path.basename(sys.path[0]), where(), __spec__, __package__)
assert sys.modules["__main__"].Mine is Mine
atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Mine()))).__name__))
if __name__ == "__main__": sys.exit(5)
"""
    )
    plain = python(tmp_path, "sub/program.py", "--flag", "a b")
    ours = python(tmp_path, "-m", "tensortap.torchair", "sub/program.py", "--flag", "a b")
    assert plain.returncode == 5, plain.stderr
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout), ours.stderr
    module = python(tmp_path / "sub", "-m", "tensortap.torchair", "-m", "helper")
    assert fine(module) == ""
    (tmp_path / "sub/__main__.py").write_text("import sys, torchair; print(torchair.__name__, sys.argv)\n")
    assert fine(python(tmp_path, "-m", "tensortap.torchair", "-m", "sub", "x")).startswith("tensortap.torchair ['")
    assert fine(python(tmp_path, "-m", "tensortap.torchair", "sub", "x")) == "tensortap.torchair ['sub', 'x']\n"


def test_spawned_processes_are_part_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        """
import multiprocessing
import torchair
def work(queue): queue.put((torchair.__name__, torchair.CompilerConfig().mode.value))
if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start(); print(queue.get(timeout=60)); process.join()
"""
    )
    done = python(tmp_path, "-m", "tensortap.torchair", "program.py")
    assert fine(done) == "('tensortap.torchair', 'max-autotune')\n" * 3


@each_row(
    "arguments, code, words",
    [
        ([], 2, "usage: python -m tensortap.torchair PROGRAM [ARG...]"),
        (["-m"], 2, "usage: python -m tensortap.torchair PROGRAM [ARG...]"),
        (["gone.py"], 2, "tensortap.torchair: gone.py does not exist"),
        (["broken.py"], 1, "SyntaxError"),
        (["raises.py"], 1, "KeyError: 'its own'"),
    ],
)
def test_a_command_line_that_is_wrong_or_a_program_that_fails(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    (tmp_path / "broken.py").write_text("def (\n")
    (tmp_path / "raises.py").write_text("raise KeyError('its own')\n")
    done = python(tmp_path, "-m", "tensortap.torchair", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert not done.stdout


def test_help_is_on_standard_output(tmp_path: Path) -> None:
    assert fine(python(tmp_path, "-m", "tensortap.torchair", "--help")).startswith("usage: ")
