"""The parameters and the data that every peer starts from, as plain NumPy arrays."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.cases import FEATURES
from wakesleep import Reweighted, estimators, importance
from wakesleep.architecture import build
from wakesleep.evaluation.tiles import Widths
from wakesleep.layers import kind_of
from wakesleep.models import HelmholtzMachine

ONES = 0.13
"""The share of ones in MNIST: a NADE's cost may depend on it."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class LayerArrays:
    """A layer's kind and its parameters by wakesleep's names."""

    kind: str
    arrays: Arrays


@dataclass(frozen=True)
class MachineArrays:
    """A machine's layers, both from the data upwards."""

    p: list[LayerArrays]
    q: list[LayerArrays]


@dataclass(frozen=True)
class Batch:
    """A minibatch with everything random about a training step already drawn.

    Attributes:
        x: examples, `[B, D]`.
        h: latents from q, each `[B, K, H]`.
        dream_x: visible dreams, `[B, D]`.
        dream_h: their latents, each `[B, H]`.
    """

    x: np.ndarray
    h: list[np.ndarray]
    dream_x: np.ndarray
    dream_h: list[np.ndarray]


@functools.cache
def machine(architecture: str) -> HelmholtzMachine:
    model = build(architecture, FEATURES, key=jax.random.key(0))
    return model.with_visible_mean(jnp.full(FEATURES, ONES))


def random_bits(*shape: int) -> np.ndarray:
    """Random rows of bits with MNIST's share of ones."""
    return (np.random.default_rng(0).random((*shape, FEATURES)) < ONES).astype(np.float32)


def to_arrays(model: HelmholtzMachine) -> MachineArrays:
    def layer(module: Any) -> LayerArrays:
        fields = [f for f in dataclasses.fields(module) if not f.metadata.get("static")]
        arrays = {field.name: np.array(getattr(module, field.name)) for field in fields}
        return LayerArrays(kind_of(module), arrays)

    return MachineArrays([layer(m) for m in model.p], [layer(m) for m in model.q])


def reference_gradients(
    model: HelmholtzMachine, batch: int, samples: int
) -> tuple[MachineArrays, Batch]:
    """wakesleep's gradients, and the samples that it drew for them."""
    x = jnp.asarray(random_bits(batch))
    gradients, h, dreams = _gradients_and_draws(model, x, jax.random.key(2), samples)
    h, (dream_x, dream_h) = jax.tree.map(np.array, (h, dreams))
    return to_arrays(gradients), Batch(np.array(x), [*h], dream_x, [*dream_h])


@functools.partial(jax.jit, static_argnames="samples")
def _gradients_and_draws(model: HelmholtzMachine, x: Any, key: Any, samples: int) -> Any:
    batch = estimators.Batch(x, jnp.arange(len(x)))
    gradients = Reweighted(samples=samples).step(model, (), batch, key).gradients
    # The estimator splits its key so; another split would show as gradients that disagree.
    wake_key, sleep_key = jax.random.split(key)
    return gradients, model.sample_q(wake_key, x, samples), model.dream(sleep_key, len(x))


def reference_likelihood(
    model: HelmholtzMachine, samples: int, key: Any
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """One tile of `ws.log_likelihood`: its examples, its latents and log p̂(x) from those."""
    x = random_bits(Widths.of(model, random_bits(1)).tile_rows // samples)
    tile_key = jax.random.fold_in(jax.random.fold_in(key, 0), 0)
    draw = jax.jit(HelmholtzMachine.draw, static_argnums=3)
    drawn = draw(model, tile_key, jnp.asarray(x), samples)
    values = importance.log_likelihood_estimate(drawn.log_weights)
    return x, [*map(np.array, drawn.h)], np.array(values)
