"""Checks the built libraries and the command: their exports, what they need, their hardening, what the capture half may not call.

usage: check_symbols.py BUILD_FOLDER
       check_symbols.py --portable BUILD_FOLDER [ADAPTERS]

--portable: what is installed, and the adapters in the folder ADAPTERS, must also run on glibc 2.28; libstdc++ is inside, or for adapters
one that every supported torch has.

The capture half runs inside another program: it exports its C functions only, brings no library but the C and C++ runtime, and
none of its own objects ends the process, prints on stdout or brings the iostreams' initialiser along.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from project_files import ROOT, report

SHARED = {
    "libtensortap_capture.so": "src/capture/api",
    "libtensortap_onnxruntime.so": "src/capture/source/onnxruntime",
    "libtensortap_ggml.so": "src/capture/source/ggml",
    "libtensortap_pytorch.so": "src/capture/source/pytorch",
    "libtensortap_acl.so": "src/capture/source/acl",
    "libtensortap_atb.so": "src/capture/source/atb",
    "libtensortap_atb_abi0.so": "src/capture/source/atb",
}
# What another system's library looks for, by the names of C++.
PROBES = ["libtensortap_atb.so", "libtensortap_atb_abi0.so"]
PROBE_FUNCTIONS = 30
# Prefixes of the C functions of a library; tensortap_ by default.
PREFIXES: dict[str, str | tuple[str, ...]] = {
    "libtensortap_acl.so": "acl",
    **dict.fromkeys(PROBES, ("_ZN3atb5Probe", "_ZN9atb_speed10SpeedProbe")),
}
# The name by which another system looks for a function of ours.
ASKED_FOR = {"libtensortap_onnxruntime.so": ["RegisterCustomOps"]}
# What the preloaded stub exports besides, and what it may call all the same: a process whose torch is gone cannot go on.
STUB = "libtensortap_preload.so"
STUB_EXPORTS = [
    "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE",
    "OrtGetApiBase",
    "dlsym",
    "ggml_backend_graph_compute",
    "ggml_backend_graph_compute_async",
    "ggml_backend_sched_graph_compute",
    "ggml_backend_sched_graph_compute_async",
    "ggml_graph_compute",
    "llama_set_warmup",
    "_ZN13llama_context10set_warmupEb",
]
STUB_CALLS = ["abort"]
# Everything that is linked is hardened; the stub has no stack protector, for it runs before the thread's guard value can be relied upon.
COMMAND = "src/cli/tensortap"
UNPROTECTED = [STUB]
# What a library of ours may need: the C and C++ runtime, and each other; the adapters also need their torch.
ALLOWED = r"lib(c|m|dl|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux.*|libtensortap_(capture|onnxruntime)\.so"
ADAPTER = "tensortap_torch_"
ALLOWED_IN_ADAPTERS = rf"{ALLOWED}|lib(torch_cpu|c10)\.so"
# What a portable build may ask of the C library, and its adapters of the C++ library.
OLDEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 11)}
BANNED = {
    **dict.fromkeys(
        ["exit", "_exit", "_Exit", "quick_exit", "abort", "__assert_fail", "_ZSt21__glibcxx_assert_failPKciS0_S0_"], "ends the host program"
    ),
    **dict.fromkeys(["printf", "__printf_chk", "puts", "putchar", "vprintf", "__vprintf_chk", "stdout"], "writes on stdout"),
    **dict.fromkeys(["_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZNSt8ios_base4InitC1Ev"], "uses iostreams"),
}


def dynamic_section(binary: Path) -> str:
    """Give the dynamic section of a library or program as readelf prints it."""
    return subprocess.run(["readelf", "-dW", str(binary)], check=True, capture_output=True, text=True).stdout


def needed_problems(binary: Path) -> list[str]:
    """Find libraries that a library or program of ours may not bring into a process."""
    allowed = ALLOWED_IN_ADAPTERS if binary.name.startswith(ADAPTER) else ALLOWED
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic_section(binary))
    return [f"{binary.name} needs {name}" for name in needed if not re.fullmatch(allowed, name)]


def symbols(path: Path, *options: str) -> list[str]:
    """List symbol lines of an object, archive or library."""
    listed = subprocess.run(["nm", "-P", *options, str(path)], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def exported_problems(library: Path) -> list[str]:
    """Find exports of a shared library that are not functions of the C interface."""
    # Small letters are local symbols, except for these three.
    listed = (line.split() for line in symbols(library, "-D", "--defined-only"))
    names = [name for name, kind, *_ in listed if kind.isupper() or kind in "uvw"]
    prefix = PREFIXES.get(library.name, "tensortap_")
    foreign = [name for name in names if not name.startswith(prefix) and name not in ASKED_FOR.get(library.name, [])]
    problems = [f"{library.name} exports {name}" for name in foreign]
    if library.name in PROBES and len(names) != PROBE_FUNCTIONS:
        problems.append(f"{library.name} exports {len(names)} functions of ATB's probe, not {PROBE_FUNCTIONS}")
    return problems


def stub_problems(library: Path) -> list[str]:
    """Find what the preloaded stub may not have: other exports, what another C library's loader cannot give it, work when it is loaded."""
    exported = [line.split()[0] for line in symbols(library, "-D", "--defined-only")]
    problems = [f"{library.name} exports {name}" for name in exported if name not in STUB_EXPORTS]
    problems += [f"{library.name} does not export {name}" for name in STUB_EXPORTS if name not in exported]
    called = [line.split()[0].split("@")[0] for line in symbols(library, "-D", "-u")]
    problems += [f"{library.name} uses {name}, which {BANNED[name]}" for name in called if name in BANNED and name not in STUB_CALLS]
    dynamic = dynamic_section(library)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    problems += [f"{library.name} needs {name}" for name in needed if not re.match(r"lib(c|dl)\.so\.", name)]
    problems += [f"{library.name} runs code when it is loaded ({tag})" for tag in re.findall(r"\((INIT|FINI(?:_ARRAY)?)\)", dynamic)]
    # One function, which looks whether the loader is glibc's.
    problems += [
        f"{library.name} runs more than one function when it is loaded"
        for size in re.findall(r"\(INIT_ARRAYSZ\)\s+(\d+)", dynamic)
        if size != "8"
    ]
    return problems


