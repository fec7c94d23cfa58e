"""Exact answers about missing bits, by listing every imputation and every latent state."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle import all_bits, all_latents, exact_log_joint, exact_log_likelihood


def imputations(machine, x, missing):
    """Every imputation of a row `[S, D]`, with p(imputation | observed) and log p(observed)."""
    every = np.asarray(all_bits(machine.features))
    fits = every[(every == x)[:, ~missing].all(axis=1)]
    log_p = np.asarray(exact_log_likelihood(machine, jnp.asarray(fits)), np.float64)
    log_evidence = np.logaddexp.reduce(log_p)
    return fits, np.exp(log_p - log_evidence), log_evidence


def probabilities(machine, x, missing):
    """P(x_i = 1 | x_observed), `[D]`."""
    fits, posterior, _ = imputations(machine, x, missing)
    return posterior @ fits


def posterior_draws(machine, x, missing, key, count):
    """Exact draws of (x, h) given what is observed: x `[count, D]` and layers `[count, H]`."""
    fits, _, _ = imputations(machine, x, missing)
    log_joint = exact_log_joint(machine, jnp.asarray(fits))
    chosen = jax.random.categorical(key, log_joint.ravel(), shape=(count,))
    row, state = jnp.divmod(chosen, log_joint.shape[1])
    return jnp.asarray(fits)[row], tuple(layer[state] for layer in all_latents(machine))


def frequencies(draws, fits):
    """How often each imputation was drawn, `[S]`."""
    same = (np.asarray(draws)[:, None] == fits[None]).all(-1)
    return same.mean(0)
