"""Compiles the adapters that the wheel has, from the headers of each release of torch alone.

usage: make_adapters.py --command TENSORTAP --link KIND_OF_LINK --cache FOLDER --out FOLDER [MINOR...]

TENSORTAP is the command whose `build-adapter` compiles them. KIND_OF_LINK is the start of a compiler's command, in one word for the shell.
CACHE keeps headers and adapters by content. OUT gets the adapters of these minor releases (such as 2.8), or of all without one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torch_releases import RELEASES, Release, headers_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = Path("share/tensortap/adapter")


def content_key(*paths: Path, words: str) -> str:
    """Give the digest of words and files."""
    digest = hashlib.sha256(words.encode())
    for path in paths:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


class Workshop:
    """Compiles adapters with one command and one compiler."""

    def __init__(self, command: Path, compiler: list[str], cache: Path) -> None:
        self.command = command.resolve()
        self.compiler = compiler
        self.cache = cache.resolve()
        self.sources = self.command.parents[2] / SOURCES

    def key(self, release: Release, string_abi: int) -> str:
        """Give a word that changes with all that an adapter is made of."""
        version = subprocess.run([*self.compiler, "--version"], check=False, capture_output=True, text=True).stdout
        adapter = self.sources / "source/pytorch"
        files = [*sorted((adapter / "adapter").iterdir()), self.sources / "tensortap/capture.h"]
        tools = [ROOT / "src/cli/launch/adapter_build.cc", *(Path(word) for word in self.compiler if Path(word).is_file())]
        stubs = [path for word in self.compiler if Path(word).is_dir() for path in sorted(Path(word).glob("*.so*"))]
        options = [word for word in self.compiler if not Path(word).exists()]
        words = f"{release} {string_abi} {shlex.join([*options, *self.names(Path('headers'))])} {version}"
        return content_key(*files, *tools, *stubs, words=words)

    def names(self, headers: Path) -> list[str]:
        """Give the options that keep folders of this machine out of messages about lines of headers and sources."""
        places = {headers: "torch/include", self.sources: "tensortap/adapter"}
        return [f"-ffile-prefix-map={folder}={name}" for folder, name in places.items()]

    def make(self, release: Release, string_abi: int) -> Path:
        """Give one adapter, compiled if the cache has none of this content."""
        folder = self.cache / self.key(release, string_abi)
        kept = folder / f"tensortap_torch_{release.minor}_{string_abi}.so"
        if kept.exists():
            return kept
        # The compiler calls a header by the name that it has behind links.
        headers = headers_of(release, self.sources, self.cache / "headers").resolve()
        with tempfile.TemporaryDirectory(dir=self.cache) as scratch:
            # The command takes a compiler's words apart at blanks, which folders may have.
            compiler = Path(scratch) / "compiler"
            compiler.write_text(f'#!/bin/sh\nexec {shlex.join([*self.compiler, *self.names(headers)])} "$@"\n')
            compiler.chmod(0o755)
            words = [str(self.command), "build-adapter", "--json", "--headers", str(headers), "--release", release.version]
            words += ["--string-abi", str(string_abi), "--out", str(folder)]
            environment = {**os.environ, "CXX": "./compiler"}
            done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=scratch, env=environment)
        if done.returncode != 0:
            raise SystemExit(
                f"dev: the adapter for torch {release.version} (string ABI {string_abi}) cannot be made: {done.stderr}{done.stdout}"
            )
        print(f"dev: {kept.name} in {json.loads(done.stdout)['seconds']:.0f} s", flush=True)
        return kept


def chosen(minors: list[str]) -> list[Release]:
    """Give the releases of these minor numbers, all without one."""
    known = [release.minor for release in RELEASES]
    if unknown := [minor for minor in minors if minor not in known]:
        raise SystemExit(f"dev: there is no adapter for torch {', '.join(unknown)}; there are: {', '.join(known)}")
    return [release for release in RELEASES if not minors or release.minor in minors]


def main() -> int:
    """Compile what the command line names."""
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--command", "--link", "--cache", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("minors", nargs="*")
    given = parser.parse_args()
    workshop = Workshop(Path(given.command), shlex.split(given.link), Path(given.cache))
    workshop.cache.mkdir(parents=True, exist_ok=True)
    wanted = [(release, abi) for release in chosen(given.minors) for abi in release.string_abis]
    for release in chosen(given.minors):  # one after the other: both string ABIs read the same
        headers_of(release, workshop.sources, workshop.cache / "headers")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        adapters = list(threads.map(lambda one: workshop.make(*one), wanted))
    out = Path(given.out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for adapter in adapters:
        shutil.copyfile(adapter, out / adapter.name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
