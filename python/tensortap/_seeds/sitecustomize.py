"""What a program that tensortap starts does first: ``tensortap llm dump -seed`` fixes random numbers, ``exec --noise`` moves numbers.

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

FOLDER = os.path.dirname(os.path.abspath(__file__))


def seed_torch(torch: Any, seed: int) -> None:
    """Seed torch and ask it for deterministic operators."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


def seed_numpy(numpy: Any, seed: int) -> None:
    """Seed the generator that NumPy's own functions share."""
    numpy.random.seed(seed)


def move_torch(torch: Any, seed: int) -> None:
    """Move the numbers of torch's modules by their last bit."""
    spec = importlib.util.spec_from_file_location("tensortap_noise", os.path.join(FOLDER, "noise.py"))
    if spec is None or spec.loader is None:
        raise ImportError("noise.py is missing")
    noise = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(noise)
    noise.plant(torch, seed)


class Planter(importlib.abc.MetaPathFinder):
    """Changes a module as soon as it is imported.

    Parameters
    ----------
    seed : int
        What random numbers begin with.
    plants : dict of str to function
        By the name of the module what is called with it, and the seed.
    task : str
        What is done, for the message of a failure.
    """

    def __init__(self, seed: int, plants: dict[str, Callable[[Any, int], None]], task: str) -> None:
        self._seed = seed
        self._waiting = plants
        self._task = task

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Give the spec that the other finders have, with a loader that plants; nothing for other modules."""
        plant = self._waiting.pop(name, None)
        spec = None if plant is None else importlib.util.find_spec(name)
        if plant is None or spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_plant(module: ModuleType) -> None:
            execute(module)
            try:
                plant(module, self._seed)
            except Exception as error:  # whatever a module of this name does, the program goes on
                sys.stderr.write(f"tensortap: {self._task} {name}: {error}\n")

        spec.loader.exec_module = execute_and_plant  # type: ignore[method-assign]
        return spec


def follow_own() -> None:
    """Run the ``sitecustomize`` that this one hides."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != FOLDER]
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
    sys.meta_path.insert(0, Planter(int(_text), {"numpy": seed_numpy, "torch": seed_torch}, "cannot seed the random numbers of"))
_text = os.environ.get("TENSORTAP_NOISE", "")
if _text.isdecimal():
    sys.meta_path.insert(0, Planter(int(_text), {"torch": move_torch}, "cannot move the numbers of"))
follow_own()
