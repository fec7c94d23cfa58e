"""A model of one's own: a mixture of Gaussians whose component is the latent, as JAX functions.

Usage: python examples/05_a_model_of_your_own.py

Trains it on minibatches with validation and early stopping, stops halfway, goes on from there, and
shows that nothing was lost: the parameters are those of the uninterrupted training, bit for bit.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

import wakesleep as ws

MEANS = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 3.0]])


def log_p(theta, x, h):
    prior = jax.nn.log_softmax(theta["prior"])[h]
    return prior + norm.logpdf(x, theta["means"][h], jnp.exp(theta["log_scale"])).sum()


def logits_q(phi, x):
    return phi["W"] @ x + phi["b"]


def log_q(phi, h, x):
    return jax.nn.log_softmax(logits_q(phi, x))[h]


def sample_q(phi, x, key):
    return jax.random.categorical(key, logits_q(phi, x))


def sample_p(theta, key):
    key_h, key_x = jax.random.split(key)
    h = jax.random.categorical(key_h, theta["prior"])
    return theta["means"][h] + jnp.exp(theta["log_scale"]) * jax.random.normal(key_x, (2,)), h


def model() -> ws.FunctionModel:
    theta = {"prior": jnp.zeros(3), "means": jnp.eye(3, 2), "log_scale": jnp.zeros(())}
    phi = {"W": jnp.zeros((3, 2)), "b": jnp.zeros(3)}
    return ws.FunctionModel(theta, phi, log_p, log_q, sample_q, sample_p)


def main() -> None:
    random = np.random.default_rng(0)
    rows = MEANS[random.integers(0, 3, 3000)] + 0.5 * random.normal(size=(3000, 2))
    data = ws.array_dataset(rows[:2000], rows[2000:2500], rows[2500:])
    recipe = ws.Recipe(epochs=30, learning_rate=0.03, weight_decay=0.0, patience=10)
    whole = ws.fit(model(), data, recipe, seed=0, progress=False)

    stops = iter([False] * 10 + [True])
    half = ws.fit(model(), data, recipe, seed=0, progress=False, should_stop=lambda: next(stops))
    rest = ws.fit(model(), data, recipe, seed=0, progress=False, resume=half.snapshot)
    pairs = zip(jax.tree.leaves(whole.model), jax.tree.leaves(rest.model), strict=True)
    same = all(np.array_equal(a, b) for a, b in pairs)
    print(
        f"stopped after {len(half.history)} of {len(whole.history)} epochs; the same bits: {same}"
    )

    score = ws.log_likelihood(rest.model, data.test, samples=200, key=jax.random.key(1))
    truth = np.log(np.mean([norm.pdf(rows[2500:], mean, 0.5).prod(1) for mean in MEANS], axis=0))
    print(f"test log-likelihood {score.mean:.3f} ± {score.confidence:.3f} nats", end="")
    print(f", the distribution the rows came from {truth.mean():.3f}")


if __name__ == "__main__":
    main()
