"""Checks a wheel: that auditwheel calls it fit for a platform, and that no file in it names the folder that it was built in.

usage: check_wheel.py PLATFORM WHEEL

PLATFORM is such as manylinux_2_28_x86_64. The Python that runs this has auditwheel.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from project_files import ROOT, report


def problems_in(audit: dict[str, Any], platform: str) -> list[str]:
    """Say what keeps a wheel, as ``auditwheel show --json`` describes it, from a platform."""
    found = audit["overall_tag"]
    if found == platform:
        return []
    foreign = sorted(name for name, path in audit.get("external_libs", {}).items() if path is None)
    symbols = {name: sorted(versions) for name, versions in audit.get("versioned_symbols", {}).items()}
    return [f"auditwheel calls it {found}, not {platform}; libraries that are not in it: {foreign}; versions it asks for: {symbols}"]


def folder_problems(wheel: Path, folder: Path) -> list[str]:
    """Find files of a wheel that name a folder."""
    with zipfile.ZipFile(wheel) as archive:
        return [f"{name} names {folder}" for name in archive.namelist() if str(folder).encode() in archive.read(name)]


def main() -> int:
    """Check one wheel."""
    platform, wheel = sys.argv[1:]
    command = [sys.executable, "-m", "auditwheel", "show", "--json", wheel]
    shown = subprocess.run(command, check=False, capture_output=True, text=True)
    if shown.returncode != 0:
        return report("wheel", [f"auditwheel cannot read {wheel}: {shown.stderr.strip()}"])
    return report("wheel", problems_in(json.loads(shown.stdout), platform) + folder_problems(Path(wheel), ROOT / "build"))


if __name__ == "__main__":
    raise SystemExit(main())
