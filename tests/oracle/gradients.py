"""Exact gradients: with all layers' values known the layers decouple, each a weighted regression.

    ∂/∂θ log p(x) = Σ_h p(h | x) ∂/∂θ log p(x, h)

What is returned has the structure of the machine's p or q, with float64 arrays as its leaves.
"""

import itertools

import jax
import numpy as np

from tests.oracle.layers import log_prob_gradient, read
from tests.oracle.states import bits, exact_log_joint, exact_posterior, latent_sizes, values


def pair_weights(machine, weights):
    """The weights of (x, h₁) `[B, S₁]`, (h₁, h₂) `[S₁, S₂]`, …, (h_L, nothing) `[S_L, 1]`."""
    states = [2**size for size in latent_sizes(machine)]
    joint = np.asarray(weights, np.float64).reshape(len(weights), *states, 1)
    for low in range(joint.ndim - 1):
        others = tuple(axis for axis in range(joint.ndim) if axis not in (low, low + 1))
        yield joint.sum(others)


def layer_gradient(layer, of, given, weights):
    """∂ Σ w log P(v | y) over all v of `of` and y of `given`, as a layer of arrays."""
    v, y = np.repeat(of, len(given), axis=0), np.tile(given, (len(of), 1))
    theta = read(layer)
    gradients = log_prob_gradient(theta, v, y, weights.ravel())
    leaves = [gradients[name] for name in theta.arrays]
    return jax.tree.unflatten(jax.tree.structure(layer), leaves)


def weighted_p_gradient(machine, x, weights):
    """∂/∂θ Σ_{b,h} w_{b,h} log p(x_b, h), for weights `[B, S]` over every latent state."""
    pairs = itertools.pairwise([*values(machine, x), np.zeros((1, 0))])
    return tuple(
        layer_gradient(layer, low, high, weight)
        for layer, (low, high), weight in zip(
            machine.p, pairs, pair_weights(machine, weights), strict=True
        )
    )


def weighted_q_gradient(machine, x, weights):
    """∂/∂φ Σ_{b,h} w_{b,h} log q(h | x_b), for weights `[B, S]` over every latent state."""
    pairs = itertools.pairwise(values(machine, x))
    return tuple(
        layer_gradient(layer, high, low, weight.T)
        for layer, (low, high), weight in zip(
            machine.q, pairs, list(pair_weights(machine, weights))[:-1], strict=True
        )
    )


def exact_p_gradient(machine, x):
    """∂/∂θ of the mean exact log p(x), to which eq. 3 converges."""
    return weighted_p_gradient(machine, x, exact_posterior(machine, x) / len(x))


def exact_wake_q_gradient(machine, x):
    """∂/∂φ of the mean over x of Σ_h p(h | x) log q(h | x), to which eq. 4 converges."""
    return weighted_q_gradient(machine, x, exact_posterior(machine, x) / len(x))


def exact_sleep_q_gradient(machine):
    """∂/∂φ of Σ_{x,h} p(x, h) log q(h | x), the mean of eq. 5."""
    x = bits(read(machine.p[0]).size)
    return weighted_q_gradient(machine, x, np.exp(exact_log_joint(machine, x)))
