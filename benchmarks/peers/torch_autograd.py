"""Reweighted wake-sleep in eager PyTorch with autograd, written with care."""

import math

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.cases import Case, tile_count
from benchmarks.peers.problem import Batch, LayerArrays, MachineArrays, random_bits
from benchmarks.peers.torch_layers import KINDS
from benchmarks.steps import LEARNING_RATE

MINIBATCHES = 50


class Machine:
    """p and q from the data upwards."""

    def __init__(self, arrays: MachineArrays):
        self.kinds = arrays
        self.p = [KINDS[layer.kind](layer) for layer in arrays.p]
        self.q = [KINDS[layer.kind](layer) for layer in arrays.q]

    @property
    def parameters(self) -> list[Tensor]:
        """Those that learning changes: a top layer has no weights from parents."""
        layers = (*self.p, *self.q)
        return [p for layer in layers for p in layer.parameters.values() if p.numel()]

    def sample_q(self, x: Tensor, samples: int, given=None) -> tuple[list[Tensor], Tensor]:
        """Latents `[B, K, H]` and log q(h | x), `[B, K]`."""
        h, total, below = [], 0.0, x[:, None]
        for level, layer in enumerate(self.q):
            below, term = layer.draw(below, (len(x), samples), given and given[level])
            h.append(below)
            total = total + term
        return h, total

    def dream(self, count: int) -> tuple[Tensor, list[Tensor]]:
        values, parents = [], None
        for layer in reversed(self.p):
            parents, _ = layer.draw(parents, (count,))
            values.append(parents)
        x, *h = reversed(values)
        return x, h

    def log_joint(self, x: Tensor, h: list[Tensor]) -> Tensor:
        values, parents = (x, *h), (*h, None)
        terms = [p.log_prob(v, y) for p, v, y in zip(self.p, values, parents, strict=True)]
        return sum(terms[1:], start=terms[0])

    def log_q(self, x: Tensor, h: list[Tensor]) -> Tensor:
        below = (x, *h[:-1])
        return sum(q.log_prob(v, y) for q, v, y in zip(self.q, h, below, strict=True))


def surrogate(machine: Machine, x: Tensor, samples: int, given=None, dream=None) -> Tensor:
    """Minus the objective whose gradient is all three updates."""
    h, log_q = machine.sample_q(x, samples, given)
    log_p = machine.log_joint(x[:, None], h)
    weights = torch.softmax((log_p - log_q).detach(), -1)
    wake = (weights * (log_p + log_q)).sum(-1).mean()
    if dream is None:
        with torch.no_grad():
            dream = machine.dream(len(x))
    return -(wake + machine.log_q(*dream).mean())


class Autograd:
    def __init__(self, case: Case, arrays: MachineArrays):
        self.case = case
        self.machine = Machine(arrays)
        self.optimiser = torch.optim.Adam(self.machine.parameters, lr=LEARNING_RATE, fused=True)
        leading = (MINIBATCHES, case.batch) if case.task == "step" else (case.batch,)
        self.data = torch.from_numpy(random_bits(*leading))
        self.next = 0

    def minibatch(self) -> Tensor:
        self.next = (self.next + 1) % MINIBATCHES
        return self.data[self.next]

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.optimiser.zero_grad()
            surrogate(self.machine, self.minibatch(), self.case.samples).backward()
            self.optimiser.step()

    @torch.no_grad()
    def evaluate(self, count: int) -> None:
        tiles = self.data.chunk(tile_count(self.case))
        for _ in range(count):
            torch.cat([self.log_likelihoods(x) for x in tiles])

    def log_likelihoods(self, x: Tensor, given=None) -> Tensor:
        h, log_q = self.machine.sample_q(x, self.case.samples, given)
        log_weights = self.machine.log_joint(x[:, None], h) - log_q
        return torch.logsumexp(log_weights, -1) - math.log(self.case.samples)

    def gradients(self, batch: Batch) -> MachineArrays:
        h, dream_h = [[*map(torch.from_numpy, values)] for values in (batch.h, batch.dream_h)]
        x, dream_x = torch.from_numpy(batch.x), torch.from_numpy(batch.dream_x)
        surrogate(self.machine, x, h[0].shape[1], h, (dream_x, dream_h)).backward()
        return collect(self.machine)

    @torch.no_grad()
    def likelihoods_given(self, x: np.ndarray, h: list[np.ndarray]) -> np.ndarray:
        return self.log_likelihoods(torch.from_numpy(x), [*map(torch.from_numpy, h)]).numpy()


def collect(machine: Machine) -> MachineArrays:
    """The gradients that autograd left in the parameters."""

    def layer(kind: str, module) -> LayerArrays:
        grads = {name: p.grad for name, p in module.parameters.items() if p.grad is not None}
        return LayerArrays(kind, {name: grad.numpy().copy() for name, grad in grads.items()})

    def side(specs: list[LayerArrays], modules: list) -> list[LayerArrays]:
        return [layer(spec.kind, module) for spec, module in zip(specs, modules, strict=True)]

    return MachineArrays(side(machine.kinds.p, machine.p), side(machine.kinds.q, machine.q))
