"""Checks that a type of the C++ sources, and what is in an anonymous namespace of a library, has a name that nothing else has.

Two types of one name in one namespace, in files that never see each other, are one for the linker: it keeps one of their functions, which
then works on the other's memory. What is inside of an anonymous namespace, a function or another type cannot meet anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from check_sizes import bare
from project_files import ROOT, files_with, report

# Namespace::Type -> why two of that name never come into one program.
REPEATED = {
    **dict.fromkeys(["atb::Probe", "atb_speed::SpeedProbe"], "tests/atb declares what its programs look for, as programs over ATB do"),
}
NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)(?:\s+final)?(?:\s*:(?!:)[^;{}]*)?\s*$"
)
# What a file defines at the beginning of a line, inside of an anonymous namespace.
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
CONSTANT = re.compile(r"^(?:static |inline )?const(?:expr)?\s[^()=;{}]*?\b(k[A-Z]\w*)(?:\[[^\]]*\])*\s*[={]", re.MULTILINE)
FUNCTION = re.compile(
    r"^(?!\s|//|#|\}|(?:using|struct|class|enum|template|namespace)\b)[\w:<>,*&\[\] ]+?[\s*&](\w+)\(([^;{}]*?)\)(?: const| noexcept)* \{",
    re.MULTILINE,
)


ALIAS = re.compile(r"^using (\w+) = ([^;]*);", re.MULTILINE)
LOCAL_TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (\w+)(?: final)?(?: :[^;{]*)? \{", re.MULTILINE)


def types_in(text: str) -> set[str]:
    """List the types that a C++ file defines in namespaces that have names, each with its namespace."""
    found = set()
    around: list[str | None] = []  # the name of each namespace, None for any other brace
    begin = 0
    text = bare(text)
    for brace in re.finditer(r"[{};]", text):
        before, begin = text[begin : brace.start()], brace.end()
        if brace[0] == "}":
            around = around[:-1]
        elif brace[0] == "{":
            names = [name for name in around if name is not None]
            if len(names) == len(around) and (defined := TYPE.search(before)):
                found.add("::".join([*names, defined[1]]))
            namespace = NAMESPACE.search(before)
            around.append(namespace[1] or None if namespace else None)
    return found


def repeated_types(texts: Iterable[tuple[Path, str]]) -> list[str]:
    """Say which types are defined in two files."""
    places: dict[str, list[Path]] = {}
    for path, text in texts:
        for name in types_in(text):
            places.setdefault(name, []).append(path)
    return [
        f"{files[-1]}: {name} is defined in {files[0]}, too; give it another name or put it into an anonymous namespace"
        for name, files in sorted(places.items())
        if len(files) > 1 and name not in REPEATED
    ]


def without_name(parameter: str) -> str:
    """Give the type of a parameter, "int x = 0": "int"."""
    return re.sub(r"\s*\b\w+$", "", parameter.split("=")[0].strip()) or parameter.strip()


def anonymous_names(text: str) -> set[str]:
    """List the constants, types, and functions with the types of their parameters, that a file has in anonymous namespaces."""
    found = set()
    for body in ANONYMOUS.findall(text):
        found.update(CONSTANT.findall(body))
        found.update(LOCAL_TYPE.findall(body))
        for name, parameters in FUNCTION.findall(body):
            found.add(f"{name}({', '.join(map(without_name, ' '.join(parameters.split()).split(',')))})")
    return found


def library_of(path: Path) -> tuple[Path, bool]:
    """Give the folder whose sources are compiled together, and whether it is that of tests, which are apart."""
    parts = path.parts
    # Adapters are compiled for each torch.
    if parts[:5] == ("src", "capture", "source", "pytorch", "adapter"):
        return path.parent, False
    kept = 2 if parts[:2] in (("src", "cli"), ("tests", "command")) else 4 if parts[2] in ("source", "system", "format") else 3
    return Path(*parts[: min(kept, len(parts) - 1)]), path.stem.endswith("_test")


def repeated_anonymous_names(texts: Iterable[tuple[Path, str]]) -> list[str]:
    """Find names that anonymous namespaces of two files of a library have, and aliases of two meanings."""
    places: dict[tuple[tuple[Path, bool], str], list[Path]] = {}
    aliases: dict[tuple[tuple[Path, bool], str], dict[str, Path]] = {}
    for path, text in texts:
        for name in anonymous_names(text):
            places.setdefault((library_of(path), name), []).append(path)
        for body in ANONYMOUS.findall(text):
            for name, meaning in ALIAS.findall(body):
                aliases.setdefault((library_of(path), name), {}).setdefault(" ".join(meaning.split()), path)
    repeated = [(name, files) for (_, name), files in sorted(places.items()) if len(files) > 1]
    repeated += [(name, list(files.values())) for (_, name), files in sorted(aliases.items()) if len(files) > 1]
    return [
        f"{files[-1]}: {name} is in an anonymous namespace of {files[0]}, too: a unity build takes both for one" for name, files in repeated
    ]


def main() -> int:
    """Check every C++ file of the project."""
    paths = files_with(".cc", ".h", under=("src", "include", "tests", "fuzz", "bench", "python"))
    problems = repeated_types((path, (ROOT / path).read_text()) for path in paths)
    # Every program of tests/, fuzz/ and bench/ is compiled by itself.
    sources = [path for path in paths if path.suffix == ".cc" and (path.parts[0] == "src" or path.parts[:2] == ("tests", "command"))]
    return report("types", problems + repeated_anonymous_names((path, (ROOT / path).read_text()) for path in sources))


if __name__ == "__main__":
    raise SystemExit(main())