def hardening_problems(binary: Path) -> list[str]:
    """Find hardening that a library or the command lacks: relocations read-only and bound at the start, no executable stack, canaries."""
    dynamic = dynamic_section(binary)
    segments = subprocess.run(["readelf", "-lW", str(binary)], check=True, capture_output=True, text=True).stdout
    called = {line.split()[0].split("@")[0] for line in symbols(binary, "-D", "-u")}
    problems = []
    if not re.search(r"\(FLAGS(?:_1)?\).*\b(?:BIND_)?NOW\b", dynamic):
        problems.append(f"{binary.name} is not linked with -z now")
    if "GNU_RELRO" not in segments:
        problems.append(f"{binary.name} is not linked with -z relro")
    if not re.search(r"GNU_STACK .* RW +0x", segments):
        problems.append(f"{binary.name} has an executable stack")
    if not re.search(r"Elf file type is DYN", segments):
        problems.append(f"{binary.name} is not position-independent")
    if binary.name not in UNPROTECTED:
        if "__stack_chk_fail" not in called:
            problems.append(f"{binary.name} has no stack protector")
        # An adapter calls no function that has a fortified form.
        if not binary.name.startswith(ADAPTER) and not any(re.fullmatch(r"__\w+_chk", name) for name in called):
            problems.append(f"{binary.name} has no fortified call")
    return problems


def installed(build: Path) -> list[Path]:
    """List what is installed: the libraries, the Python module, the command."""
    return [
        *sorted(build.glob("libtensortap_*.so")),
        *sorted((build / "python" / "tensortap").glob("_core*.so")),
        build / COMMAND,
    ]


