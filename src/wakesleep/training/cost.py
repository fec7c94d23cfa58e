"""What a training would take: from the arithmetic of its step and this machine's measured rates."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import psutil
from jax import Array, lax

from wakesleep.errors import UsageError
from wakesleep.estimators import Reweighted
from wakesleep.kernels import bit_affine, nade_logits
from wakesleep.layers.ar_sbn import ARSBN
from wakesleep.layers.deterministic import Deterministic
from wakesleep.layers.distribution import Distribution
from wakesleep.layers.nade import NADE
from wakesleep.models import HelmholtzMachine
from wakesleep.numerics import bernoulli_log_prob, bernoulli_sample
from wakesleep.options import Whole, check_option
from wakesleep.recipe import Recipe
from wakesleep.training.batches import STEPS_PER_CALL, steps_per_epoch, with_shares
from wakesleep.training.optimisers import Moving, build_optimiser
from wakesleep.training.work import Pass, machine, own_weights, parent_weights, step_passes

PROBE_SECONDS = 0.15
"""How long each rate is measured, after compiling."""
EXAMPLES, SAMPLES, PIXELS, UNITS = 100, 5, 784, 200
"""The sizes of the probes: rates depend little on them, as long as they are usual ones."""
ONES = 0.2
"""The share of ones in a probe's rows; a NADE's hidden layer moves at those alone."""
SECONDS_PER_PASS = 3e-5
"""What it costs to start the operations of a pass through a layer, whatever its size."""
LOOP = 10
"""Steps in a call, as training has many: starting one takes longer than some of these."""
STATE_COPIES = 10
"""Arrays as large as all parameters together: they, their average and Adam's two, before and after
a call of the compiled loop; the gradients, and the best parameters so far."""

COMPILING = 160_000_000
"""Bytes that compiling a training leaves the process with; measured once."""


class Amounts(NamedTuple):
    """What there is to do; or, as rates, what this machine does in a second.

    Attributes:
        products: multiplications in matrix products of an ordinary layer's sizes.
        walk: weights of a NADE that a row meets, forwards or backwards, one unit after another.
        units: units that are drawn or scored, or whose gradient is taken.
        parameters: that the optimiser moves.
    """

    products: float
    walk: float
    units: float
    parameters: float


@dataclass(frozen=True)
class Cost:
    """Of a training by one recipe.

    Attributes:
        parameters: how many there are.
        batch_size: rows in an update.
        step_seconds: of one update.
        steps: updates in an epoch.
        epoch_seconds: of them all; validation and compiling come on top.
        memory: of the process, in bytes, with the training rows as packed bits.
    """

    parameters: int
    batch_size: int
    step_seconds: float
    steps: int
    epoch_seconds: float
    memory: int


def foretell(
    model: str, features: int, rows: int, recipe: Recipe, rates: Amounts | None = None
) -> Cost:
    """What a training of `model` would take on this machine.

    Args:
        model: in the paper's notation; layers of RBMs and EoNADEs are not known.
        features: bits in a row.
        rows: in the training set.
        recipe: its first phase counts, and its estimator must be the reweighted one.
        rates: measured in a second or two where they are not given.
    """
    check_option("features", features, Whole(least=1))
    check_option("rows", rows, Whole(least=1))
    phase = with_shares(recipe, rows).expand()[0]
    if not isinstance(phase.estimator, Reweighted):
        raise UsageError("the cost is known of the reweighted estimator alone: use that")
    shapes = machine(model, features)
    samples, combine = phase.estimator.samples, phase.estimator.combine
    passes = step_passes(shapes, phase.batch_size, samples, combine=combine)
    parameters = parameter_count(shapes)
    working = sum(part_seconds(shapes, passes, rates or measure_rates()))
    seconds = phase.shares * len(passes) * SECONDS_PER_PASS + working
    steps = steps_per_epoch(rows, phase.batch_size, phase.epoch_updates)
    held = 4 * (STATE_COPIES * parameters + sum(map(_activations, passes)))
    packed = (features + 7) // 8
    blocks = 2 * STEPS_PER_CALL * phase.batch_size * packed
    idle = psutil.Process().memory_info().rss + COMPILING
    memory = idle + held + rows * packed + blocks
    return Cost(parameters, phase.batch_size, seconds, steps, steps * seconds, memory)


def part_seconds(shapes: HelmholtzMachine, passes: list[Pass], rates: Amounts) -> Amounts:
    """What each kind of work in a step would take alone."""
    loads = [*map(_load, passes), Amounts(0, 0, 0, parameter_count(shapes))]
    totals = map(sum, zip(*loads, strict=True))
    return Amounts(*(amount / rate for amount, rate in zip(totals, rates, strict=True)))


def _load(one: Pass) -> Amounts:
    """What a pass is made of."""
    times = 1 + one.learns
    products = times * parent_weights(one.layer) * one.parent_rows
    forwards, backwards = own_weights(one.layer)
    own = one.rows * (forwards + one.learns * backwards)
    walked = isinstance(_inner(one.layer), NADE)
    # Where x is known, an AR-SBN multiplies by the half of S that is zero as well.
    dense = 2 * own if isinstance(_inner(one.layer), ARSBN) else 0
    return Amounts(products + dense, own * walked, times * one.rows * one.layer.size, 0)


def _inner(layer: Distribution) -> Distribution:
    return layer.inner if isinstance(layer, Deterministic) else layer


def _activations(one: Pass) -> int:
    """Numbers that are kept of the rows: bits, logits and their gradients, and hidden layers."""
    inner = _inner(one.layer)
    hidden = 2 * inner.hidden if isinstance(inner, NADE) else 0
    return one.rows * ((2 + one.learns) * one.layer.size + hidden)


def parameter_count(shapes: HelmholtzMachine) -> int:
    """Numbers that are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def measure_rates() -> Amounts:
    """On all cores, in a second or two, with the kernels in use."""
    rows = EXAMPLES * SAMPLES
    return Amounts(
        2 * rows * PIXELS * UNITS / _probe_products(),
        3 * rows * PIXELS * UNITS / _probe_walk(),
        2 * rows * PIXELS / _probe_units(),
        _probe_optimiser(),
    )


