"""Exact answers about missing bits, and exact draws, of machines that can be listed."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle import all_latents, exact_conditionals, exact_log_joint, imputations

__all__ = ["frequencies", "imputations", "posterior_draws", "probabilities"]

probabilities = exact_conditionals


def posterior_draws(machine, x, missing, key, count):
    """Exact draws of (x, h) given what is observed: x `[count, D]` and layers `[count, H]`."""
    fits, _, _ = imputations(machine, x, missing)
    log_joint = jnp.asarray(exact_log_joint(machine, fits), jnp.float32)
    chosen = jax.random.categorical(key, log_joint.ravel(), shape=(count,))
    row, state = jnp.divmod(chosen, log_joint.shape[1])
    rows = jnp.asarray(fits, jnp.float32)[row]
    return rows, tuple(layer[state] for layer in all_latents(machine))


def frequencies(draws, fits):
    """How often each imputation was drawn, `[S]`."""
    same = (np.asarray(draws)[:, None] == np.asarray(fits)[None]).all(-1)
    return same.mean(0)