def portable_problems(binary: Path) -> list[str]:
    """Find what keeps a library or program of a portable build from an old system: younger libraries, a shared libstdc++."""
    table = subprocess.run(["objdump", "-T", str(binary)], check=True, capture_output=True, text=True).stdout
    asked = {(family, tuple(map(int, version.split(".")))) for family, version in re.findall(r"\b([A-Z]+)_([0-9.]+)", table)}
    young = sorted((family, version) for family, version in asked if family in OLDEST and version > OLDEST[family])
    problems = [f"{binary.name} asks for {family}_{'.'.join(map(str, version))}" for family, version in young]
    if "libstdc++" in dynamic_section(binary) and not binary.name.startswith(ADAPTER):
        problems.append(f"{binary.name} needs libstdc++, which it should contain")
    return problems


def adapter_problems(adapter: Path) -> list[str]:
    """Find what an adapter of the wheel may not have: what libraries may not, and its own torch."""
    problems = exported_problems(adapter) + hardening_problems(adapter) + needed_problems(adapter) + portable_problems(adapter)
    # Bound by name to what is in the process (DT_AUXILIARY): one that is needed is, for auditwheel, one that the wheel lacks.
    torch = re.findall(r"\(NEEDED\).*\[(lib(?:torch|c10).*)\]", dynamic_section(adapter))
    return problems + [f"{adapter.name} needs {name}" for name in torch]


def banned_problems(archive: Path) -> list[str]:
    """Find calls in an archive or object that the capture half may not make."""
    problems = []
    member = archive.name
    for line in symbols(archive, "-u"):
        if match := re.search(r"\[(.+)\]:$", line):
            member = match[1]
        elif line.split() and (reason := BANNED.get(line.split()[0].split("@")[0])):
            problems.append(f"{archive.name}({member}) uses {line.split()[0]}, which {reason}")
    return problems


def archives_of_the_capture_half(build: Path) -> list[Path]:
    """List the static libraries of src/core and src/capture: one for each folder, of the folders of plugins one for each plugin."""
    archives = []
    for folder in sorted(path for storey in ("core", "capture") for path in (ROOT / "src" / storey).iterdir()):
        if folder.name in ("format", "system"):
            archives += [build / f"libtensortap_{folder.name}_{plugin.name}.a" for plugin in sorted(folder.iterdir()) if plugin.is_dir()]
        elif folder.name not in ("source", "portable"):
            archives.append(build / f"libtensortap_{folder.name}.a")
    return archives


def main() -> int:
    """Check the libraries of one build."""
    portable = sys.argv[1] == "--portable"
    build, *adapters = (Path(word) for word in sys.argv[1 + portable :])
    problems: list[str] = []
    for folder in adapters:
        for adapter in sorted(folder.iterdir()):
            problems += adapter_problems(adapter)
    for name, sources in SHARED.items():
        if not any((ROOT / sources).glob("*.cc")):
            continue
        library = build / name
        problems += exported_problems(library) if library.exists() else [f"{name} was not built"]
    stub = build / STUB
    problems += stub_problems(stub) if stub.exists() else [f"{STUB} was not built"]
    for binary in installed(build):
        problems += hardening_problems(binary) + needed_problems(binary) + (portable_problems(binary) if portable else [])
    for archive in archives_of_the_capture_half(build):
        problems += banned_problems(archive) if archive.exists() else [f"{archive.name} was not built"]
    for target in (
        "tensortap_onnxruntime.dir",
        "tensortap_capture_library.dir",
        "tensortap_ggml_source.dir",
        "tensortap_ggml.dir",
        "tensortap_pytorch_source.dir",
        "tensortap_pytorch.dir",
        "tensortap_acl_objects.dir",
        "tensortap_atb_objects.dir",
        "tensortap_atb_probe.dir",
        "tensortap_atb_abi0_probe.dir",
    ):
        for item in sorted((build / "CMakeFiles" / target).rglob("*.o")):
            problems += banned_problems(item)
    return report("symbols", problems)


if __name__ == "__main__":
    raise SystemExit(main())
