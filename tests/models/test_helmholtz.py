import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import FEATURES, SMALL, small_machine
from tests.oracle import all_bits, all_latents, exact_log_joint, exact_log_q
from wakesleep.architecture import build
from wakesleep.models import HelmholtzMachine, sample_bits


@pytest.fixture(params=SMALL)
def machine(request):
    return small_machine(request.param)


def test_p_sums_to_one_over_data_and_latents(machine):
    h = tuple(layer[None] for layer in all_latents(machine))
    log_joint = machine.log_joint(all_bits(FEATURES)[:, None], h)
    assert float(jnp.exp(log_joint).sum()) == pytest.approx(1, abs=1e-5)
    exact = exact_log_joint(machine, all_bits(FEATURES))
    np.testing.assert_allclose(log_joint, exact, rtol=2e-5)


def test_q_sums_to_one_for_every_x(machine):
    h = tuple(layer[None] for layer in all_latents(machine))
    log_q = machine.log_q(h, all_bits(FEATURES)[:, None])
    np.testing.assert_allclose(jnp.exp(log_q).sum(-1), 1, rtol=1e-5)
    exact = exact_log_q(machine, all_bits(FEATURES))
    np.testing.assert_allclose(log_q, exact, rtol=2e-5, atol=2e-6)


def assert_frequencies(frequency, exact, n):
    """Within 4.8 standard errors; a state that should not occur may, by chance, three times."""
    error = np.sqrt(exact * (1 - exact) / n)
    assert np.all(np.abs(frequency - exact) < 4.8 * error + 3 / n)


def frequencies(x, h):
    bits = np.concatenate([np.asarray(v) for v in (*h, x)], axis=-1)
    codes = bits.astype(int) @ (2 ** np.arange(bits.shape[-1])[::-1])
    return np.bincount(codes, minlength=2 ** bits.shape[-1]) / len(codes)


def test_dreams_have_the_joint_distribution(machine, key):
    n = 100_000
    x, h = jax.jit(lambda m: m.dream(key, n))(machine)
    # codes run over latents (all_latents' order) and then x
    exact = np.exp(exact_log_joint(machine, all_bits(FEATURES))).T.ravel()
    assert_frequencies(frequencies(x, h), exact, n)


def test_inferences_have_q_s_distribution(machine, key):
    n = 100_000
    x = jnp.asarray([[1.0, 0.0, 0.0, 1.0]])
    h = jax.jit(lambda m: m.sample_q(key, x, n))(machine)
    assert h[0].shape == (1, n, machine.latent_sizes[0])
    exact = np.exp(exact_log_q(machine, x)[0])
    frequency = frequencies(np.zeros((n, 0)), [layer[0] for layer in h])
    assert_frequencies(frequency, exact, n)


def test_terms_add_up_and_come_one_per_layer(machine, key):
    x = jax.random.bernoulli(key, 0.5, (6, FEATURES)).astype(jnp.float32)
    h, terms = machine.sample_q_with_terms(key, x, 3)
    assert len(terms) == len(machine.q)
    np.testing.assert_allclose(sum(terms), machine.log_q(h, x[:, None]), rtol=1e-5, atol=1e-5)
    p_terms = machine.log_joint_terms(x[:, None], h)
    assert len(p_terms) == len(machine.p)
    np.testing.assert_allclose(sum(p_terms), machine.log_joint(x[:, None], h), rtol=1e-6)


def test_layers_that_do_not_chain_are_refused(key):
    a = build("sbn/sbn 2-3", features=4, key=key)
    b = build("sbn/sbn 2-5", features=4, key=key)
    with pytest.raises(ValueError, match="chain"):
        HelmholtzMachine(a.p[:2] + b.p[2:], a.q[:1])
    with pytest.raises(ValueError, match="chain"):
        HelmholtzMachine(a.p, b.q)


def test_a_machine_without_latents_is_a_fully_visible_model(key):
    p = build("nade/sbn 4", features=9, key=key).p[1:]
    machine = HelmholtzMachine(p, ())
    total = jnp.exp(machine.log_joint(all_bits(4), ())).sum()
    assert float(total) == pytest.approx(1, abs=1e-5)
    assert machine.dream(key, 5)[0].shape == (5, 4)


def test_visible_mean_sets_the_odds_of_an_independent_start(key):
    machine = build("sbn/sbn 2", features=3, key=key)
    mean = jnp.asarray([0.1, 0.5, 0.9])
    started = machine.with_visible_mean(mean)
    np.testing.assert_allclose(jax.nn.sigmoid(started.p[0].b), mean, rtol=1e-5)


def test_sample_gives_bits_as_uint8(key):
    machine = small_machine("sbn/sbn 2")
    x = sample_bits(machine, 10, key=key)
    assert x.shape == (10, FEATURES)
    assert x.dtype == np.uint8
    assert set(np.unique(x)) <= {0, 1}
