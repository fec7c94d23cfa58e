"""Neural variational inference and learning (Mnih & Gregor 2014)."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, Key

from wakesleep.estimators.base import Batch, Estimator, Info, Part, summarise
from wakesleep.estimators.weighted import example_like
from wakesleep.models.base import Draw, LatentModel, Terms
from wakesleep.models.helmholtz import HelmholtzMachine
from wakesleep.options import Fraction, Number, Whole


class Baseline(NamedTuple):
    """C(v) = w · tanh(W v + b), a guess at the learning signal from what lies below a layer."""

    W: Float[Array, "M D"]
    b: Float[Array, " M"]
    w: Float[Array, " M"]

    def __call__(self, v: Float[Array, "... D"]) -> Float[Array, "..."]:
        """The guess for each of some inputs."""
        return jnp.tanh(v @ self.W.T + self.b) @ self.w


class NVILState(NamedTuple):
    """What the next step needs; one of each for every learning signal.

    Attributes:
        baselines: the networks C.
        optimiser: their Adam's state.
        centre: c, the running mean of signal − C.
        variance: v, its running variance.
        steps: steps done.
    """

    baselines: tuple[Baseline, ...]
    optimiser: Any
    centre: Float[Array, " L"]
    variance: Float[Array, " L"]
    steps: Int[Array, ""]


class _Signals(NamedTuple):
    """For every learning signal: its inputs, itself and the log q that it teaches, `[B, K]`."""

    inputs: tuple[Float[Array, "B _ _"], ...]
    values: Terms
    log_q: Terms


@dataclass(frozen=True, kw_only=True)
class NVIL(Estimator):
    """Climbs the bound E_q[log p − log q] with a learnt baseline and a normalised signal.

    - p: (1/K) Σ_k ∂/∂θ log p(x, h_k)
    - q: (1/K) Σ_k (l_k − C(x) − c) / max(1, √v) ∂/∂φ log q(h_k | x)

    l is log p − log q. In a Helmholtz machine every layer has a signal of its own, the terms that
    h_l and what lies above it have a part in, and a baseline C of the layer below it, which is x
    for h₁. Other models have one signal and a baseline of x, its arrays flattened and joined.
    c and v are those of the steps before, so that no sample centres itself; the first step finds
    them and leaves q as it is. C learns by Adam to make the square of the normalised signal small.

    Mnih & Gregor, "Neural variational inference and learning in belief networks" (ICML 2014).

    Attributes:
        samples: K, the number of latents drawn per example; the paper has 1.
        units: tanh units of each baseline network.
        baseline_rate: the learning rate of the baselines' own Adam.
        forget: α, how much of the running mean and variance a step keeps.
    """

    samples: Annotated[int, Whole(least=1)] = 1
    units: Annotated[int, Whole(least=1)] = 100
    baseline_rate: Annotated[float, Number(above=0)] = 1e-3
    forget: Annotated[float | int, Fraction()] = 0.8

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> NVILState:
        """Baselines that guess 0, and no running numbers yet."""
        del rows
        sizes = _input_sizes(model)
        keys = jax.random.split(key, len(sizes))
        baselines = tuple(
            self._first_baseline(k, size) for k, size in zip(keys, sizes, strict=True)
        )
        optimiser = optax.adam(self.baseline_rate).init(baselines)
        centre, variance = jnp.zeros(len(sizes)), jnp.ones(len(sizes))
        return NVILState(baselines, optimiser, centre, variance, jnp.zeros((), jnp.int32))

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: NVILState, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the bound, averaged over the rows."""

        def loss(model: LatentModel) -> tuple[Float[Array, ""], tuple[_Signals, Info]]:
            drawn = model.draw(key, batch.x, self.samples)
            signals = _signals(model, drawn, batch.x)
            running = state.centre, state.variance
            normalised = _normalised(state.baselines, signals, running)
            learning = [
                lax.stop_gradient((state.steps > 0) * signal) * log_q
                for signal, log_q in zip(normalised, signals.log_q, strict=True)
            ]
            objective = sum(learning, start=drawn.log_p)
            return -objective.mean(), (lax.stop_gradient(signals), summarise(drawn))

        gradients, (signals, info) = eqx.filter_grad(loss, has_aux=True)(model)
        return Part(gradients, signals, info)

    def _first_baseline(self, key: Key[Array, ""], size: int) -> Baseline:
        limit = math.sqrt(6 / (size + self.units))
        W = jax.random.uniform(key, (self.units, size), minval=-limit, maxval=limit)
        return Baseline(W, jnp.zeros(self.units), jnp.zeros(self.units))

    def remember(
        self,
        model: LatentModel,
        state: NVILState,
        notes: _Signals,
        rows: Int[Array, " B"],
        key: Key[Array, ""],
    ) -> NVILState:
        """A step of the baselines' Adam, and the running numbers moved."""
        del model, rows, key
        signals = notes
        running = _running(state, signals)

        def error(baselines: tuple[Baseline, ...]) -> Float[Array, ""]:
            left = _normalised(baselines, signals, running)
            return sum((jnp.square(each).mean() for each in left), start=jnp.zeros(()))

        slope = jax.grad(error)(state.baselines)
        updates, optimiser = optax.adam(self.baseline_rate).update(slope, state.optimiser)
        baselines = optax.apply_updates(state.baselines, updates)
        # At the first step `running` is of this batch, and stays as it is.
        now = _moments(state.baselines, signals)
        centre, variance = (
            self.forget * old + (1 - self.forget) * new
            for old, new in zip(running, now, strict=True)
        )
        return NVILState(baselines, optimiser, centre, variance, state.steps + 1)


