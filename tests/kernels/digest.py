"""Every kernel on fixed inputs, as one file: `python -m tests.kernels.digest OUT.npz`."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from tests.kernels.test_nade import logits_and_gradients, problem
from wakesleep import kernels
from wakesleep.architecture import build
from wakesleep.numerics import logistic_noise
from wakesleep.recipe import Recipe
from wakesleep.training.optimisers import Moving, build_optimiser


def digest():
    """Results by name, of several tasks of each kernel, with some saturated samples."""
    x, a, c, W, V, g = problem(100, 150, 200, ones=0.4)
    a[::7] *= 40
    x, a, c, W, V, g = map(jnp.asarray, (x, a, c, W, V, g))
    noise = logistic_noise(jax.random.key(3), x.shape)
    logits, gradients = logits_and_gradients(x, a, c, W, V, g)
    drawn = kernels.nade_sample(noise, a, c, W, V)
    autoregressive = kernels.ar_sbn_sample(noise, c, W[:, :150])
    (bits, bits_log_prob), back = jax.vjp(
        lambda c: kernels.bernoulli_sample(jax.random.key(4), c, (100, 10)), c[:, None]
    )
    independent = (noise, bits, bits_log_prob, *back((bits, bits_log_prob)))
    moved = kernels.affine_update(c, x, drawn[0], W[:, :150])
    mapped, back = jax.vjp(lambda W, b: kernels.bit_affine(x, W, b), W[:, :150], g[0])
    products = (mapped, *back(g))
    trained, norm = two_steps(build("sbn/sbn 100", 784, key=jax.random.key(5)))
    results = (logits, *gradients, *drawn, *autoregressive, *independent, moved, *products)
    results += (trained, norm)
    names = ["logits", "da", "dc", "dW", "dV", "x", "x_logits", "ar_x", "ar_logits"]
    names += ["noise", "bits", "bits_log_prob", "bits_dc", "moved", "mapped", "mapped_dW"]
    names += ["mapped_db", "trained", "norm"]
    return dict(zip(names, map(np.asarray, results), strict=True))


def two_steps(model):
    """Where the default recipe's optimiser leads, and the norm of p's gradient."""
    optimiser = build_optimiser(Recipe())
    moving, step = Moving(model, model, optimiser.init(model)), jax.jit(optimiser.move)
    for number in range(2):
        rate, count = jnp.asarray(0.01 / (number + 1)), jnp.asarray(number)
        moving, norms = step(moving, moving.model, rate, count)
    return ravel_pytree(moving)[0], norms.p


if __name__ == "__main__":
    np.savez(sys.argv[1], **digest())
