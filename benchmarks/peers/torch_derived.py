"""Reweighted wake-sleep in PyTorch with gradients derived by hand, optionally compiled."""

import math

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.cases import Case, tile_count
from benchmarks.peers.problem import Batch, LayerArrays, MachineArrays, random_bits
from benchmarks.peers.torch_autograd import MINIBATCHES
from benchmarks.peers.torch_derived_layers import GRADIENT, SCORE, Scored, Weights
from benchmarks.steps import LEARNING_RATE

Layers = list[tuple[str, Weights]]


def wake(p: Layers, q: Layers, x: Tensor, samples: int, given: list[Tensor] | None):
    """K samples per example scored by q and by p, layer by layer."""
    rows = len(x) * samples
    scored_q: list[Scored] = []
    below = x
    for level, (kind, layer) in enumerate(q):
        scored_q.append(SCORE[kind](layer, given and given[level], below, rows))
        below = scored_q[-1].x
    h = [scored.x for scored in scored_q]
    scored_p = score(p, [x, *h], [*h, None], rows)
    return scored_p, scored_q


def score(
    layers: Layers, values: list[Tensor], parents: list[Tensor | None], rows: int
) -> list[Scored]:
    return [
        SCORE[kind](layer, value, parent, rows)
        for (kind, layer), value, parent in zip(layers, values, parents, strict=True)
    ]


def log_weights(scored_p: list[Scored], scored_q: list[Scored]) -> Tensor:
    return sum(s.log_prob for s in scored_p) - sum(s.log_prob for s in scored_q)


def dream(p: Layers, count: int) -> list[Tensor]:
    """x and h from the data upwards."""
    values: list[Tensor] = []
    for kind, layer in reversed(p):
        parents = values[-1] if values else None
        values.append(SCORE[kind](layer, None, parents, count).x)
    return values[::-1]


def gradients(
    p: Layers,
    q: Layers,
    x: Tensor,
    samples: int,
    given: list[Tensor] | None = None,
    dreams: list[Tensor] | None = None,
) -> tuple[list[Weights], list[Weights]]:
    """Of minus the objective: wake-p for p, wake-q and sleep-q together for q."""
    scored_p, scored_q = wake(p, q, x, samples, given)
    raw = log_weights(scored_p, scored_q).view(len(x), samples)
    weights = torch.softmax(raw, -1).view(-1) / -len(x)
    values = dream(p, len(x)) if dreams is None else dreams
    slept = score(q, values[1:], values[:-1], len(x))
    of_p = [GRADIENT[kind](w, s, weights) for (kind, w), s in zip(p, scored_p, strict=True)]
    equal = torch.full((len(x),), -1 / len(x))
    of_q = []
    for (kind, layer), awake, asleep in zip(q, scored_q, slept, strict=True):
        first = GRADIENT[kind](layer, awake, weights)
        second = GRADIENT[kind](layer, asleep, equal)
        of_q.append({name: first[name].add_(second[name]) for name in first})
    return of_p, of_q


def log_likelihoods(p: Layers, q: Layers, x: Tensor, samples: int, given=None) -> Tensor:
    raw = log_weights(*wake(p, q, x, samples, given)).view(len(x), samples)
    return torch.logsumexp(raw, -1) - math.log(samples)


class Derived:
    """Compiled on demand: the work is the same function, traced by `torch.compile`."""

    def __init__(self, case: Case, arrays: MachineArrays):
        self.case = case
        self.p, self.q = to_layers(arrays.p), to_layers(arrays.q)
        self.gradients_of, self.likelihoods_of = gradients, log_likelihoods
        layers = [weights for _, weights in (*self.p, *self.q)]
        self.parameters = [tensor for weights in layers for tensor in weights.values()]
        learnt = [tensor for tensor in self.parameters if tensor.numel()]
        self.optimiser = torch.optim.Adam(learnt, lr=LEARNING_RATE, fused=True)
        leading = (MINIBATCHES, case.batch) if case.task == "step" else (case.batch,)
        self.data = torch.from_numpy(random_bits(*leading))
        self.next = 0

    def compile(self) -> None:
        self.gradients_of = torch.compile(gradients, dynamic=False)
        self.likelihoods_of = torch.compile(log_likelihoods, dynamic=False)

    @torch.no_grad()
    def steps(self, count: int) -> None:
        for _ in range(count):
            self.next = (self.next + 1) % MINIBATCHES
            found = self.gradients_of(self.p, self.q, self.data[self.next], self.case.samples)
            self.store(*found)
            self.optimiser.step()

    def store(self, of_p: list[Weights], of_q: list[Weights]) -> None:
        for (_, weights), grads in zip((*self.p, *self.q), (*of_p, *of_q), strict=True):
            for name, tensor in weights.items():
                tensor.grad = grads[name]

    @torch.no_grad()
    def evaluate(self, count: int) -> None:
        tiles, samples = self.data.chunk(tile_count(self.case)), self.case.samples
        for _ in range(count):
            torch.cat([self.likelihoods_of(self.p, self.q, x, samples) for x in tiles])

    @torch.no_grad()
    def gradients(self, batch: Batch) -> MachineArrays:
        dreams = [torch.from_numpy(value) for value in (batch.dream_x, *batch.dream_h)]
        x, samples = torch.from_numpy(batch.x), batch.h[0].shape[1]
        found = self.gradients_of(self.p, self.q, x, samples, flatten(batch.h), dreams)
        return MachineArrays(*map(to_arrays, (self.p, self.q), found))

    @torch.no_grad()
    def likelihoods_given(self, x: np.ndarray, h: list[np.ndarray]) -> np.ndarray:
        samples = h[0].shape[1]
        return self.likelihoods_of(self.p, self.q, torch.from_numpy(x), samples, flatten(h)).numpy()


def flatten(h: list[np.ndarray]) -> list[Tensor]:
    return [torch.from_numpy(value).flatten(0, 1) for value in h]


def to_layers(layers: list[LayerArrays]) -> Layers:
    return [
        (layer.kind, {name: torch.from_numpy(a.copy()) for name, a in layer.arrays.items()})
        for layer in layers
    ]


def to_arrays(layers: Layers, found: list[Weights]) -> list[LayerArrays]:
    return [
        LayerArrays(kind, {name: grad.numpy() for name, grad in grads.items()})
        for (kind, _), grads in zip(layers, found, strict=True)
    ]
