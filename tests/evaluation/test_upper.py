"""log p(x) from above, against machines whose every state is listed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import FEATURES, small_machine
from tests.mixtures import LOG_P, MIXTURE, ROWS, SEEN, SIZES, small_mixture
from tests.oracle import (
    all_bits,
    exact_log_joint,
    exact_log_likelihood,
    exact_log_q,
    mixture_log_likelihood,
    observed_log_likelihood,
)
from wakesleep.data import MaskedBits
from wakesleep.evaluation import upper_log_likelihood
from wakesleep.evaluation.upper import chain_round

X = all_bits(FEATURES)
MANY = 4000


@pytest.mark.parametrize("text", ["sbn/sbn 2-3", "nade/nade 3"])
@pytest.mark.parametrize("samples", [2, 5])
def test_one_over_the_estimate_is_unbiased_where_the_kept_sample_is_the_posterior_s(text, samples):
    machine = small_machine(text, scale=1.5)
    rng = np.random.default_rng(0)
    for number in (0, 5, 11):
        x = X[number : number + 1]
        joint, log_q = exact_log_joint(machine, x)[0], exact_log_q(machine, x)[0]
        exact = np.logaddexp.reduce(joint)
        states = rng.choice(len(joint), MANY, p=np.exp(joint - exact))
        kept = jnp.asarray((joint - log_q)[states], jnp.float32)
        rows = jnp.tile(x, (MANY, 1))
        values, following = chain_round(machine, rows, kept, samples, jax.random.key(number))
        values = np.asarray(values, np.float64)
        inverse = np.exp(exact - values)
        error = inverse.std(ddof=1) / np.sqrt(MANY)
        assert abs(inverse.mean() - 1) < 4 * error + 1e-5
        assert values.mean() > exact - 4 * values.std(ddof=1) / np.sqrt(MANY)
        # Few samples of a q that is far from the posterior: clearly above.
        assert values.mean() > exact + 1e-3
        # The next sample is the posterior's again: its mean weight under it is known.
        expected = np.exp(joint - exact) @ (joint - log_q)
        found = np.asarray(following, np.float64)
        assert abs(found.mean() - expected) < 4 * found.std(ddof=1) / np.sqrt(MANY) + 1e-5


@pytest.mark.parametrize("text", ["sbn/sbn 2-3", "nade/sbn 3"])
def test_both_sides_bracket_the_exact_value_and_meet(text):
    machine = small_machine(text, scale=0.7)
    exact = exact_log_likelihood(machine, X).mean()
    # Rows of the same bits have the same randomness, so repetitions are by keys. With so few
    # samples of a q that was never trained a chain needs many rounds.
    few = [upper_log_likelihood(machine, X, 3, key=seed, rounds=100).mean for seed in range(20)]
    below = [ws.log_likelihood(machine, X, 3, key=seed).mean for seed in range(20)]
    assert np.mean(below) < exact < np.mean(few)
    upper = upper_log_likelihood(machine, X, 2000, key=0)
    assert upper.mean == pytest.approx(exact, abs=4 * upper.standard_error + 0.01)
    assert upper.chains.shape == (len(X), 2)
    assert upper.values.mean() == pytest.approx(upper.mean)


def test_the_stated_error_is_that_of_repetitions():
    machine = small_machine("sbn/sbn 2-3", scale=1.5)
    found = [upper_log_likelihood(machine, X, 20, key=seed) for seed in range(40)]
    spread = np.std([each.mean for each in found], ddof=1)
    assert spread == pytest.approx(np.mean([each.standard_error for each in found]), rel=0.4)


def test_mixtures_and_missing_cells():
    upper = upper_log_likelihood(MIXTURE, ROWS, 1000, key=0)
    assert np.abs(upper.values - LOG_P).max() < 0.1
    assert upper.mean == pytest.approx(LOG_P.mean(), abs=4 * upper.standard_error + 5e-3)
    mixture = small_mixture(masked=True)
    log_p = mixture_log_likelihood(mixture, ROWS, SIZES)
    table = MaskedBits.pack(ROWS * SEEN, np.tile([0, 1, 0], (len(ROWS), 1)), SIZES)
    exact = [observed_log_likelihood(log_p, ROWS, row, SEEN)[0] for row in ROWS]
    masked = upper_log_likelihood(mixture, table, 2000, key=1)
    assert np.abs(masked.values - exact).max() < 0.1


def test_a_model_without_latents_is_exact():
    machine = small_machine("nade")
    upper = upper_log_likelihood(machine, X, 2, key=0)
    np.testing.assert_allclose(upper.values, exact_log_likelihood(machine, X), atol=1e-5)
    assert upper.standard_error == 0


def test_what_cannot_be_asked_is_said():
    machine = small_machine("sbn/sbn 3")
    with pytest.raises(ws.UsageError, match="samples"):
        upper_log_likelihood(machine, X, 1, key=0)
    rbm = ws.build("rbm 3", FEATURES, key=jax.random.key(0))
    with pytest.raises(ws.UsageError, match="undirected"):
        upper_log_likelihood(rbm, X, key=0)