def _probe_products() -> float:
    """Seconds of a layer's logits and the gradient of its weights."""
    rows = EXAMPLES * SAMPLES
    g, W, b = _numbers(rows, PIXELS), _numbers(PIXELS, UNITS), _numbers(PIXELS)

    def both(y: Array) -> Array:
        logits, back = jax.vjp(lambda W, b: bit_affine(y, W, b), W, b)
        return _joined(y, (logits, *back(g)))

    return _seconds_of(both, _bits(rows, UNITS))


def _probe_walk() -> float:
    """Seconds of a NADE's logits and its gradients."""
    x, W, V = _bits(EXAMPLES, 1, PIXELS), _numbers(PIXELS, UNITS), _numbers(PIXELS, UNITS)

    def total(a: Array, W: Array, V: Array) -> Array:
        return nade_logits(x, a, jnp.zeros(PIXELS), W, V).sum()

    def learn(a: Array) -> Array:
        return _joined(a, jax.grad(total, (0, 1, 2))(a, W, V))

    return _seconds_of(learn, _numbers(EXAMPLES, SAMPLES, UNITS))


def _probe_units() -> float:
    """Seconds of drawing units and of the gradient of their log-probability."""

    def draw_and_learn(logits: Array) -> Array:
        x, _ = bernoulli_sample(jax.random.key(0), logits, logits.shape[:-1])
        gradient = jax.grad(lambda logits: bernoulli_log_prob(x, logits).sum())(logits)
        return logits + 1e-6 * gradient

    return _seconds_of(draw_and_learn, _numbers(EXAMPLES, SAMPLES, PIXELS))


def _probe_optimiser() -> float:
    """Parameters that are moved in a second."""
    shapes = machine(f"sbn/sbn {UNITS}-{UNITS}", PIXELS)
    model = jax.tree.map(lambda leaf: jnp.ones(leaf.shape), shapes)
    optimiser = build_optimiser(Recipe())

    def move(moving: Moving) -> Moving:
        return optimiser.move(moving, moving.model, jnp.array(1e-3), jnp.zeros((), jnp.int32))[0]

    count = parameter_count(shapes)
    return count / _seconds_of(move, Moving(model, model, optimiser.init(model)))


def _numbers(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(0).normal(0, 0.1, shape), jnp.float32)


def _bits(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(0).random(shape) < ONES, jnp.float32)


def _joined(carried: Array, results: tuple[Array, ...]) -> Array:
    """What is carried, in a way that XLA cannot leave the results out."""
    return carried + 0 * sum(result[..., 0].sum() for result in results)


def _seconds_of(step: Callable[[Any], Any], start: Any) -> float:
    """Of one step, the median over loops of some, as training has them."""
    loop = eqx.filter_jit(lambda start: lax.fori_loop(0, LOOP, lambda _, at: step(at), start))
    jax.block_until_ready(loop(start))
    times: list[float] = []
    while sum(times) < PROBE_SECONDS or len(times) < 3:
        begin = time.perf_counter()
        jax.block_until_ready(loop(start))
        times.append((time.perf_counter() - begin) / LOOP)
    return statistics.median(times)
