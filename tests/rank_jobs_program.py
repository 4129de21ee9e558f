"""Kinds of jobs over four ranks, each captured once as it should be and once with a planted fault; run by torchrun.

usage: torchrun --nproc-per-node 4 rank_jobs_program.py OUT JOB...

A job is "ddp", "fsdp", "tensor", "pipeline", "loader" or "precision", with "-fault" behind it where its fault is planted; or "shards" or
"uneven", of whose tensors the values are kept, and which also run in one process, without torchrun.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tensortap
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

STEPS = 6


class Block(nn.Module):
    """Two layers of which the first can be cut by columns and the second by rows."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.tanh(self.up(x)))


class Net(nn.Module):
    """Two blocks, and a layer that is never cut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.second(self.first(x)))


def step_on(model: nn.Module, optimizer: torch.optim.Optimizer, samples: int, seed: int) -> None:
    """Take one step on random samples that the seed gives."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(samples, 8, generator=generator), torch.randint(0, 4, (samples,), generator=generator)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


def ddp(fault: bool) -> None:
    """Train data parallel; rank 2 makes a layer again from a different seed, after the weights were made equal."""
    model = nn.parallel.DistributedDataParallel(Net())
    if fault and dist.get_rank() == 2:
        torch.manual_seed(99)
        model.module.head.reset_parameters()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for step in range(STEPS):
        step_on(model, optimizer, 4, 100 * step + dist.get_rank())


def loader(fault: bool) -> None:
    """Train data parallel; rank 2 waits for its data before each step."""
    model = nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(2 * STEPS):
        if fault and dist.get_rank() == 2:
            time.sleep(0.1)
        step_on(model, optimizer, 4, 100 * step + dist.get_rank())


def head(fault: bool) -> None:
    """Train data parallel; the last rank loads other weights into a layer, from the first step on."""
    model = nn.parallel.DistributedDataParallel(Net())
    if fault and dist.get_rank() == dist.get_world_size() - 1:
        torch.manual_seed(99)
        model.module.head.reset_parameters()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for step in range(STEPS):
        step_on(model, optimizer, 4, 100 * step + dist.get_rank())


def scale(fault: bool) -> None:
    """Train data parallel; the last rank reads its data unscaled from step 4 on."""
    model = nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    last = dist.get_rank() == dist.get_world_size() - 1
    for step in range(12):
        generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
        x, y = torch.randn(4, 8, generator=generator), torch.randint(0, 4, (4,), generator=generator)
        if fault and last and step >= 4:
            x = x * 255
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def noise(fault: bool) -> None:
    """Train data parallel by hand; the last rank changes a gradient that was reduced in step 3."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    last = dist.get_rank() == dist.get_world_size() - 1
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
        x, y = torch.randn(4, 8, generator=generator), torch.randint(0, 4, (4,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        for one in model.parameters():
            dist.all_reduce(one.grad)
        if fault and last and step == 3:
            model.head.weight.grad.mul_(1.001)
        optimizer.step()


def precision(fault: bool) -> None:
    """Add up gradients; the model of rank 2 computes in bfloat16, from weights that are cast in one line."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    dtype = torch.bfloat16 if fault and dist.get_rank() == 2 else torch.float32
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
        x, y = torch.randn(4, 8, generator=generator).to(dtype), torch.randint(0, 4, (4,), generator=generator)
        optimizer.zero_grad()
        weights = {name: one.to(dtype) for name, one in model.named_parameters()}
        nn.functional.cross_entropy(torch.func.functional_call(model, weights, x).float(), y).backward()
        for one in model.parameters():
            dist.all_reduce(one.grad)
        optimizer.step()


