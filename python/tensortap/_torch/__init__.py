"""What tensortap does inside a PyTorch program: names modules and parameters, and looks after ``torch.compile``.

Loaded by its path under the name ``_tensortap_torch``, once per process, by libtensortap_pytorch.so or by ``tensortap.capture``: it needs
torch and the standard library, and runs on every Python from 3.10 on, also where ``tensortap`` itself cannot be imported. ``install``
may be called any number of times.
"""

from __future__ import annotations

import atexit
from typing import Any

import torch

from ._functions import Functions
from .dump_targets import DumpTargets, is_target
from .dynamo_frames import undisturbed

functions: Functions | None = None
"""The functions of the library, once `install` has run."""
names: Any = None
"""The `naming.Names`, likewise."""
_targets = DumpTargets()
_meshes: Any = None
"""The `job_facts.Meshes`, likewise."""
_settings: Any = None
"""The `number_settings.NumberSettings`, likewise."""


def install(table: dict[str, Any]) -> None:
    """Name the program's modules from now on.

    Parameters
    ----------
    table : dict
        What ``tensortap_pytorch_python_functions`` gives.
    """
    global functions, names, _meshes, _settings
    if functions is not None:
        return
    from . import (
        call_phases,
        compile_routes,
        endings,
        engine_rounds,
        job_facts,
        loader_workers,
        module_events,
        naming,
        number_settings,
        optimizers,
        source_files,
        unseen_kernels,
    )

    given = Functions(**table)
    placements = job_facts.Placements(given)
    _meshes = job_facts.Meshes(given)
    _settings = number_settings.NumberSettings(given)
    settings = _settings

    def named(module: torch.nn.Module, number: int) -> None:
        _targets.named(module, given, number)
        placements.named(module, names.path_at(id(module)))

    names = naming.Names(given, named)
    source_files.prepare(given)
    events = module_events.ModuleEvents(given)
    graphs = compile_routes.install(given, names.path_at, events, settings.compiled)

    engine = engine_rounds.EngineRounds(given)
    engine.follow()
    phases = call_phases.CallPhases(engine)

    def root_called(module: torch.nn.Module, arguments: tuple[Any, ...], argument_names: tuple[str, ...]) -> tuple[bool, int, bool]:
        graphs.look()
        settings.root_called()
        names.root_called(module)
        phase, has_requests = phases.look(module, arguments, argument_names)
        return naming.holds_tensors(module), phase, has_requests

    given.set_namers(undisturbed(names.name_called), undisturbed(root_called), undisturbed(engine.requests))
    given.follow_modules(torch.nn.Module._call_impl, vars(torch.compiler), events.begin, events.end)
    loader_workers.follow(given)
    optimizers.follow(given)
    unseen_kernels.follow(given)
    endings.follow(given)
    job_facts.tell(given)
    settings.look()
    atexit.register(settings.look)
    functions = given
    _targets.installed(given)


def opened() -> None:
    """Tell the process's facts once more: a library that takes no capture yet, when `install` runs, keeps none."""
    from . import job_facts

    if functions is not None:
        job_facts.tell_facts(functions)
        _settings.begins()


def closes() -> None:
    """Look at the settings at the end of a capture."""
    if _settings is not None:
        _settings.look()


@undisturbed
def placement_of(tensor: Any) -> str:
    """Tell how a DTensor is placed: what the adapter asks when an op becomes known.

    Parameters
    ----------
    tensor : object
        A tensor of a Python class.

    Returns
    -------
    str
        Where its local part lies, a space, and the placement as JSON; "" for what is no DTensor.
    """
    return "" if _meshes is None else str(_meshes.placement_of(tensor))


def set_dump(target: Any, enabled: bool) -> None:
    """Switch a module, a class of modules or an operator on or off.

    Parameters
    ----------
    target : torch.nn.Module, class of modules, operator or str
        What to switch.
    enabled : bool
        On or off.

    Raises
    ------
    ValueError
        When the target is none of these, or `enabled` no bool.
    """
    if not is_target(target):
        kinds = "a torch.nn.Module, a class of them or an operator"
        raise ValueError(f'The "target" parameter must be {kinds}, but got an instance of {type(target)}.')
    if not isinstance(enabled, bool):
        raise ValueError('The "enabled" parameter must be bool.')
    _targets.set(target, enabled, functions, () if names is None else names.living())
