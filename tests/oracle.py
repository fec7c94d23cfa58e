"""Exact answers by listing every state of small machines, in float64 NumPy where it matters."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def all_bits(size):
    """Every vector of `size` bits, `[2^size, size]`."""
    return jnp.asarray(list(itertools.product((0.0, 1.0), repeat=size))).reshape(2**size, size)


def all_latents(machine):
    """Every joint latent state: a tuple of `[S, H_l]`."""
    joint = all_bits(sum(machine.latent_sizes))
    return tuple(jnp.split(joint, np.cumsum(machine.latent_sizes)[:-1], axis=-1))


@eqx.filter_jit
def exact_log_joint(machine, x):
    """log p(x, h) for every h: `[B, S]`."""
    h = tuple(layer[None] for layer in all_latents(machine))
    return machine.log_joint(x[:, None], h)


@eqx.filter_jit
def exact_log_likelihood(machine, x):
    return jax.nn.logsumexp(exact_log_joint(machine, x), axis=-1)


@eqx.filter_jit
def exact_posterior(machine, x):
    return jax.nn.softmax(exact_log_joint(machine, x), axis=-1)


def sharpen(machine, key, scale=1.5):
    """Random parameters of a size that matters, biases included, so that no test is about zeros."""
    leaves, structure = jax.tree.flatten(eqx.filter(machine, eqx.is_inexact_array))
    keys = jax.random.split(key, len(leaves))
    noisy = [scale * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, noisy), machine)


@eqx.filter_jit
def exact_p_gradient(machine, x):
    """∂/∂θ of the mean exact log p(x)."""
    grad = eqx.filter_grad(lambda m: exact_log_likelihood(m, x).mean())(machine)
    return grad.p


@eqx.filter_jit
def exact_wake_q_gradient(machine, x):
    """∂/∂φ of the mean over x of Σ_h p(h | x) log q(h | x)."""
    posterior = exact_posterior(machine, x)

    def objective(m):
        h = tuple(layer[None] for layer in all_latents(m))
        return (posterior * m.log_q(h, x[:, None])).sum(-1).mean()

    return eqx.filter_grad(objective)(machine).q


@eqx.filter_jit
def exact_sleep_q_gradient(machine):
    """∂/∂φ of Σ_{x,h} p(x, h) log q(h | x)."""
    x = all_bits(machine.features)
    joint = jnp.exp(exact_log_joint(machine, x))

    def objective(m):
        h = tuple(layer[None] for layer in all_latents(m))
        return (joint * m.log_q(h, x[:, None])).sum()

    return eqx.filter_grad(objective)(machine).q


def flat(tree):
    """All parameters of a tree as one vector."""
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in leaves])