def fsdp(fault: bool) -> None:
    """Train sharded data parallel; the shard of rank 1 gets a NaN before step 3."""
    model = Net()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shards",))
    for part in (model.first, model.second, model):
        fully_shard(part, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for step in range(STEPS):
        if fault and step == 3 and dist.get_rank() == 1:
            with torch.no_grad():
                model.second.up.weight.to_local()[0, 0] = float("nan")
        step_on(model, optimizer, 4, 100 * step + dist.get_rank())


def tensor(fault: bool) -> None:
    """Train tensor parallel over pairs of ranks; a shard of rank 3 grows from step 2 on."""
    model = Net()
    mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
    for block in (model.first, model.second):
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(STEPS):
        if fault and step >= 2 and dist.get_rank() == 3:
            with torch.no_grad():
                model.second.down.weight.to_local().mul_(1.3)
        step_on(model, optimizer, 4, step)


def pipeline(fault: bool) -> None:
    """Train four stages of a pipeline; rank 2 leaves out its optimizer in step 3."""
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = Block() if rank < dist.get_world_size() - 1 else nn.Linear(8, 4)
    # Stages that do not know their shapes run once on unwritten memory.
    given = torch.zeros(4, 8, requires_grad=rank > 0)
    made = torch.zeros(4, 8 if rank < dist.get_world_size() - 1 else 4, requires_grad=True)
    stage = PipelineStage(model, rank, dist.get_world_size(), torch.device("cpu"), input_args=given, output_args=made)
    schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 4, (8,), generator=generator)
        optimizer.zero_grad()
        schedule.step(*([x] if rank == 0 else []), **({"target": y} if rank == dist.get_world_size() - 1 else {}))
        if not (fault and rank == 2 and step == 3):
            optimizer.step()


def shards(_fault: bool) -> None:
    """Train two steps tensor parallel over all ranks, or in one process."""
    model = Net()
    if dist.is_initialized():
        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
        for block in (model.first, model.second):
            parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(2):
        step_on(model, optimizer, 4, step)


class Wave(nn.Module):
    """Computes something of each element."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * 2


def uneven(_fault: bool) -> None:
    """Cut dimensions that the ranks do not divide, of which some ranks have nothing, and by two dimensions of a mesh at once."""
    model = nn.ModuleDict({"up": nn.Linear(8, 10), "down": nn.Linear(10, 8), "few": nn.Linear(8, 3), "back": nn.Linear(3, 4)})
    waves = {name: Wave() for name in ("rows", "rows_and_columns", "columns_and_rows")}
    model.update(waves)
    x, y = torch.randn(4, 8), torch.randint(0, 4, (4,))
    given = {name: torch.randn(10, 6) for name in waves}
    if dist.is_initialized():
        ranks = dist.get_world_size()
        plan = {"up": ColwiseParallel(use_local_output=False), "down": RowwiseParallel()}
        plan |= {"few": ColwiseParallel(use_local_output=False), "back": RowwiseParallel()}
        parallelize_module(model, init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",)), plan)
        mesh = init_device_mesh("cpu", (ranks // 2, 2), mesh_dim_names=("outer", "inner"))
        for (name, one), cut in zip(given.items(), ([0, 0], [0, 1], [1, 0]), strict=True):
            given[name] = distribute_tensor(one, mesh, [Shard(cut[0]), Shard(cut[1])])
    for name, wave in waves.items():
        wave(given[name])
    hidden = model["down"](torch.relu(model["up"](x)))
    nn.functional.cross_entropy(model["back"](torch.tanh(model["few"](hidden))), y).backward()


JOBS: dict[str, Callable[[bool], None]] = {
    "ddp": ddp,
    "fsdp": fsdp,
    "tensor": tensor,
    "pipeline": pipeline,
    "loader": loader,
    "head": head,
    "scale": scale,
    "noise": noise,
    "precision": precision,
    "shards": shards,
    "uneven": uneven,
}
WITH_VALUES = ("shards", "uneven")


def main() -> None:
    """Run the jobs that were asked for, each into a separate folder."""
    out, *jobs = sys.argv[1:]
    torch.set_num_threads(1)
    in_job = "RANK" in os.environ
    if in_job:
        dist.init_process_group("gloo")
    for job in jobs:
        name, _, fault = job.partition("-")
        torch.manual_seed(0)
        with tensortap.capture(payload="full" if name in WITH_VALUES else "stats", slots="in,out", out=Path(out) / job):
            JOBS[name](bool(fault))
        gc.collect()  # a model that is still there keeps its name
        if in_job:
            dist.barrier()
    if in_job:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
