"""One small transformer's training step, run as it is, or traced by torch.fx: usage: graph_child.py run|trace.

`trace` prints the graph that torch itself sees, as JSON: for each call in order its operator and, for each tensor that it reads, the number
of the call that made it with the number of the output, or null for what came from outside.
"""

from __future__ import annotations

import json
import operator
import sys
from typing import Any

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

WIDTH, HEADS, LENGTH = 16, 2, 5


class Block(nn.Module):
    """Attention and a feed-forward net, with everything that views tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.back = nn.Linear(WIDTH, WIDTH)
        self.scale = nn.Parameter(torch.ones(WIDTH, WIDTH))
        self.convolve = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(self.before(x)).chunk(3, dim=-1)
        scores = self.heads(query) @ self.heads(key).transpose(-2, -1)
        mixed = scores.softmax(dim=-1) @ self.heads(value)
        merged = mixed.transpose(1, 2).reshape(x.shape)
        x = x + self.back(merged) @ self.scale.t()
        hidden = self.convolve(x.transpose(1, 2)).transpose(1, 2)
        hidden = hidden * torch.sigmoid(hidden)
        first, second = hidden.split(WIDTH // 2, dim=-1)
        top, _ = torch.cat([second, first * second], dim=-1).topk(4, dim=-1)
        shifted = x + 1.0
        shifted.mul_(0.5)
        return top.sum(dim=-1) + shifted.mean(dim=-1)


def gradients(net: Block, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Run forward and backward."""
    loss = net(x).square().mean()
    return torch.autograd.grad(loss, list(net.parameters()))


def edges(net: Block, x: torch.Tensor) -> list[dict[str, Any]]:
    """Trace and list the calls."""
    graph = make_fx(lambda given: gradients(net, given))(x).graph
    calls: list[dict[str, Any]] = []
    made: dict[Any, Any] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is operator.getitem:
            made[node] = [made[node.args[0]][0], node.args[1]]
            continue
        if "detach" in str(node.target):  # tracing's own
            made[node] = made.get(node.args[0])
            continue
        calls.append({"op": str(node.target), "reads": [made.get(read) for read in flat(node)]})
        made[node] = [len(calls) - 1, 0]
    return calls


def flat(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Give what a call reads in order, with repeats."""
    found: list[torch.fx.Node] = []
    torch.fx.map_arg((node.args, node.kwargs), lambda one: found.append(one))
    return found


def main() -> None:
    """Do what the command line asks for."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Block()
    x = torch.randn(3, LENGTH, WIDTH)
    if sys.argv[1] == "trace":
        print(json.dumps(edges(net, x)))
    else:
        gradients(net, x)


main()
