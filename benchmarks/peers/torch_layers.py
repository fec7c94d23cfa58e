"""SBN and NADE layers in PyTorch, for autograd.

What depends on the parents alone is computed for as many rows as the parents have: with
parents `[B, 1, C]` and values `[B, K, D]`, once per example.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import linear, softplus

from benchmarks.peers.problem import LayerArrays


def parameter(array) -> Tensor:
    return torch.from_numpy(array.copy()).requires_grad_()


def bernoulli_log_prob(x: Tensor, logits: Tensor) -> Tensor:
    return -softplus((1 - 2 * x) * logits).sum(-1)


def affine(y: Tensor | None, weights: Tensor, bias: Tensor) -> Tensor:
    """W y + b, or b alone for a top layer."""
    return bias if y is None else linear(y, weights, bias)


class Sbn:
    """P(x_i = 1 | y) = σ(W_i y + b_i)."""

    def __init__(self, layer: LayerArrays):
        self.parameters = {name: parameter(array) for name, array in layer.arrays.items()}
        self.W, self.b = self.parameters["W"], self.parameters["b"]

    def draw(
        self, y: Tensor | None, leading: tuple[int, ...], given: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """x and log P(x | y) from the same logits; `given` takes the place of the draw."""
        logits = affine(y, self.W, self.b)
        x = given
        if x is None:
            with torch.no_grad():
                x = (torch.rand(*leading, self.b.shape[0]) < torch.sigmoid(logits)).float()
        return x, bernoulli_log_prob(x, logits)

    def log_prob(self, x: Tensor, y: Tensor | None) -> Tensor:
        return bernoulli_log_prob(x, affine(y, self.W, self.b))


class Nade:
    """P(x_i = 1 | x_<i, y) = σ(V_i σ(W_<i x_<i + U_a y + a) + U_b,i y + b_i), unit by unit."""

    def __init__(self, layer: LayerArrays):
        self.parameters = {name: parameter(array) for name, array in layer.arrays.items()}
        self.size = self.parameters["b"].shape[0]

    def draw(
        self, y: Tensor | None, leading: tuple[int, ...], given: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        x, logits = self._pass(*self._preactivations(y, leading), given, leading)
        return x, bernoulli_log_prob(x, logits)

    def log_prob(self, x: Tensor, y: Tensor | None) -> Tensor:
        above = x.shape[:-1] if y is None else y.shape[:-1]
        leading = torch.broadcast_shapes(x.shape[:-1], above)
        return bernoulli_log_prob(*self._pass(*self._preactivations(y, leading), x, leading))

    def _preactivations(self, y: Tensor | None, leading: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        weights = self.parameters
        a = affine(y, weights["U_a"], weights["a"])
        c = affine(y, weights["U_b"], weights["b"])
        return _rows(a, leading), _rows(c, leading)

    def _pass(self, a: Tensor, c: Tensor, given: Tensor | None, leading) -> tuple[Tensor, Tensor]:
        # unbind: an index V[i] would make autograd write a whole zero matrix for every unit.
        W, V = self.parameters["W"].unbind(0), self.parameters["V"].unbind(0)
        noise = torch.rand(self.size, len(a)).logit().unbind(0) if given is None else None
        bits = None if given is None else _rows(given, leading).T.contiguous().unbind(0)
        xs, logits = [], []
        for i, c_i in enumerate(c.T.contiguous().unbind(0)):
            logit = torch.addmv(c_i, torch.sigmoid(a), V[i])
            x_i = bits[i] if bits else (logit.detach() > noise[i]).float()
            a = torch.addr(a, x_i, W[i])
            xs.append(x_i)
            logits.append(logit)
        shape = (*leading, self.size)
        return torch.stack(xs, -1).reshape(shape), torch.stack(logits, -1).reshape(shape)


def _rows(values: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Broadcast over the leading shape, and flattened to one row per vector."""
    return values.expand(*leading, values.shape[-1]).reshape(math.prod(leading), -1)


KINDS = {"sbn": Sbn, "nade": Nade}
