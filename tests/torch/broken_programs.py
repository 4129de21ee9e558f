"""Programs that NaN or Inf breaks. ``# broken: OP`` names the op that makes it at that line, or reads it first where no op made it."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

torch.manual_seed(0)
torch.set_num_threads(1)
INF = float("inf")


def loss_that_overflows_in_half_precision() -> None:
    x = torch.full((4,), 300.0).half()
    x.mul(x).sum().item()  # broken: mul


def logarithm_of_zero() -> None:
    p = torch.tensor([0.0, 0.5])
    (-p.log()).mean().item()  # broken: log


def sum_of_large_exponentials() -> None:
    torch.tensor([100.0, 1.0]).exp().sum().log().item()  # broken: exp


def check_that_finds_it() -> None:
    loss = torch.tensor(200.0).exp()  # broken: exp
    with contextlib.suppress(ValueError):
        if not torch.isfinite(loss):
            raise ValueError("the loss is not finite")


def check_of_any_element() -> None:
    x = torch.zeros(3)
    y = x / x  # broken: div
    if torch.isnan(y).any():
        return


def mask_times_infinity() -> None:
    keep = torch.tensor([1.0, 0.0])
    ((1 - keep) * -INF).exp().sum().item()  # broken: mul


def row_without_keys() -> None:
    scores = torch.randn(2, 3).masked_fill(torch.tensor([[False] * 3, [True] * 3]), -INF)
    scores.softmax(-1).sum().item()  # broken: _softmax


def result_that_nobody_reads() -> None:
    x = torch.tensor([1.0, 0.0])
    x.reciprocal()  # broken: reciprocal


def division_in_place() -> None:
    x = torch.ones(2)
    x.div_(0)  # broken: div_
    x.sum().item()


def deviation_of_one_sample() -> None:
    x = torch.randn(1, 3)
    (x - x.mean(0)).div(x.std(0)).sum().item()  # broken: std


def choice_among_nan() -> None:
    logits = torch.zeros(4) * torch.tensor(INF)  # broken: mul
    logits.argmax().item()


def draw_that_fails() -> None:
    odds = torch.tensor([0.0, 1.0]).sub(1).sqrt()  # broken: sqrt
    with contextlib.suppress(RuntimeError):
        torch.multinomial(odds, 1)


def gradient_of_a_root_at_zero() -> None:
    weight = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    (weight * 0).sqrt().sum().backward()  # broken: div
    optimizer.step()


def gradient_that_a_choice_lets_through() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    x = weight * torch.tensor([0.0, 1.0])
    torch.where(x > 0, x.log(), 0.0).sum().backward()  # broken: div
    optimizer.step()


def parameter_by_hand() -> None:
    weight = torch.ones(2, requires_grad=True)
    (weight * 3).pow(2).sum().backward()
    with torch.no_grad():
        weight -= weight.grad / 0  # broken: div


def loss_of_a_masked_class() -> None:
    logits = torch.randn(2, 4, requires_grad=True)
    masked = logits.masked_fill(torch.tensor([True, False, False, False]), -INF)  # broken: masked_fill
    F.cross_entropy(masked, torch.tensor([0, 1])).backward()


def data_with_nan() -> None:
    data = torch.from_numpy(np.array([1.0, np.nan], np.float32))  # broken: lift_fresh
    data.mul(2).sum().item()


def norm_that_squares_in_half_precision() -> None:
    x = torch.full((2, 8), 300.0).half()
    x.mul(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).sum().item()  # broken: pow


def softmax_by_hand_in_half_precision() -> None:
    x = torch.full((4,), 10.5).half().exp()
    total = x.cumsum(0)  # broken: cumsum
    (x / total).sum().item()


def mask_of_data_over_a_whole_row() -> None:
    mask = torch.from_numpy(np.full((1, 4), -np.inf, np.float32))
    (torch.randn(2, 4) + mask).softmax(-1).sum().item()  # broken: _softmax


def buffer_of_nan_that_is_read() -> None:
    torch.full((4,), float("nan")).mean().item()  # broken: full


def value_that_is_printed() -> None:
    y = torch.tensor([1.0, -1.0]).log()  # broken: log
    str(y)
    torch.nan_to_num(y).sum().item()


def gradient_that_is_printed() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()  # broken: div
    str(x.grad)


def index_of_the_largest_that_leaves_torch() -> None:
    torch.tensor([1.0, -1.0]).sqrt().view(1, 2).argmax(-1).view(1).numpy()  # broken: sqrt


def share_of_right_answers() -> None:
    guess = torch.tensor([[1.0, -1.0]]).sqrt().argmax(-1)  # broken: sqrt
    (guess == torch.zeros(1)).float().mean().item()


def picture_of_nan() -> None:
    (torch.tensor([1.0, -1.0]).log() * 255).clamp(0, 255).to(torch.uint8).numpy()  # broken: log


def codes_of_nan() -> None:
    y = torch.tensor([1.0, -1.0]).log()  # broken: log
    (y / 0.1).round().to(torch.int8).float().mul(0.1).sum().item()


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]

if __name__ == "__main__":
    torch.zeros(1)
    for program in PROGRAMS:
        program()
