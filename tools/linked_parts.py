"""What is inside the wheel besides our own code: versions, licences, the list that the wheel carries of it (SBOM)."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "Apache-2.0"


@dataclass(frozen=True)
class Part:
    """
    A library whose code is in the wheel.

    `where` is where it comes from: "debian PACKAGE" that is installed, "source FOLDER" for Debian's source package in build/FOLDER, "pypi",
    or "npm", of which the page in web/dist is made.
    """

    name: str
    licence: str
    where: str

    def version(self) -> str:
        """Give the version that is here."""
        match self.where.split():
            case ["debian", package]:
                command = ["dpkg-query", "-W", "-f", "${Version}", package]
                return subprocess.run(command, check=True, capture_output=True, text=True).stdout
            case ["source", folder]:
                return (ROOT / "build" / folder / ".debian-version").read_text().strip()
            case ["npm"]:
                packages = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
                return str(packages[f"node_modules/{self.name}"]["version"])
        return importlib.metadata.version(self.name)

    def licence_text(self) -> bytes:
        """Give the text of its licence."""
        match self.where.split():
            case ["debian", package]:
                return Path("/usr/share/doc", package, "copyright").read_bytes()
            case ["source", folder]:
                return (ROOT / "build" / folder / "LICENSE").read_bytes()
            case ["npm"]:
                page = (ROOT / "web/dist/app.js").read_text()
                return page[page.index("The MIT License") : page.index("*/")].encode()
        (found,) = (file for file in importlib.metadata.files(self.name) or [] if file.name == "LICENSE" and "dist-info" in str(file))
        return Path(str(found.locate())).read_bytes()

    def address(self) -> str:
        """Give its package URL."""
        match self.where.split():
            case ["debian", package]:
                return f"pkg:deb/debian/{package}@{self.version()}"
            case ["source", _]:
                return f"pkg:deb/debian/{self.name.lower()}@{self.version()}?arch=source"
        return f"pkg:{self.where}/{self.name}@{self.version()}"


PARTS = [
    Part("nlohmann-json", "MIT", "debian nlohmann-json3-dev"),
    Part("protozero", "BSD-2-Clause", "debian libprotozero-dev"),
    Part("highway", "Apache-2.0", "debian libhwy-dev"),
    Part("xxHash", "BSD-2-Clause", "debian libxxhash-dev"),
    Part("libdeflate", "MIT", "debian libdeflate-dev"),
    Part("zstd", "BSD-3-Clause", "debian libzstd-dev"),
    Part("RE2", "BSD-3-Clause", "source re2"),
    Part("libmd", "BSD-3-Clause", "debian libmd-dev"),
    Part("CLI11", "BSD-3-Clause", "debian libcli11-dev"),
    Part("fmt", "MIT", "debian libfmt-dev"),
    Part("cpp-httplib", "MIT", "source httplib"),
    Part("nanobind", "BSD-3-Clause", "pypi"),
    Part("preact", "MIT", "npm"),
    Part("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "debian libstdc++-12-dev"),
]


def licence_expression() -> str:
    """Give the licence of the whole as an SPDX expression."""
    return " AND ".join(dict.fromkeys([PROJECT, *sorted(part.licence for part in PARTS)]))


def bill_of_materials(version: str) -> str:
    """Write the parts as a CycloneDX document."""
    components = [
        {
            "type": "library",
            "bom-ref": part.address(),
            "name": part.name,
            "version": part.version(),
            "purl": part.address(),
            "licenses": [{"expression": part.licence}],
        }
        for part in PARTS
    ]
    own = {"type": "library", "bom-ref": "tensortap", "name": "tensortap", "version": version, "licenses": [{"expression": PROJECT}]}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": own}, "components": components}
    document["dependencies"] = [{"ref": "tensortap", "dependsOn": [part.address() for part in PARTS]}]
    return json.dumps(document, indent=1) + "\n"
