"""Makes FOLDER/libstdc++.so.6: the installed one as a linker sees it, but only with what every supported system has.

usage: make_libstdcxx_stub.py COMPILER FOLDER

An adapter shares libstdc++ with its torch. Linked against this, it takes from the shared one what torch itself asks for at most
(GLIBCXX_3.4.22, CXXABI_1.3.11); what is younger comes out of libstdc++.a behind it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

NEWEST = {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 11)}
SYMBOL = re.compile(
    r"^\s*\d+:\s+[0-9a-f]+\s+(?P<size>\S+)\s+(?P<kind>\w+)\s+\w+\s+\w+\s+(?P<section>\S+)\s+(?P<name>[^@\s]+)@@(?P<version>\S+)$"
)
SECTIONS = {"OBJECT": ".data", "TLS": '.section .tbss,"awT",@nobits'}


def numbers(version: str) -> tuple[str, tuple[int, ...]] | None:
    """Take GLIBCXX_3.4.22 apart; nothing for versions of another kind."""
    family, _, rest = version.partition("_")
    return (family, tuple(map(int, rest.split(".")))) if re.fullmatch(r"[0-9.]+", rest) else None


def stub_source(symbols: str) -> tuple[str, str]:
    """Write the assembly and the version script for symbols as readelf lists them."""
    assembly: list[str] = []
    versions = set()
    for line in symbols.splitlines():
        found = SYMBOL.match(line)
        if not found or found["section"] in ("UND", "ABS"):
            continue
        version = numbers(found["version"])
        if version is None or version[0] not in NEWEST or version[1] > NEWEST[version[0]]:
            continue
        label = f"symbol{len(assembly)}"
        kind = found["kind"] if found["kind"] in SECTIONS else "FUNC"
        assembly += [
            SECTIONS.get(kind, ".text"),
            f".globl {label}",
            f".type {label}, STT_{kind}",
            f".size {label}, {int(found['size'], 0)}",
        ]
        assembly += [f"{label}:", f".zero {int(found['size'], 0) if kind != 'FUNC' else 4}"]
        assembly += [f".symver {label}, {found['name']}@@{found['version']}, remove"]
        versions.add(version)
    script = "".join(f"{family}_{'.'.join(map(str, number))} {{ }};\n" for family, number in sorted(versions))
    return "\n".join(assembly) + '\n.section .note.GNU-stack,"",@progbits\n', script


def main() -> int:
    """Make one stub."""
    compiler, folder = sys.argv[1], Path(sys.argv[2])
    library = subprocess.run([compiler, "-print-file-name=libstdc++.so.6"], check=True, capture_output=True, text=True).stdout.strip()
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True).stdout
    assembly, script = stub_source(listed)
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "stub.s").write_text(assembly)
        (Path(scratch) / "stub.map").write_text(script)
        link = ["-shared", "-nostdlib", "-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={scratch}/stub.map"]
        subprocess.run([compiler, *link, f"{scratch}/stub.s", "-o", str(folder / "libstdc++.so.6")], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
