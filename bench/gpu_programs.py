"""The programs that gpu_check.py captures on a device.

usage: gpu_programs.py NAME RESULT [--device DEVICE] [--import MODULE]

Each computes the same numbers whenever it runs, reads some of its tensors, and writes what it found to RESULT as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from gpu_models import Gpt, Run, small_net
from torch import nn
from torch.nn import functional


def train(run: Run, net: nn.Module, steps: int, optimizer: torch.optim.Optimizer | None = None, look: bool = True) -> None:
    """Train a net of 24 inputs and 7 classes."""
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(7)
    for step in range(steps):
        x = torch.randn(33, 24, generator=source).to(run.device)
        y = torch.randint(0, 7, (33,), generator=source).to(run.device)
        optimizer.zero_grad()
        z = net(x)
        loss = functional.cross_entropy(z, y)
        loss.backward()
        first = next(iter(net.parameters()))
        if look:
            run.read(f"logits {step}", z)
            run.read(f"gradient {step}", first.grad)
        optimizer.step()
        if look:
            run.read(f"weight {step}", first)
        run.loss(loss)
    run.parameters(net)


def mlp(run: Run) -> None:
    """Train eagerly."""
    train(run, small_net().to(run.device), 5)


def fused(run: Run) -> None:
    """Train with an optimizer that writes lists in place."""
    net = small_net().to(run.device)
    train(run, net, 4, torch.optim.AdamW(net.parameters(), lr=1e-3, **({"fused": True} if run.is_cuda else {"foreach": True})))


def train_gpt(run: Run, net: Gpt, steps: int, batch: int, tokens: int, look: bool) -> None:
    """Train with mixed precision and a scaled loss where the device has float16."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    half = torch.float16 if run.is_cuda else torch.bfloat16
    scaler = torch.amp.GradScaler("cuda" if run.is_cuda else "cpu", init_scale=1024.0, enabled=run.is_cuda)
    source = torch.Generator().manual_seed(3)
    for step in range(steps):
        start = time.perf_counter()
        data = torch.randint(0, 97, (batch, tokens + 1), generator=source).to(run.device)
        optimizer.zero_grad()
        with torch.autocast(run.kind, dtype=half, enabled=run.kind in ("cuda", "cpu")):
            z = net(data[:, :-1])
            loss = functional.cross_entropy(z.flatten(0, 1).float(), data[:, 1:].flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        run.loss(loss)
        run.wait()
        run.steps_ms.append((time.perf_counter() - start) * 1e3)
        if look:
            run.read(f"logits {step}", z)
            run.read(f"head {step}", net.head.weight)
    run.parameters(net)


def gpt(run: Run) -> None:
    """Train a transformer."""
    train_gpt(run, Gpt(128, 2, 64).to(run.device), 4, 4, 64, look=True)


def gpt_time(run: Run) -> None:
    """Train a larger one, for its times."""
    train_gpt(run, Gpt(512, 4, 128).to(run.device), 12, 8, 128, look=False)


def infer(run: Run) -> None:
    """Run a transformer in bfloat16 without gradients."""
    net = Gpt(128, 2, 64).to(run.device, torch.bfloat16).eval()
    with torch.inference_mode():
        for batch in range(3):
            z = net(torch.randint(0, 97, (4, 64)).to(run.device))
            run.read(f"logits {batch}", z)
            run.read(f"best {batch}", z.argmax(-1))
            run.loss(z.float().sum())


def half_nan(run: Run) -> None:
    """Overflow: exp() of 12 is Inf in float16, and Inf - Inf is NaN. A capture must name the operator and the line."""
    x = torch.linspace(-1, 12, 640, device=run.device).reshape(20, 32).half()
    e = x.exp()
    n = e - e.flip(0) * 0 - e
    run.read("exp", e)
    run.read("difference", n)
    run.loss(n.float().sum())


def views(run: Run) -> None:
    """Write in place, into slices and into what is given; use many types, and memory that was freed at once."""
    x = torch.arange(60, dtype=torch.float32).reshape(5, 12).to(run.device)
    for i in range(5):
        y = x[1:4, ::3].mul(i + 1)
        y[:, 1].add_(2)
        z = torch.empty(4, 3, device=run.device)
        torch.add(y.t(), 1, out=z)
        run.read(f"slice {i}", y)
        run.read(f"out {i}", z)
        x.mul_(0.5)
        del y, z
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool):
        run.read(str(dtype), (x * 3).to(dtype).clone())
    wide = torch.zeros(3 << 20, device=run.device)
    run.read("spread", wide[:: 1 << 20].add(1))
    run.loss(x.double().sum())


