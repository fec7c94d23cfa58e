"""SBN and NADE layers in PyTorch with gradients derived by hand.

A layer scores rows and remembers what its gradient needs; the gradient is asked for once
the importance weights are known. With d = w (x − σ(logit)) per row and unit:

    SBN:  ∂W = dᵀ y,  ∂b = Σ d
    NADE: walking back from the last unit, with s_i = σ(a_i):
          ∂V_i = dᵢᵀ s_i,  ∂W_i = x_iᵀ ∂a,  ∂a += d_i V_i s_i (1 − s_i)
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

Weights = dict[str, Tensor]


class Scored(NamedTuple):
    """Rows that a layer scored.

    Attributes:
        x: the rows, `[N, D]`; `[B, D]` where all samples of an example share them.
        log_prob: `[N]`.
        error: x − σ(logits), `[N, D]`.
        y: parents, `[N, C]`; fewer where samples share them; None for a top layer.
        state: the hidden pre-activation after the last unit (NADE).
    """

    x: Tensor
    log_prob: Tensor
    error: Tensor
    y: Tensor | None
    state: Tensor | None = None


def repeat(rows: Tensor, count: int) -> Tensor:
    """`[B, D]` to `[B K, D]`; what already has all rows stays as it is."""
    times = count // len(rows)
    return rows if times == 1 else rows.repeat_interleave(times, 0)


def sum_samples(rows: Tensor, count: int) -> Tensor:
    """`[B K, D]` to `[B, D]`, the inverse economy of `repeat`."""
    return rows if len(rows) == count else rows.view(count, -1, rows.shape[-1]).sum(1)


def affine(y: Tensor | None, weights: Tensor, bias: Tensor) -> Tensor:
    # A copy, because NADE's pass writes into what it is given.
    return bias.clone()[None] if y is None else torch.addmm(bias, y, weights.T)


def log_prob(x: Tensor, logits: Tensor) -> Tensor:
    return -softplus((1 - 2 * x) * logits).sum(-1)


def product(d: Tensor, y: Tensor | None, like: Tensor) -> Tensor:
    """dᵀ y, with rows that share parents added up before they are multiplied."""
    return torch.zeros_like(like) if y is None else sum_samples(d, len(y)).T @ y


def sbn_score(layer: Weights, x: Tensor | None, y: Tensor | None, rows: int) -> Scored:
    """Score x, or with None draw it first."""
    logits = affine(y, layer["W"], layer["b"])
    means = torch.sigmoid(logits)
    groups, units = len(logits), logits.shape[-1]
    if x is None:
        x = (torch.rand(groups, rows // groups, units) < means[:, None]).float().view(rows, units)
    if len(x) == rows:
        grouped = x.view(groups, rows // groups, units)
        value = log_prob(grouped, logits[:, None]).view(rows)
        return Scored(x, value, (grouped - means[:, None]).view(rows, units), y)
    grouped = means.view(len(x), -1, units)
    value = log_prob(x[:, None], logits.view(grouped.shape)).view(rows)
    return Scored(x, value, (x[:, None] - grouped).view(rows, units), y)


def sbn_gradient(layer: Weights, scored: Scored, weights: Tensor) -> Weights:
    d = scored.error * weights[:, None]
    return {"W": product(d, scored.y, layer["W"]), "b": d.sum(0)}


def nade_score(layer: Weights, x: Tensor | None, y: Tensor | None, rows: int) -> Scored:
    """One pass over the units; a stays in place, so that nothing of it is stored."""
    a = repeat(affine(y, layer["U_a"], layer["a"]), rows)
    c = repeat(affine(y, layer["U_b"], layer["b"]), rows).T.contiguous()
    noise = torch.rand(len(c), rows).logit_() if x is None else None
    units = torch.empty_like(c) if x is None else repeat(x, rows).T.contiguous()
    hidden = torch.empty_like(a)
    for i, (W_i, V_i) in enumerate(zip(layer["W"], layer["V"], strict=True)):
        torch.sigmoid(a, out=hidden)
        c[i].addmv_(hidden, V_i)
        if noise is not None:
            torch.gt(c[i], noise[i], out=units[i])
        a.addr_(units[i], W_i)
    drawn, logits = units.T.contiguous(), c.T
    return Scored(drawn, log_prob(drawn, logits), drawn - torch.sigmoid(logits), y, a)


def nade_gradient(layer: Weights, scored: Scored, weights: Tensor) -> Weights:
    """The same pass backwards; subtracting x_i W_i recovers each pre-activation."""
    d = (scored.error * weights[:, None]).T.contiguous()
    x, a = scored.x.T.contiguous(), scored.state
    gradient = {name: torch.empty_like(layer[name]) for name in ("W", "V")}
    d_a, hidden, slope = torch.zeros_like(a), torch.empty_like(a), torch.empty_like(a)
    for i in reversed(range(len(x))):
        torch.mv(d_a.T, x[i], out=gradient["W"][i])
        a.addr_(x[i], layer["W"][i], alpha=-1)
        torch.sigmoid(a, out=hidden)
        torch.mv(hidden.T, d[i], out=gradient["V"][i])
        torch.addcmul(hidden, hidden, hidden, value=-1, out=slope)
        d_a.addcmul_(slope, torch.outer(d[i], layer["V"][i]))
    gradient |= {"U_a": product(d_a, scored.y, layer["U_a"]), "a": d_a.sum(0)}
    return gradient | {"U_b": product(d.T, scored.y, layer["U_b"]), "b": d.sum(1)}


SCORE = {"sbn": sbn_score, "nade": nade_score}
GRADIENT = {"sbn": sbn_gradient, "nade": nade_gradient}
