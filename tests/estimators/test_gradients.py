"""Every estimator's gradients against those of what it climbs, from listing every state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.estimators.cases import CASES
from tests.estimators.exact import (
    bound_gradients,
    multi_sample_gradients,
    thermodynamic_gradients,
)
from tests.estimators.sampling import (
    BATCH,
    X,
    assert_mean_is,
    estimates,
    matrix,
    raw_estimates,
    walk,
)
from tests.machines import SMALL, small_machine
from tests.oracle import (
    exact_log_likelihood,
    exact_p_gradient,
    exact_sleep_q_gradient,
    exact_wake_q_gradient,
    flat,
    sharpen,
)
from wakesleep.architecture import build
from wakesleep.estimators import (
    JSA,
    NVIL,
    OVIS,
    RLOO,
    TVO,
    VIMCO,
    DisARM,
    Reweighted,
    WakeSleep,
)

REPETITIONS = 1500
FACTORIAL_Q = ("sbn/sbn 3", "nade/sbn 2-3", "sbn/sbn 2-2-2", "sbn/sbn(units=3) 2-2")


def machine_of(text):
    return small_machine(text, scale=0.7)


def assert_both(drawn, exact, slack=0.0):
    for samples, gradient in zip(drawn, exact, strict=True):
        assert_mean_is(samples, flat(gradient), slack)


@pytest.mark.parametrize("text", SMALL)
def test_rloo_is_unbiased_for_the_bound(text, key):
    machine = machine_of(text)
    assert_both(estimates(RLOO(samples=4), machine, key, REPETITIONS), bound_gradients(machine, X))


@pytest.mark.parametrize("text", FACTORIAL_Q)
def test_disarm_is_unbiased_for_the_bound(text, key):
    machine = machine_of(text)
    drawn = estimates(DisARM(samples=4), machine, key, REPETITIONS)
    assert_both(drawn, bound_gradients(machine, X))


@pytest.mark.parametrize("text", SMALL)
def test_nvil_at_a_fixed_state_is_unbiased_but_for_each_layer_s_scale(text, key):
    machine = machine_of(text)
    estimator = NVIL(samples=2, baseline_rate=0.05, units=7)
    state, _, _ = walk(estimator, machine, key, 30)
    # A scale that matters, where the signals of so small a machine would leave it at 1.
    state = state._replace(variance=4.0 * (1 + jnp.arange(len(machine.q), dtype=jnp.float32)))
    drawn = raw_estimates(estimator, machine, key, REPETITIONS, state)
    exact_p, exact_q = bound_gradients(machine, X)
    assert_mean_is(-matrix(drawn.p), flat(exact_p))
    for layer, exact, variance in zip(drawn.q, exact_q, state.variance, strict=True):
        assert_mean_is(-matrix(layer), flat(exact) / np.sqrt(float(variance)))


@pytest.mark.parametrize("text", SMALL)
def test_wake_sleep_climbs_the_bound_for_p_and_dreams_for_q(text, key):
    machine = machine_of(text)
    drawn = estimates(WakeSleep(samples=2, dreams=5), machine, key, REPETITIONS)
    assert_both(drawn, (bound_gradients(machine, X)[0], exact_sleep_q_gradient(machine)))


def test_wake_sleep_does_not_climb_log_p(key):
    machine = machine_of("sbn/sbn 2-3")
    p, _ = estimates(WakeSleep(samples=50), machine, key, 200)
    with pytest.raises(AssertionError):
        assert_mean_is(p, flat(exact_p_gradient(machine, X)))


def test_wake_sleep_is_reweighted_with_one_sample_and_no_wake_q(key):
    machine = machine_of("ar_sbn/nade 2-2")
    one, other = (
        estimator.step(machine, (), BATCH, key).gradients
        for estimator in (WakeSleep(), Reweighted(samples=1, wake_q=0))
    )
    np.testing.assert_allclose(flat(one), flat(other), atol=1e-6)


@pytest.mark.parametrize("text", SMALL)
def test_vimco_is_unbiased_for_the_bound_of_two_samples(text, key):
    machine = machine_of(text)
    drawn = estimates(VIMCO(samples=2), machine, key, REPETITIONS)
    assert_both(drawn, multi_sample_gradients(machine, X, 2))


@pytest.mark.parametrize(
    "estimator",
    [VIMCO(samples=3), VIMCO(samples=3, baseline="arithmetic"), OVIS(samples=3, gamma=0)],
)
def test_more_than_two_samples_are_unbiased_too(estimator, key):
    machine = machine_of("sbn/sbn 3")
    drawn = estimates(estimator, machine, key, 4 * REPETITIONS)
    assert_both(drawn, multi_sample_gradients(machine, X, 3))


@pytest.mark.parametrize(
    ("text", "gamma"), [("sbn/nade 2-3", 0), ("sbn/nade 2-3", 1), *((text, 0.3) for text in SMALL)]
)
def test_ovis_is_the_bound_s_gradient_and_gamma_times_wake_q(text, gamma, key):
    machine = machine_of(text)
    drawn = estimates(OVIS(samples=2, gamma=gamma), machine, key, REPETITIONS)
    assert_both(drawn, multi_sample_gradients(machine, X, 2, extra_wake_q=gamma))


def test_ovis_with_many_samples_climbs_log_p_and_for_gamma_1_wake_q(key):
    machine = machine_of("sbn/ar_sbn 2-3")
    drawn = estimates(OVIS(samples=3000), machine, key, 30)
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    assert_both(drawn, exact, slack=5e-3)


def test_one_partition_of_tvo_is_rloo(key):
    machine = machine_of("nade/ar_sbn 2-3")
    one, other = (
        estimator.step(machine, (), BATCH, key).gradients
        for estimator in (TVO(partitions=1, samples=4), RLOO(samples=4))
    )
    np.testing.assert_allclose(flat(one), flat(other), atol=2e-5)


@pytest.mark.parametrize("text", SMALL)
def test_tvo_converges_to_the_gradient_of_its_riemann_sum(text, key):
    machine = machine_of(text)
    estimator = TVO(samples=3000, partitions=4, beta_min=0.1)
    drawn = estimates(estimator, machine, key, 30)
    assert_both(drawn, thermodynamic_gradients(machine, X, estimator.betas()), slack=5e-3)


def test_many_partitions_of_tvo_climb_log_p(key):
    machine = machine_of("sbn/sbn 2-3")
    exact = flat(exact_p_gradient(machine, X))
    away = []
    for partitions in (1, 8, 64):
        estimator = TVO(samples=3000, partitions=partitions, beta_min=0.02)
        p, _ = estimates(estimator, machine, key, 30)
        away.append(np.linalg.norm(p.mean(0) - exact) / np.linalg.norm(exact))
    assert away[0] > 2 * away[1] > 4 * away[2]
    # With steps of 6 % in β the sum is a few per cent low; the finest one is the integral.
    assert away[2] < 0.05
    fine = TVO(partitions=3000, beta_min=0.001).betas()
    integral = flat(thermodynamic_gradients(machine, X, fine)[0])
    assert np.linalg.norm(integral - exact) < 0.003 * np.linalg.norm(exact)


@pytest.mark.parametrize("text", SMALL)
def test_a_long_chain_of_jsa_climbs_at_the_posterior(text, key):
    # Where ω reaches a thousand times its mean, a chain stays there for as many steps.
    machine = small_machine(text, scale=0.3)
    drawn = estimates(JSA(samples=2000), machine, key, 30)
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    assert_both(drawn, exact, slack=5e-3)


def test_short_visits_of_jsa_remember_the_chain(key):
    """One Metropolis step a visit: without memory the samples would be q's."""
    machine = machine_of("sbn/sbn 2-3")
    state, *drawn = walk(JSA(samples=1), machine, key, 40_000)
    assert bool(state.visited.all())
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    for samples, gradient in zip(drawn, exact, strict=True):
        # Means of long stretches of the chain are as good as independent.
        assert_mean_is(samples.reshape(50, -1, samples.shape[-1]).mean(1), flat(gradient), 1e-3)


