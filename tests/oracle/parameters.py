"""Parameters of models under test: drawn at random, and put in one line."""

import equinox as eqx
import jax
import numpy as np


def sharpen(machine, key, scale=1.5):
    """Random parameters of a size that matters, biases included, so that no test is about zeros."""
    leaves, structure = jax.tree.flatten(eqx.filter(machine, eqx.is_inexact_array))
    keys = jax.random.split(key, len(leaves))
    noisy = [scale * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, noisy), machine)


def flat(tree):
    """All parameters of a tree as one vector, JAX's or the oracle's."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")]
    real = [leaf for leaf in leaves if np.issubdtype(leaf.dtype, np.inexact)]
    return np.concatenate([leaf.ravel().astype(np.float64) for leaf in real])
