"""Programs in which NaN or Inf comes up and does no harm. ``# harmless: OP`` names the op that makes it at that line, or reads it first."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

torch.manual_seed(0)
torch.set_num_threads(1)
INF = float("inf")
MODEL = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 4))


def top_k_filter_of_a_generation() -> None:
    logits = torch.randn(2, 50)
    for _ in range(3):
        least = torch.topk(logits, 5)[0][..., -1, None]
        filtered = logits.masked_fill(logits < least, -INF)  # harmless: masked_fill
        torch.multinomial(filtered.softmax(-1), 1)[0, 0].item()
        logits = logits + 0.1


def top_k_filter_that_assigns() -> None:
    logits = torch.randn(2, 50)
    logits[logits < torch.topk(logits, 5)[0][..., -1, None]] = -INF  # harmless: lift_fresh
    logits.softmax(-1).sum().item()


def buckets_of_relative_positions() -> None:
    distance = torch.arange(16)
    exact = 4
    large = exact + (torch.log(distance.float() / exact) / np.log(8) * exact).to(torch.long)  # harmless: log
    torch.where(distance < exact, distance, torch.clamp(large, max=7)).sum().item()


def rectified_adam() -> None:
    for foreach in (True, False):
        optimizer = torch.optim.RAdam(MODEL.parameters(), 1e-3, foreach=foreach)
        for _ in range(3):
            optimizer.zero_grad()
            loss = MODEL(torch.randn(3, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
            loss.item()


def mean_of_what_is_there() -> None:
    data = torch.from_numpy(np.array([1.0, np.nan, 3.0], np.float32))  # harmless: lift_fresh
    data.nanmean().item()


def masks_of_every_kind() -> None:
    scores = torch.randn(4, 4)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    torch.where(later, -INF, scores).softmax(-1).sum().item()  # harmless: scalar_tensor
    (scores + torch.full((4, 4), -INF).triu(1)).softmax(-1).sum().item()  # harmless: full
    (scores[:, :1] + -INF).exp().sum().item()  # harmless: add
    scores.index_fill(1, torch.tensor([3]), -INF).softmax(-1).sum().item()  # harmless: index_fill
    F.pad(scores, (1, 1), value=-INF).amax(-1).sum().item()  # harmless: constant_pad_nd
    torch.from_numpy(np.triu(np.full((4, 4), -np.inf, np.float32), 1)).add(scores).softmax(-1).sum().item()  # harmless: lift_fresh


def attention_with_a_mask() -> None:
    q = torch.randn(1, 2, 4, 8)
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(1), -INF)  # harmless: masked_fill
    F.scaled_dot_product_attention(q, q, q, attn_mask=mask).sum().item()


def row_without_keys_put_right() -> None:
    scores = torch.randn(2, 3).masked_fill(torch.tensor([[False] * 3, [True] * 3]), -INF)  # harmless: masked_fill
    weights = scores.softmax(-1)
    torch.where(torch.isnan(weights), 0.0, weights).sum().item()


def overflow_that_is_clamped() -> None:
    half = torch.full((4,), 300.0).half()
    (half * half).clamp(max=60000).amax().item()  # harmless: mul


def infinity_that_a_reciprocal_takes() -> None:
    x = torch.tensor([-100.0, 1.0])
    (1 / (1 + torch.exp(-x))).sum().item()  # harmless: exp


def degrees_of_a_graph() -> None:
    degree = torch.tensor([0.0, 2.0, 3.0])
    scale = degree.pow(-0.5)  # harmless: pow
    scale.masked_fill_(scale == INF, 0.0)
    scale.sum().item()


def quotient_put_right() -> None:
    zero = torch.zeros(3)
    torch.nan_to_num(zero / zero).sum().item()  # harmless: div


def logarithm_with_a_floor() -> None:
    torch.log(torch.tensor([0.0, 0.5])).clamp(min=-100).sum().item()  # harmless: log


def best_loss_so_far() -> None:
    best = torch.tensor(INF)  # harmless: lift_fresh
    best.item()
    torch.minimum(best, torch.tensor(2.0)).item()


def running_maximum() -> None:
    start = torch.full((3,), -INF)  # harmless: full
    start.scatter_reduce(0, torch.tensor([0, 1, 2]), torch.randn(3), "amax").sum().item()


def greedy_choice_among_allowed_words() -> None:
    words = torch.randn(10).index_fill(0, torch.tensor([1, 2]), -INF)  # harmless: index_fill
    words.argmax().item()


def output_into_memory_of_any_content() -> None:
    memory = torch.from_numpy(np.full((4, 4), np.nan, np.float32))
    torch.mm(torch.randn(4, 4), torch.randn(4, 4), out=memory)
    memory.sum().item()
    other = torch.from_numpy(np.full((4,), np.nan, np.float32))
    other.copy_(torch.ones(4)).sum().item()
    torch.from_numpy(np.full((4,), np.nan, np.float32)).fill_(2.0).sum().item()


def scaled_gradients_that_overflow() -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**100)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            guess = model(torch.randn(3, 4))
        loss = guess.float().pow(2).mean()  # harmless: _to_copy
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def memory_that_is_marked_and_never_read() -> None:
    torch.full((4,), float("nan"))  # harmless: full
    torch.zeros(4).fill_(float("nan"))  # harmless: fill_
    torch.full((3, 3), -INF)  # harmless: full
    weight = torch.nn.Parameter(torch.full((4, 4), float("nan")))  # harmless: full
    weight.data.copy_(torch.eye(4))
    F.linear(torch.randn(2, 4), weight).sum().item()


def cache_that_is_filled_as_it_is_read() -> None:
    cache = torch.full((2, 8, 4), float("nan"))  # harmless: full
    for length in range(1, 4):
        cache[:, length - 1] = torch.randn(2, 4)
        cache[:, :length].sum().item()


def best_scores_in_place() -> None:
    scores = torch.empty(4).fill_(-INF)  # harmless: fill_
    scores[1:3] = torch.randn(2)
    scores.max().item()


def scores_masked_twice_in_half_precision() -> None:
    least = torch.finfo(torch.float16).min
    mask = torch.tensor([[0.0, least]]).half()
    (mask + mask).softmax(-1).sum().item()  # harmless: add


def overflow_that_saturates() -> None:
    half = torch.full((4,), 300.0).half()
    (half * half).tanh().sum().item()  # harmless: mul
    (half * half).sigmoid().sum().item()  # harmless: mul


def division_by_zero_in_half_precision() -> None:
    degree = torch.tensor([0.0, 2.0]).half()
    (1 / degree.reciprocal()).sum().item()  # harmless: reciprocal


def data_and_masks_that_are_printed() -> None:
    data = torch.tensor([1.0, float("nan")])  # harmless: lift_fresh
    str(data)
    data.nan_to_num().sum().item()
    str(torch.full((3, 3), -INF).triu(1))  # harmless: full


def share_that_is_told_apart() -> None:
    values = torch.tensor([1.0, -1.0]).sqrt()  # harmless: sqrt
    known = ~torch.isnan(values)
    (values.nan_to_num() * known.float()).sum().item()
    torch.isnan(values).numpy()


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]

if __name__ == "__main__":
    torch.zeros(1)
    for program in PROGRAMS:
        program()