def test_a_first_visit_of_jsa_accepts_the_first_proposal(key):
    machine = machine_of("sbn/sbn 3")
    first = JSA(samples=1)
    state = first.init(machine, 10, key)
    rows = jnp.array([7, 2, 5])
    after = first.step(machine, state, BATCH._replace(x=X[:3], rows=rows), key).state
    assert np.flatnonzero(np.asarray(after.visited)).tolist() == [2, 5, 7]
    h = machine.draw(jax.random.split(key)[0], X[:3], 1).h[0][:, 0]
    np.testing.assert_array_equal(np.asarray(after.h[0])[[7, 2, 5]], np.asarray(h))
    assert after.h[0].dtype == jnp.uint8


@pytest.mark.parametrize("name", CASES)
def test_weights_thousands_of_nats_apart_leave_gradients_finite(name, key):
    estimator = CASES[name](4)
    machine = build("sbn/sbn 30-30", features=200, key=key)
    machine = eqx.tree_at(lambda m: m.p, machine, sharpen(machine, key, scale=20.0).p)
    x = jax.random.bernoulli(key, 0.5, (6, 200)).astype(jnp.float32)
    spread = np.ptp(np.asarray(machine.draw(key, x, 3).log_weights), axis=-1)
    assert spread.max() > 1000
    state = estimator.init(machine, 6, key)
    batch = BATCH._replace(x=x, rows=jnp.arange(6))
    for _ in range(2):
        gradients, state, info = estimator.step(machine, state, batch, key)
        assert np.isfinite(flat(gradients)).all()
        assert np.isfinite(flat(info)).all()
    # nvil's first step leaves q as it is.
    assert np.any(flat(gradients.q) != 0)


@pytest.mark.parametrize("name", CASES)
def test_a_machine_without_latents_climbs_log_p_itself(name, key):
    estimator = CASES[name](4)
    machine = sharpen(build("ar_sbn", features=4, key=key), key, scale=0.7)
    state = estimator.init(machine, len(X), key)
    gradients, _, info = estimator.step(machine, state, BATCH, key)
    np.testing.assert_allclose(-flat(gradients.p), flat(exact_p_gradient(machine, X)), atol=1e-5)
    exact = exact_log_likelihood(machine, X).mean()
    assert float(info.log_likelihood) == pytest.approx(exact, abs=1e-4)
