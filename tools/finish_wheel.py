"""Makes the wheels that are given away out of the one that pip built.

usage: finish_wheel.py --platform TAG --command TENSORTAP --out FOLDER [--core-abi3 FILE] WHEEL

Adds the licences of what is linked in, the list of it (sboms/, PEP 770) and the man page, and names the platform. FILE is the extension
module by the stable interface: with it a second wheel is made, for Python 3.12 and every later one. Same input, same bytes: files are
sorted, and of the time SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import time
import zipfile
from pathlib import Path

import make_man_page
from linked_parts import PARTS, bill_of_materials, licence_expression

EARLIEST = 315532800  # what a zip archive can say: 1980
EXTENSION = re.compile(r"tensortap/_core\.[^/]*so")


class Wheel:
    """The files of a wheel, by name: contents and mode."""

    def __init__(self, path: Path) -> None:
        self.name, self.version, self.python = path.name.split("-")[:3]
        with zipfile.ZipFile(path) as archive:
            self.files = {item.filename: (archive.read(item), item.external_attr >> 16) for item in archive.infolist() if not item.is_dir()}
        self.information = f"{self.name}-{self.version}.dist-info"

    def add(self, name: str, content: bytes, mode: int = 0o100644) -> None:
        """Add a file."""
        self.files[name] = (content, mode)

    def change(self, name: str, pattern: str, by: str) -> None:
        """Replace what matches in a text file of the metadata; it must be there."""
        path = f"{self.information}/{name}"
        content, mode = self.files[path]
        text, count = re.subn(pattern, by, content.decode(), count=1, flags=re.MULTILINE)
        if count == 0:
            raise SystemExit(f"dev: {path} of the wheel has nothing like {pattern}")
        self.files[path] = (text.encode(), mode)

    def write(self, folder: Path, tag: str) -> Path:
        """Write the wheel with its list of files; the bytes depend on nothing else."""
        record = f"{self.information}/RECORD"
        self.files.pop(record, None)
        names = sorted(self.files, key=lambda name: (name.startswith(self.information), name))
        rows = []
        for name in names:
            digest = base64.urlsafe_b64encode(hashlib.sha256(self.files[name][0]).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(self.files[name][0])}\n")
        self.files[record] = ("".join([*rows, f"{record},,\n"]).encode(), 0o100644)
        when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), EARLIEST))[:6]
        path = folder / f"{self.name}-{self.version}-{tag}.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in [*names, record]:
                content, mode = self.files[name]
                item = zipfile.ZipInfo(name, when)
                item.compress_type, item.create_system, item.external_attr = zipfile.ZIP_DEFLATED, 3, mode << 16
                archive.writestr(item, content)
        return path


def complete(wheel: Wheel, platform: str, command: str) -> None:
    """Add what every wheel has besides the files of the installation."""
    licences = f"{wheel.information}/licenses"
    lines = ""
    for part in PARTS:
        name = f"{part.name}.txt"
        wheel.add(f"{licences}/linked/{name}", part.licence_text())
        lines += f"License-File: linked/{name}\n"
    wheel.change("METADATA", r"^License-Expression: .*$", f"License-Expression: {licence_expression()}")
    wheel.change("METADATA", r"^License-File: LICENSE\n", f"License-File: LICENSE\n{lines}")
    wheel.add(f"{wheel.information}/sboms/tensortap.cdx.json", bill_of_materials(wheel.version).encode())
    page = make_man_page.made_by(command, wheel.version).encode()
    wheel.add(f"{wheel.name}-{wheel.version}.data/data/share/man/man1/tensortap.1", page)
    wheel.change("WHEEL", r"^Tag: (.*)-\w+$", rf"Tag: \1-{platform}")


def for_several_pythons(wheel: Wheel, core: bytes) -> None:
    """Put the extension module by the stable interface into the place of that for one Python."""
    (extension,) = (name for name in wheel.files if EXTENSION.fullmatch(name))
    del wheel.files[extension]
    wheel.add("tensortap/_core.abi3.so", core, 0o100755)
    wheel.change("WHEEL", r"^Tag: [^-]+-[^-]+-", "Tag: cp312-abi3-")


def main() -> int:
    """Make the wheels that the command line asks for."""
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--platform", "--command", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--core-abi3", type=Path)
    parser.add_argument("wheel", type=Path)
    given = parser.parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(given.wheel)
    complete(wheel, given.platform, given.command)
    print(wheel.write(folder, f"{wheel.python}-{wheel.python}-{given.platform}"))
    if given.core_abi3:
        for_several_pythons(wheel, given.core_abi3.read_bytes())
        print(wheel.write(folder, f"cp312-abi3-{given.platform}"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
