"""What the estimators should give on average, from listing every state: weights for the oracle.

A gradient Σ_h w_h ∂log p(x, h) is its weights `[B, S]`; here are those of each objective.
"""

import itertools

import numpy as np

from tests.oracle import exact_log_joint, exact_log_q, weighted_p_gradient, weighted_q_gradient


def logs(machine, x):
    """log q(h | x) and log ω of every state, `[B, S]` each."""
    log_q = exact_log_q(machine, x)
    return log_q, exact_log_joint(machine, x) - log_q


def gradients(machine, x, p, q):
    """p's and q's gradients for weights that are averaged over the rows."""
    return (
        weighted_p_gradient(machine, x, p / len(x)),
        weighted_q_gradient(machine, x, q / len(x)),
    )


def bound_gradients(machine, x):
    """Of Σ_h q(h | x) log ω(h)."""
    log_q, log_w = logs(machine, x)
    return gradients(machine, x, np.exp(log_q), np.exp(log_q) * log_w)


def tuple_average(log_q, log_w, samples, coefficient):
    """The weights of E Σ_k c_k(ω_1, …, ω_K) ∂log …(h_k), over all K-tuples of q's samples.

    `coefficient` gives c_1 from log weights `[..., K]`: the c_k are alike, so that one will do.
    """
    states = log_q.shape[-1]
    weights = np.zeros_like(log_q)
    for rest in itertools.product(range(states), repeat=samples - 1):
        others = np.stack([log_w[:, j] for j in rest], axis=-1)[:, None, :]
        others = np.broadcast_to(others, (*log_w.shape, samples - 1))
        chance = np.exp(sum(log_q[:, j] for j in rest))[:, None] * np.exp(log_q)
        every = np.concatenate([log_w[..., None], others], axis=-1)
        weights += samples * chance * coefficient(every)
    return weights


def own_share(log_w):
    """ω̃_1."""
    return np.exp(log_w[..., 0] - np.logaddexp.reduce(log_w, axis=-1))


def multi_sample_score(log_w):
    """log (1/K) Σ ω − ω̃_1: the bound's value times the score, and its own ∂/∂φ through ω_1."""
    log_mean = np.logaddexp.reduce(log_w, axis=-1) - np.log(log_w.shape[-1])
    return log_mean - own_share(log_w)


def multi_sample_gradients(machine, x, samples, extra_wake_q=0.0):
    """Of E log (1/K) Σ_k ω_k; for q with some of K-sample wake-q added."""
    log_q, log_w = logs(machine, x)
    p = tuple_average(log_q, log_w, samples, own_share)
    q = tuple_average(log_q, log_w, samples, multi_sample_score)
    return gradients(machine, x, p, q + extra_wake_q * p)


def thermodynamic_gradients(machine, x, betas):
    """Of Σ_i (β_{i+1} − β_i) E_{β_i}[log ω], expectations over π_β ∝ p^β q^(1−β)."""
    log_q, log_w = logs(machine, x)
    p, q = np.zeros_like(log_q), np.zeros_like(log_q)
    for beta, width in zip(betas[:-1], np.diff(betas), strict=True):
        log_pi = log_q + beta * log_w
        pi = np.exp(log_pi - np.logaddexp.reduce(log_pi, axis=-1, keepdims=True))
        covariance = pi * (log_w - (pi * log_w).sum(-1, keepdims=True))
        p += width * (pi + beta * covariance)
        q += width * ((1 - beta) * covariance - pi)
    return gradients(machine, x, p, q)
