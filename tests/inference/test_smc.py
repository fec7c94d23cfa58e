"""SMC runs against enumeration: unbiased for every kind of layer, and near where q is bad."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import SMALL, small_machine
from tests.oracle import all_bits, all_latents, exact_log_likelihood, exact_posterior
from wakesleep.architecture import build
from wakesleep.evaluation import log_likelihood
from wakesleep.evaluation.adaptive import FEWEST_RUNS
from wakesleep.importance import log_weights
from wakesleep.inference import smc
from wakesleep.inference.smc import RUN_SAMPLES, Ends, Particles, smc_log_weights
from wakesleep.models import sample_bits

PLACE = jnp.zeros(2, jnp.int32)


@pytest.mark.parametrize("text", SMALL)
def test_a_runs_estimate_of_p_is_unbiased(text, key, monkeypatch):
    """p̂ itself, not its logarithm; in few steps, so that a wrong move or weight would show."""
    monkeypatch.setattr(smc, "TEMPERATURES", 3)
    monkeypatch.setattr(smc, "SWEEPS", 1)
    monkeypatch.setattr(smc, "SHARE", 0.5)
    machine = small_machine(text, scale=0.6)
    x = all_bits(4)[jnp.array([1, 6, 11])]
    exact = np.asarray(exact_log_likelihood(machine, x), np.float64)
    # Another function, for the constants are compiled in.
    run = eqx.filter_jit(smc_log_weights.__wrapped__)
    estimates = np.asarray(run(machine, jnp.repeat(x, 8000, axis=0), key, PLACE), np.float64)
    ratios = np.exp(estimates.reshape(3, -1) - exact[:, None])
    errors = ratios.std(axis=1) / np.sqrt(ratios.shape[1])
    assert (np.abs(ratios.mean(axis=1) - 1) < 4.5 * errors + 1e-4).all()
    assert (ratios.std(axis=1) > 1e-4).any()


@pytest.mark.parametrize("text", ["sbn/sbn 2-3", "nade/ar_sbn 2-3", "sbn/nade 2-2-2"])
def test_moves_leave_the_posterior_as_it_is(text, key, monkeypatch):
    """Samples drawn from p(h | x) by listing are still p(h | x)'s after fifty sweeps."""
    monkeypatch.setattr(smc, "SHARE", 0.5)
    machine, n = small_machine(text, scale=1.0), 20_000
    x = all_bits(4)[5:6]
    states = all_latents(machine)
    posterior = np.asarray(exact_posterior(machine, x)[0], np.float64)
    key_start, key_moves = jax.random.split(key)
    index = jax.random.categorical(key_start, jnp.log(posterior), shape=(1, n))
    start = scored(machine, x, tuple(layer[index] for layer in states))
    sweep = eqx.filter_jit(smc.sweep)
    ends = Ends.of(machine, x)
    particles = Particles.of(machine, ends, start)
    for sweep_key in jax.random.split(key_moves, 50):
        particles = sweep(machine, ends, particles, jnp.float32(1), sweep_key)
    particles = particles.scored
    moved = np.mean([np.any(a != b, axis=-1) for a, b in zip(particles.h, start.h, strict=True)])
    joint = np.concatenate(particles.h, axis=-1)[0].astype(int)
    places = joint @ (1 << np.arange(joint.shape[1])[::-1])
    shares = np.bincount(places, minlength=len(posterior)) / n
    assert moved > 0.1
    assert np.abs(shares - posterior).max() < 5 * np.sqrt(0.25 / n)
    # What is carried along is what scoring the states anew gives.
    anew = scored(machine, x, particles.h)
    np.testing.assert_allclose(particles.log_weights, anew.log_weights, atol=1e-4)


def scored(machine, x, h):
    shape = h[0].shape[:2]
    template = machine.draw(jax.random.key(0), x, 1)
    terms = machine.log_joint_terms(x[:, None], h), machine.log_q_terms(h, x[:, None])
    return template._replace(
        h=h,
        log_p_terms=tuple(jnp.broadcast_to(t, shape) for t in terms[0]),
        log_q_terms=tuple(jnp.broadcast_to(t, shape) for t in terms[1]),
    )


def machine_with_a_bad_q():
    """p's 18 latents matter, and q knows nothing of them."""
    key = jax.random.key(3)
    machine = build("sbn/sbn 9-9", features=24, key=key)
    keys = jax.random.split(key, len(machine.p))
    p = [
        type(layer)(2 * jax.random.normal(k, layer.W.shape), jnp.zeros(layer.size))
        for layer, k in zip(machine.p, keys, strict=True)
    ]
    q = [type(layer)(jnp.zeros_like(layer.W), jnp.zeros(layer.size)) for layer in machine.q]
    return eqx.tree_at(lambda m: (m.p, m.q), machine, (tuple(p), tuple(q)))


def rows(n, seed=4):
    return sample_bits(machine_with_a_bad_q(), n, key=jax.random.key(seed))


def test_where_q_is_bad_a_tolerance_brings_the_exact_answer_with_fewer_samples(key):
    machine, x, most = machine_with_a_bad_q(), rows(24), 60_000
    exact = exact_log_likelihood(machine, x)
    score = log_likelihood(machine, x, most, key=key, tolerance=0.5)
    by_runs = score.runs > 0
    assert by_runs.mean() > 0.8
    assert (score.runs[by_runs] >= FEWEST_RUNS).all()
    assert ((score.samples - score.runs * RUN_SAMPLES)[by_runs] >= 1000).all()
    assert score.samples.mean() < most / 2
    assert (score.standard_errors <= 0.5).all()
    off = score.values - exact
    assert (np.abs(off) <= 4 * score.standard_errors - score.biases).all()
    assert abs(off.mean()) <= score.monte_carlo_error
    assert score.to_dict()["annealed_examples"] == by_runs.sum()


def test_too_small_a_budget_is_plain_sampling(key):
    machine = machine_with_a_bad_q()
    x = rows(2)
    samples = 1024 + FEWEST_RUNS * RUN_SAMPLES - 100
    fixed = log_likelihood(machine, x, samples, key=key)
    adaptive = log_likelihood(machine, x, samples, key=key, tolerance=1e-6)
    assert fixed.records.tobytes() == adaptive.records.tobytes()


def test_the_same_key_gives_the_same_bits(key):
    machine, x = machine_with_a_bad_q(), rows(1)
    once, again = (log_likelihood(machine, x, 12_000, key=key, tolerance=0.1) for _ in range(2))
    assert once.runs[0] > 0
    assert once.records.tobytes() == again.records.tobytes()


def test_a_run_reaches_what_samples_of_q_cannot(key):
    """On a machine with a bad q, for the same number of scored states."""
    machine = machine_with_a_bad_q()
    x = jnp.asarray(rows(32), jnp.float32)
    exact = exact_log_likelihood(machine, x)
    runs = smc_log_weights(machine, x, key, PLACE)
    plain = jax.nn.logsumexp(log_weights(machine, x, RUN_SAMPLES, key), axis=1)
    plain -= np.log(RUN_SAMPLES)
    assert np.abs(runs - exact).mean() < np.abs(plain - exact).mean()
