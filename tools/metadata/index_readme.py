"""README.md as a package index shows it, where links into the project lead nowhere; scikit-build-core asks for it (pyproject.toml).

With TENSORTAP_SOURCE_URL, the address below which the project's files are, links and pictures become absolute. Without it links become
their text, and pictures what they show, in words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!https?:|mailto:|#)[^)\s]+)\)")
CODE = re.compile(r"^```[\s\S]*?^```|(?:^    .*\n)+", re.MULTILINE)


def index_text(text: str, address: str) -> str:
    """Give the text of a Markdown file without links that are relative; code stays as it is."""

    def linked(found: re.Match[str]) -> str:
        if not address:
            return found["text"]
        return f"{found['picture']}[{found['text']}]({address.rstrip('/')}/{found['target']})"

    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [LINK.sub(linked, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(linked, text[end:])])


def dynamic_metadata(settings: Mapping[str, Any], _project: Mapping[str, Any]) -> dict[str, Any]:
    """Answer scikit-build-core."""
    if settings:
        raise RuntimeError(f"{__name__} has no settings, so not {', '.join(settings)}")
    text = Path("README.md").read_text(encoding="utf-8")
    return {"readme": {"content-type": "text/markdown", "text": index_text(text, os.environ.get("TENSORTAP_SOURCE_URL", ""))}}
