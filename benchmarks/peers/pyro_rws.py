"""Pyro's `ReweightedWakeSleep`.

It normalises the importance weights over the whole batch: of K joint draws of all latents,
one usually takes all the weight. So its gradient is the paper's for a batch of one example
only, and there it is checked. The work that is timed is the same: K latents per example.

`insomnia=0.5` gives the mean of wake-q and sleep-q instead of their sum; the optimiser is one
fused Adam over all parameters, faster than Pyro's own, which keeps one per parameter.
"""

import contextlib
import math
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.distributions import TorchDistribution
from pyro.infer import ReweightedWakeSleep
from torch import Tensor

from benchmarks.peers.cases import Case, tile_count
from benchmarks.peers.problem import Batch, LayerArrays, MachineArrays, random_bits
from benchmarks.peers.torch_autograd import MINIBATCHES, Machine, collect
from benchmarks.peers.torch_layers import Nade, Sbn, affine
from benchmarks.steps import LEARNING_RATE


class NadeDistribution(TorchDistribution):
    """A NADE layer given its parents, for Pyro."""

    arg_constraints: dict = {}  # noqa: RUF012 - the name and type are torch's

    def __init__(self, layer: Nade, y: Tensor | None, batch_shape: torch.Size):
        self.layer, self.y = layer, y
        super().__init__(batch_shape, torch.Size([layer.size]), validate_args=False)

    def expand(self, batch_shape, _instance=None) -> "NadeDistribution":
        return NadeDistribution(self.layer, self.y, torch.Size(batch_shape))

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            return self.layer.draw(self.y, (*sample_shape, *self.batch_shape))[0]

    def log_prob(self, value: Tensor) -> Tensor:
        return self.layer.log_prob(value, self.y).expand(self.batch_shape)


def distribution(layer: Sbn | Nade, y: Tensor | None) -> TorchDistribution:
    if isinstance(layer, Sbn):
        return dist.Bernoulli(logits=affine(y, layer.W, layer.b), validate_args=False).to_event(1)
    return NadeDistribution(layer, y, torch.Size() if y is None else y.shape[:-1])


class PyroRws:
    def __init__(self, case: Case, arrays: MachineArrays):
        pyro.enable_validation(False)
        self.case = case
        self.machine = Machine(arrays)
        self.objective = ReweightedWakeSleep(
            num_particles=case.samples, insomnia=0.5, num_sleep_particles=1, max_plate_nesting=1
        )
        self.optimiser = torch.optim.Adam(self.machine.parameters, lr=LEARNING_RATE, fused=True)
        leading = (MINIBATCHES, case.batch) if case.task == "step" else (case.batch,)
        self.data = torch.from_numpy(random_bits(*leading))
        self.next = 0

    def model(self, observations: dict[str, Tensor]) -> None:
        parents = None
        with pyro.plate("examples", len(observations["x"])):
            for level in reversed(range(1, len(self.machine.p))):
                parents = pyro.sample(f"h{level}", distribution(self.machine.p[level], parents))
            pyro.sample("x", distribution(self.machine.p[0], parents), obs=observations["x"])

    def guide(self, observations: dict[str, Tensor]) -> None:
        below = observations["x"]
        with pyro.plate("examples", len(below)):
            for level, layer in enumerate(self.machine.q, start=1):
                below = pyro.sample(f"h{level}", distribution(layer, below))

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.next = (self.next + 1) % MINIBATCHES
            self.optimiser.zero_grad()
            self.objective.loss_and_grads(
                self.model, self.guide, observations={"x": self.data[self.next]}
            )
            self.optimiser.step()

    @torch.no_grad()
    def evaluate(self, count: int) -> None:
        tiles = self.data.chunk(tile_count(self.case))
        for _ in range(count):
            torch.cat([self.log_likelihoods(x) for x in tiles])

    def log_likelihoods(self, x: Tensor) -> Tensor:
        """From traces: Pyro's own importance weights are summed over the batch."""
        samples, seen = self.case.samples, {"x": x}

        def repeated(program):
            with pyro.plate("samples", samples, dim=-2):
                program(seen)

        guide = poutine.trace(repeated).get_trace(self.guide)
        model = poutine.trace(poutine.replay(repeated, guide)).get_trace(self.model)
        log_weights = log_prob(model) - log_prob(guide)
        return torch.logsumexp(log_weights, 0) - math.log(samples)

    def gradients(self, batch: Batch) -> MachineArrays:
        """For a batch of one example."""
        drawn = [torch.from_numpy(h).transpose(0, 1) for h in batch.h]
        dreamt = [torch.from_numpy(v) for v in (*reversed(batch.dream_h), batch.dream_x)]
        with drawing([*drawn, *dreamt]):
            self.objective.loss_and_grads(
                self.model, self.guide, observations={"x": torch.from_numpy(batch.x)}
            )
        found = collect(self.machine)
        doubled = [LayerArrays(q.kind, {n: 2 * g for n, g in q.arrays.items()}) for q in found.q]
        return MachineArrays(found.p, doubled)

    @torch.no_grad()
    def likelihoods_given(self, x: np.ndarray, h: list[np.ndarray]) -> np.ndarray:
        with drawing([torch.from_numpy(value).transpose(0, 1) for value in h]):
            return self.log_likelihoods(torch.from_numpy(x)).numpy()


def log_prob(trace: poutine.Trace) -> Tensor:
    """Of every sample and example, `[K, B]`."""
    trace.compute_log_prob()
    sites = trace.observation_nodes + trace.stochastic_nodes
    return sum(trace.nodes[name]["log_prob"] for name in sites)


@contextlib.contextmanager
def drawing(values: list[Tensor]) -> Iterator[None]:
    """Inside, Pyro's draws are these values in turn."""
    queue = iter(values)

    def take(*args, **kwargs) -> Tensor:
        return next(queue)

    with (
        mock.patch.object(dist.Bernoulli, "sample", take),
        mock.patch.object(NadeDistribution, "sample", take),
    ):
        yield