def loader(run: Run) -> None:
    """Train from a loader with workers and pinned memory."""
    data = torch.utils.data.TensorDataset(torch.randn(160, 24), torch.randint(0, 7, (160,)))
    net = small_net().to(run.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, y in torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=2, pin_memory=run.is_cuda):
        z = net(x.to(run.device, non_blocking=True))
        loss = functional.cross_entropy(z, y.to(run.device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.loss(loss)
    run.parameters(net)


def pinned(run: Run) -> None:
    """Copy to and from pinned memory without waiting: the host's side is not complete when the operator returns."""
    source = torch.randn(501, 777)
    source = source.pin_memory() if run.is_cuda else source
    for i in range(6):
        d = source.to(run.device, non_blocking=True) * 2 + i
        for _ in range(20 if run.is_cuda else 0):
            d = d.sin().add_(1)  # keeps the stream busy
        to = torch.full((501, 777), float("nan"), pin_memory=run.is_cuda)
        to.copy_(d, non_blocking=True)
        fresh = d.to("cpu", non_blocking=True)
        run.wait()
        run.loss(to.double().sum() + fresh.double().sum())
        run.read(f"pinned {i}", to)


def streams(run: Run) -> None:
    """Produce and consume on two streams, and write over and free memory at once."""
    one, two = torch.Stream(run.device), torch.Stream(run.device)
    size = 2048 if run.is_cuda else 400
    big = torch.randn(size, size, device=run.device)
    run.wait()
    kept = []
    for i in range(20):
        with one:
            a = (big @ big * (1e-3 * (i + 1))).add_(i)  # long enough for a reader in a hurry to be too early
            ready = one.record_event()
        with two:
            two.wait_event(ready)
            b = a[: 300 + i].sin()
            a.record_stream(two)
            kept.append(b[:, : 50 + i].contiguous())
            b.fill_(-1)  # after the copy, before anybody could have read it
        del a, b
    run.wait()
    for i, part in enumerate(kept):
        run.read(f"part {i}", part)
    run.loss(kept[-1].double().sum())


TRITON = """
import triton
import triton.language as tl

@triton.jit
def fill(p, value, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p + i, value, mask=i < n)
"""


def unseen(run: Run) -> None:
    """Fill memory by a kernel that is no operator, twice: reads of it are neither unwritten nor the same."""
    if run.is_cuda:
        folder = tempfile.mkdtemp()
        (Path(folder) / "gpu_kernel.py").write_text(TRITON)
        sys.path.insert(0, folder)
        kernel = importlib.import_module("gpu_kernel").fill

        def fill(t: torch.Tensor, value: float) -> None:
            kernel[((t.numel() + 255) // 256,)](t, value, t.numel(), BLOCK=256)
    else:
        fill = importlib.import_module("tapdev_c").unseen_fill
    o = torch.empty(33, 129, device=run.device)
    fill(o, 3.0)
    y = o + 1
    fill(o, 5.0)
    z = o + 1
    run.loss(y.sum())
    run.loss(z.sum())
    for name, value in (("read first", 3.0), ("made first", 4.0), ("read second", 5.0), ("made second", 6.0)):
        run.expect(name, np.full((33, 129), value), "float32")


def compiled(run: Run) -> None:
    """Train what torch.compile made; Inductor has no code for a device that only torch's own operators know."""
    train(run, torch.compile(small_net(0.0).to(run.device), backend="inductor" if run.is_cuda else "aot_eager"), 4, look=False)


def reduced(run: Run) -> None:
    """Train what torch.compile recorded into CUDA graphs."""
    train(run, torch.compile(small_net(0.0).to(run.device), mode="reduce-overhead"), 5, look=False)


def compiled_nan(run: Run) -> None:
    """Make a NaN inside of a compiled graph, and hide it there."""

    def hide(x: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(x.log() * 2) + 1

    run.loss(torch.compile(hide)(torch.linspace(-1, 1, 640, device=run.device)).sum())


def recorded(run: Run) -> None:
    """Record a step of training into a CUDA graph, in the mode "global", and replay it; the last replay makes the parameters NaN."""
    net = small_net(0.0).to(run.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    x, y = torch.rand(33, 24, device=run.device), torch.randn(33, 7, device=run.device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.mse_loss(net(x.sqrt()), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        loss = step()
    for i in range(5):
        x.uniform_() if i < 4 else x.fill_(-1)
        graph.replay()
        run.loss(loss.nan_to_num())
    run.read("x", x)
    run.parameters(net)


def nccl(run: Run) -> None:
    """Train in a process group of one rank, whose outputs are complete on a separate stream."""
    import torch.distributed as dist

    store = dist.FileStore(tempfile.mkdtemp() + "/store", 1)
    dist.init_process_group("nccl" if run.is_cuda else "gloo", store=store, rank=0, world_size=1)
    net = nn.parallel.DistributedDataParallel(small_net(0.0).to(run.device))
    train(run, net, 3, torch.optim.SGD(net.parameters(), lr=0.1))
    dist.destroy_process_group()


def asserts(run: Run) -> None:
    """Use an index out of range: an assertion on the device breaks it for good. The exception stays the program's own."""
    table = torch.randn(10, 4, device=run.device)
    try:
        table[torch.tensor([3, 11], device=run.device)].sum().item()
    except Exception as error:
        run.extra["raised"] = type(error).__name__
    run.extra["broken"] = True


def memory(run: Run) -> None:
    """Take memory until there is none left, and go on."""
    held = []
    try:
        while True:
            held.append(torch.empty(1 << 28, device=run.device))
    except torch.OutOfMemoryError:
        run.extra["caught"] = True
    held[0].fill_(2)  # with nothing left: any request for memory of the device now fails
    run.loss(held[0][-1])
    held.clear()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    train(run, small_net().to(run.device), 2)


PROGRAMS: dict[str, Callable[[Run], None]] = {
    program.__name__: program
    for program in (
        *(mlp, fused, gpt, gpt_time, infer, half_nan, views, loader, pinned, streams, unseen),
        *(compiled, reduced, compiled_nan, recorded, nccl, asserts, memory),
    )
}


def main() -> int:
    """Run one program."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("result", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--import", dest="module", default="")
    given = parser.parse_args()
    if given.module:
        importlib.import_module(given.module)
    torch.manual_seed(0)
    run = Run(given.device)
    PROGRAMS[given.name](run)
    given.result.write_text(json.dumps(run.result()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
