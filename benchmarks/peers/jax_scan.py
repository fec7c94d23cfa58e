"""Reweighted wake-sleep as a JAX user would write it: `lax.scan` over a NADE's units, `jax.grad`.

Everything is jitted and the optimiser's update is in the same compiled step.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax

from benchmarks.peers.cases import Case, tile_count
from benchmarks.peers.problem import Batch, LayerArrays, MachineArrays, random_bits
from benchmarks.steps import LEARNING_RATE

MINIBATCHES = 50
Layer = dict[str, Array]
Machine = dict[str, list[Layer]]


def log_prob(layer: Layer, x: Array, y: Array | None) -> Array:
    logits = nade_logits(layer, x, y) if "V" in layer else affine(y, layer["W"], layer["b"])
    return -jax.nn.softplus((1 - 2 * x) * logits).sum(-1)


def draw(layer: Layer, key: Array, y: Array | None, leading: tuple[int, ...]) -> Array:
    if "V" in layer:
        return nade_draw(layer, key, y, leading)
    means = jax.nn.sigmoid(affine(y, layer["W"], layer["b"]))
    return jax.random.bernoulli(key, means, (*leading, means.shape[-1])).astype(jnp.float32)


def affine(y: Array | None, weights: Array, bias: Array) -> Array:
    return bias if y is None else y @ weights.T + bias


def nade_logits(layer: Layer, x: Array, y: Array | None) -> Array:
    a, c = affine(y, layer["U_a"], layer["a"]), affine(y, layer["U_b"], layer["b"])
    leading = jnp.broadcast_shapes(x.shape[:-1], a.shape[:-1])

    def unit(a: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        x_i, W_i, V_i = inputs
        return a + x_i[..., None] * W_i, jax.nn.sigmoid(a) @ V_i

    start = jnp.broadcast_to(a, (*leading, a.shape[-1]))
    _, logits = lax.scan(unit, start, (jnp.moveaxis(x, -1, 0), layer["W"], layer["V"]))
    return jnp.moveaxis(logits, 0, -1) + c


def nade_draw(layer: Layer, key: Array, y: Array | None, leading: tuple[int, ...]) -> Array:
    a, c = affine(y, layer["U_a"], layer["a"]), affine(y, layer["U_b"], layer["b"])
    units = c.shape[-1]

    def unit(a: Array, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
        key_i, c_i, W_i, V_i = inputs
        means = jax.nn.sigmoid(jax.nn.sigmoid(a) @ V_i + c_i)
        x_i = jax.random.bernoulli(key_i, means).astype(jnp.float32)
        return a + x_i[..., None] * W_i, x_i

    start = jnp.broadcast_to(a, (*leading, a.shape[-1]))
    c = jnp.moveaxis(jnp.broadcast_to(c, (*leading, units)), -1, 0)
    _, x = lax.scan(unit, start, (jax.random.split(key, units), c, layer["W"], layer["V"]))
    return jnp.moveaxis(x, 0, -1)


def sample_q(machine: Machine, key: Array, x: Array, samples: int) -> list[Array]:
    h, below = [], x[:, None]
    keys = jax.random.split(key, len(machine["q"]))
    for layer, layer_key in zip(machine["q"], keys, strict=True):
        below = draw(layer, layer_key, below, (len(x), samples))
        h.append(below)
    return h


def dream(machine: Machine, key: Array, count: int) -> tuple[Array, list[Array]]:
    values, parents = [], None
    keys = jax.random.split(key, len(machine["p"]))
    for layer, layer_key in zip(reversed(machine["p"]), keys, strict=True):
        parents = draw(layer, layer_key, parents, (count,))
        values.append(parents)
    x, *h = reversed(values)
    return x, h


def log_joint(machine: Machine, x: Array, h: list[Array]) -> Array:
    return sum(map(log_prob, machine["p"], (x, *h), (*h, None)))


def log_q(machine: Machine, x: Array, h: list[Array]) -> Array:
    return sum(map(log_prob, machine["q"], h, (x, *h[:-1])))


def loss(machine: Machine, x: Array, h: list[Array], dream_x: Array, dream_h: list[Array]) -> Array:
    p, q = log_joint(machine, x[:, None], h), log_q(machine, x[:, None], h)
    weights = jax.nn.softmax(lax.stop_gradient(p - q), -1)
    wake = (weights * (p + q)).sum(-1).mean()
    return -wake - log_q(machine, dream_x, dream_h).mean()


@functools.partial(jax.jit, static_argnames="samples", donate_argnums=(0, 1))
def train_step(
    machine: Machine, state: Any, x: Array, key: Array, samples: int
) -> tuple[Machine, Any]:
    wake_key, sleep_key = jax.random.split(key)
    h = sample_q(machine, wake_key, x, samples)
    gradients = jax.grad(loss)(machine, x, h, *dream(machine, sleep_key, len(x)))
    updates, state = optax.adam(LEARNING_RATE).update(gradients, state)
    return optax.apply_updates(machine, updates), state


@jax.jit
def log_likelihoods(machine: Machine, x: Array, h: list[Array]) -> Array:
    log_weights = log_joint(machine, x[:, None], h) - log_q(machine, x[:, None], h)
    return jax.nn.logsumexp(log_weights, -1) - math.log(h[0].shape[1])


@functools.partial(jax.jit, static_argnames="samples")
def evaluate_tile(machine: Machine, x: Array, key: Array, samples: int) -> Array:
    return log_likelihoods(machine, x, sample_q(machine, key, x, samples))


class JaxScan:
    def __init__(self, case: Case, arrays: MachineArrays):
        self.case, self.kinds = case, arrays
        self.machine = {
            "p": [{n: jnp.array(a) for n, a in layer.arrays.items()} for layer in arrays.p],
            "q": [{n: jnp.array(a) for n, a in layer.arrays.items()} for layer in arrays.q],
        }
        self.state = optax.adam(LEARNING_RATE).init(self.machine)
        leading = (MINIBATCHES, case.batch) if case.task == "step" else (case.batch,)
        self.data = [jnp.asarray(x) for x in random_bits(*leading)]
        self.key = jax.random.key(1)

    def steps(self, count: int) -> None:
        for i in range(count):
            self.key, key = jax.random.split(self.key)
            x = self.data[i % MINIBATCHES]
            self.machine, self.state = train_step(
                self.machine, self.state, x, key, self.case.samples
            )
        jax.block_until_ready(self.machine)

    def evaluate(self, count: int) -> None:
        tiles = jnp.split(jnp.stack(self.data), tile_count(self.case))
        for _ in range(count):
            keys = jax.random.split(self.key, len(tiles))
            values = map(
                lambda x, key: evaluate_tile(self.machine, x, key, self.case.samples), tiles, keys
            )
            jax.block_until_ready(list(values))

    def gradients(self, batch: Batch) -> MachineArrays:
        found = jax.jit(jax.grad(loss))(
            self.machine, batch.x, batch.h, batch.dream_x, batch.dream_h
        )
        return MachineArrays(*(_named(getattr(self.kinds, side), found[side]) for side in "pq"))

    def likelihoods_given(self, x: np.ndarray, h: list[np.ndarray]) -> np.ndarray:
        return np.array(log_likelihoods(self.machine, x, h))


def _named(specs: list[LayerArrays], found: list[Layer]) -> list[LayerArrays]:
    return [
        LayerArrays(spec.kind, {n: np.array(g) for n, g in layer.items()})
        for spec, layer in zip(specs, found, strict=True)
    ]
