"""Tells the library what ``run.json`` is to say of the process and of the job that it is part of."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch

from ._functions import Functions

GROUPS_MODULE = "torch.distributed.distributed_c10d"
MOST_DIGITS = 10
# Facts that launchers pass to the processes of a job.
PLACES = ("rank", "local_rank", "group_rank", "world_size", "local_world_size")


def tell(functions: Functions) -> None:
    """Tell what `tell_facts` does, and of process groups to come.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    tell_facts(functions)
    _follow_groups(functions)


def tell_facts(functions: Functions) -> None:
    """Tell of the interpreter and the processor, of the process's place in its job, and of its process groups.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """
    functions.add_fact("python", json.dumps(sys.executable or ""))
    capability = getattr(torch.backends.cpu, "get_cpu_capability", None)
    if capability is not None:
        functions.add_fact("cpu_capability", json.dumps(capability()))
    _tell_name(functions)
    _tell_place(functions)
    module: Any = sys.modules.get(GROUPS_MODULE)
    if module is not None:
        _tell_groups(functions, module)


def _tell_name(functions: Functions) -> None:
    """Tell what multiprocessing calls this process; a child has its name before it has a parent."""
    module: Any = sys.modules.get("multiprocessing.process")
    try:
        name = "" if module is None else str(module.current_process().name)
    except Exception:  # a program may put anything there
        return
    if name and name != "MainProcess":
        functions.add_fact("process_name", json.dumps(name))


def _tell_place(functions: Functions) -> None:
    """Tell what the launcher says; a program that starts its processes itself says it before it makes groups."""
    given = {name: os.environ.get(name.upper(), "") for name in PLACES}
    place = {name: int(text) for name, text in given.items() if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS}
    if place:
        functions.add_fact("job", json.dumps(place))


def _follow_groups(functions: Functions) -> None:
    module: Any = sys.modules.get(GROUPS_MODULE)
    make = getattr(module, "_new_process_group_helper", None)
    if make is None:
        return

    def begins(*_arguments: Any, **_named: Any) -> tuple[None, None]:
        return None, None

    def ends(_token: None, error: BaseException | None) -> None:
        if error is None:
            _tell_groups(functions, module)

    module._new_process_group_helper = functions.follow(make, begins, ends)


def _tell_groups(functions: Functions, module: Any) -> None:
    """Report all groups; facts that this release of torch keeps elsewhere are left out."""
    try:
        world = module._world
        groups = [_described(world, group) for group in world.pg_map]
    except Exception:
        return
    if not groups:
        return
    _tell_place(functions)
    functions.add_fact("process_groups", json.dumps(groups))
    _name_groups(functions, world)


def _name_groups(functions: Functions, world: Any) -> None:
    """Have the calls of collectives tell their group by its name."""
    try:
        if functions.names_groups():
            for group, name in world.pg_names.items():
                torch.ops.tensortap.name_group(group.boxed(), name)
    except Exception:  # of this release, or a group that is no torch's own
        return


def _described(world: Any, group: Any) -> dict[str, object]:
    ranks = world.pg_group_ranks.get(group)
    size = group.size()
    backend = str(world.pg_map[group][0])
    if backend == "undefined":  # one for each kind of device
        backend = str(world.pg_backend_config.get(group, backend))
    return {
        "name": world.pg_names.get(group, ""),
        "backend": backend,
        "rank": group.rank(),
        "ranks": sorted(ranks) if ranks else list(range(size)),
    }


class Placements:
    """Tells how parameters lie on the job's devices, those that are DTensors.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    MOST_NAMED = 200

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._groups: dict[str, dict[str, Any]] = {}

    def named(self, module: torch.nn.Module, path: str) -> None:
        """Look at the parameters of a module that got a name.

        Parameters
        ----------
        module, path : torch.nn.Module, str
            The module, and its path.
        """
        found = False
        for name, parameter in module._parameters.items():
            if getattr(type(parameter), "placements", None) is not None:
                found |= self._add(parameter, f"{path}.{name}")
        if found:
            self._functions.add_fact("placements", json.dumps(list(self._groups.values())))

    def _add(self, parameter: Any, name: str) -> bool:
        try:
            mesh = parameter.device_mesh
            told = {
                "mesh": list(mesh.mesh.shape),
                "mesh_dims": list(mesh.mesh_dim_names or ()),
                "placements": [str(one) for one in parameter.placements],
            }
        except Exception:
            return False
        group = self._groups.setdefault(json.dumps(told), {**told, "count": 0, "parameters": []})
        group["count"] += 1
        if len(group["parameters"]) < self.MOST_NAMED:
            group["parameters"].append(name)
        return True


class Meshes:
    """Tells the meshes of devices on which DTensors lie, and how a DTensor is placed on one.

    Parameters
    ----------
    functions : Functions
        The functions of the library.
    """

    MOST = 1000

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._numbers: dict[str, int] = {}
        self._told: list[dict[str, Any]] = []

    def placement_of(self, tensor: Any) -> str:
        """Tell where the local part of a DTensor lies, and how the whole is placed.

        Parameters
        ----------
        tensor : object
            Any tensor.

        Returns
        -------
        str
            The address, a space, and JSON; "" for any other tensor.
        """
        spec = getattr(tensor, "_spec", None)
        local = getattr(tensor, "_local_tensor", None)
        if spec is None or not isinstance(local, torch.Tensor):
            return ""
        try:
            number = self._number_of(spec.mesh)
            placed = {"mesh": number, "placements": [str(one) for one in spec.placements], "shape": [int(size) for size in tensor.shape]}
            return f"{local.data_ptr()} {json.dumps(placed)}"
        except Exception:  # of this release, or a tensor of other classes inside
            return ""

    def _number_of(self, mesh: Any) -> int:
        told = {"dims": list(mesh.mesh_dim_names or ()), "ranks": mesh.mesh.tolist()}
        key = json.dumps(told)
        if key not in self._numbers:
            if len(self._told) == self.MOST:
                raise OverflowError
            self._numbers[key] = len(self._told)
            self._told.append(told)
            self._functions.add_fact("meshes", json.dumps(self._told))
        return self._numbers[key]
