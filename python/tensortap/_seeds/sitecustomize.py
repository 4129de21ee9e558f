"""Fixed random numbers for a program that is started with ``tensortap llm dump -seed``.

The interpreter runs it before the program, from the folder that the command put in front of ``PYTHONPATH``. It seeds ``random`` at once,
NumPy and torch when the program has imported them, and lets a ``sitecustomize`` of the environment follow.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import random
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def seed_torch(torch: Any, seed: int) -> None:
    """Seed torch and ask it for deterministic operators."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


def seed_numpy(numpy: Any, seed: int) -> None:
    """Seed the generator that NumPy's own functions share."""
    numpy.random.seed(seed)


class Seeder(importlib.abc.MetaPathFinder):
    """Seeds a module as soon as it is imported.

    Parameters
    ----------
    seed : int
        What random numbers begin with.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._waiting: dict[str, Callable[[Any, int], None]] = {"numpy": seed_numpy, "torch": seed_torch}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Give the spec that the other finders have, with a loader that seeds; nothing for other modules."""
        plant = self._waiting.pop(name, None)
        spec = None if plant is None else importlib.util.find_spec(name)
        if plant is None or spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_seed(module: ModuleType) -> None:
            execute(module)
            try:
                plant(module, self._seed)
            except Exception as error:  # whatever a module of this name does, the program goes on
                sys.stderr.write(f"tensortap: the random numbers of {name} are not seeded: {error}\n")

        spec.loader.exec_module = execute_and_seed  # type: ignore[method-assign]
        return spec


def follow_own() -> None:
    """Run the ``sitecustomize`` that this one stands in front of."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != own]
    this = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if this is not None:
            sys.modules["sitecustomize"] = this


_text = os.environ.get("TENSORTAP_SEED", "")
if _text.isdecimal():
    random.seed(int(_text))
    sys.meta_path.insert(0, Seeder(int(_text)))
follow_own()
