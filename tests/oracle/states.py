"""Every state of a small machine, and what follows from listing them.

Latent states are numbered as `all_latents` lists them: h₁'s bits count most, and in a layer the
first bit most.
"""

import itertools

import jax.numpy as jnp
import numpy as np

from tests.oracle.layers import log_prob, read


def bits(size):
    """Every vector of `size` bits in float64, `[2^size, size]`."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=size))).reshape(2**size, size)


def all_bits(size):
    """Every vector of `size` bits, `[2^size, size]`, as a model takes them."""
    return jnp.asarray(bits(size), jnp.float32)


def latent_sizes(machine):
    """The numbers of latent units, from the data upwards."""
    return [read(layer).size for layer in machine.p[1:]]


def all_latents(machine):
    """Every joint latent state: a tuple of `[S, H_l]`, as a model takes them."""
    sizes = latent_sizes(machine)
    joint = all_bits(sum(sizes))
    return tuple(jnp.split(joint, np.cumsum(sizes)[:-1], axis=-1)) if sizes else ()


def state_numbers(h):
    """Where latents `[..., H_l]` stand in the list of `all_latents`, `[...]`."""
    joint = np.concatenate([np.asarray(layer) for layer in h], axis=-1).astype(int)
    return joint @ (1 << np.arange(joint.shape[-1])[::-1])


def values(machine, x):
    """Rows x in float64, then each latent layer's states: the values that layers have."""
    return [np.asarray(x, np.float64), *map(bits, latent_sizes(machine))]


def table(layer, of, given):
    """log P(v | y) for every v of `of` and every y of `given`, `[V, Y]`."""
    return log_prob(read(layer), of[:, None], given[None])


def p_tables(machine, x):
    """log p₀(x | h₁) `[B, S₁]`, log p₁(h₁ | h₂) `[S₁, S₂]`, …, log p_L(h_L) `[S_L, 1]`."""
    every = [*values(machine, x), np.zeros((1, 0))]
    pairs = itertools.pairwise(every)
    return [table(layer, *pair) for layer, pair in zip(machine.p, pairs, strict=True)]


def q_tables(machine, x):
    """log q₁(h₁ | x) `[B, S₁]`, log q₂(h₂ | h₁) `[S₁, S₂]`, …."""
    pairs = itertools.pairwise(values(machine, x))
    return [table(layer, *pair[::-1]).T for layer, pair in zip(machine.q, pairs, strict=True)]


def chained(tables, rows):
    """The sum of a chain's tables for every row and every joint state, `[B, S]`."""
    total = np.zeros(rows)
    for each in tables:
        total = total[..., None] + each
    return total.reshape(rows, -1)


def exact_log_joint(machine, x):
    """log p(x, h) for every h: `[B, S]`."""
    return chained(p_tables(machine, x), len(x))


def exact_log_q(machine, x):
    """log q(h | x) for every h: `[B, S]`."""
    return chained(q_tables(machine, x), len(x))


def exact_log_likelihood(machine, x):
    """log p(x) = log Σ_h p(x, h), `[B]`."""
    return np.logaddexp.reduce(exact_log_joint(machine, x), axis=-1)


def exact_posterior(machine, x):
    """p(h | x) for every h: `[B, S]`."""
    log_joint = exact_log_joint(machine, x)
    return np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=-1, keepdims=True))


def exact_posterior_means(machine, x):
    """E[h | x]: a tuple of `[B, H_l]`."""
    posterior = exact_posterior(machine, x)
    return tuple(posterior @ np.asarray(layer, np.float64) for layer in all_latents(machine))


def exact_bound(machine, x):
    """The variational bound Σ_h q(h | x) (log p(x, h) − log q(h | x)), `[B]`."""
    log_q = exact_log_q(machine, x)
    return (np.exp(log_q) * (exact_log_joint(machine, x) - log_q)).sum(-1)


def imputations(machine, x, missing):
    """Every completion of a row `[S, D]`, with p(completion | observed) and log p(observed)."""
    every = bits(len(x))
    fits = every[(every == np.asarray(x))[:, ~np.asarray(missing)].all(axis=1)]
    log_p = exact_log_likelihood(machine, fits)
    log_evidence = np.logaddexp.reduce(log_p)
    return fits, np.exp(log_p - log_evidence), log_evidence


def exact_conditionals(machine, x, missing):
    """P(x_i = 1 | x_observed) of one row, `[D]`; 0 or 1 where x_i is observed."""
    fits, posterior, _ = imputations(machine, x, missing)
    return posterior @ fits