_Moments = tuple[Float[Array, " L"], Float[Array, " L"]]


def _input_sizes(model: LatentModel) -> list[int]:
    if isinstance(model, HelmholtzMachine):
        return [layer.parents for layer in model.q]
    leaves = jax.tree.leaves(example_like(model, "nvil"))
    return [sum(math.prod(leaf.shape[1:]) for leaf in leaves)]


def _signals(model: LatentModel, drawn: Draw, x: Any) -> _Signals:
    if not isinstance(model, HelmholtzMachine):
        leaves = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(x)]
        joined = jnp.concatenate(leaves, axis=-1).astype(jnp.float32)
        return _Signals((joined[:, None],), (drawn.log_weights,), (drawn.log_q,))
    inputs = (model.q_input(x)[:, None], *drawn.h)[: len(drawn.h)]
    return _Signals(inputs, _layer_signals(drawn), drawn.log_q_terms)


def _layer_signals(drawn: Draw) -> Terms:
    """For each layer of a Helmholtz machine the terms of log p − log q that it has a part in.

    Those of h_l are log p_{l−1}(h_{l−1} | h_l) and all terms above it: the terms below are
    functions of h_{l−1}, …, x, and given these the mean of ∂log q_l is zero.
    """
    p, q = drawn.log_p_terms, drawn.log_q_terms
    return tuple(
        sum(p[low + 1 :], start=p[low]) - sum(q[low + 1 :], start=q[low]) for low in range(len(q))
    )


def _left_over(baselines: tuple[Baseline, ...], signals: _Signals) -> list[Float[Array, "B K"]]:
    return [
        value - baseline(given)
        for baseline, given, value in zip(baselines, signals.inputs, signals.values, strict=True)
    ]


def _moments(baselines: tuple[Baseline, ...], signals: _Signals) -> _Moments:
    """Mean and variance over the minibatch of what the baselines leave of each signal."""
    left = lax.stop_gradient(_left_over(baselines, signals))
    if not left:
        return jnp.zeros(0), jnp.zeros(0)
    centre = jnp.stack([each.mean() for each in left])
    squares = [jnp.square(each - c).mean() for each, c in zip(left, centre, strict=True)]
    return centre, jnp.stack(squares)


def _running(state: NVILState, signals: _Signals) -> _Moments:
    """c and v of the steps before, or of this minibatch where it is the first."""
    first = state.steps == 0
    centre, variance = _moments(state.baselines, signals)
    return jnp.where(first, centre, state.centre), jnp.where(first, variance, state.variance)


def _normalised(
    baselines: tuple[Baseline, ...], signals: _Signals, running: _Moments
) -> list[Float[Array, "B K"]]:
    scale = jnp.maximum(1.0, jnp.sqrt(running[1]))
    left = _left_over(baselines, signals)
    return [(each - c) / s for each, c, s in zip(left, running[0], scale, strict=True)]
