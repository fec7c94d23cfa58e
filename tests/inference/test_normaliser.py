"""log Z by annealing, from both sides, and Gibbs imputation, against sums over every state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import small_machine
from tests.oracle import undirected
from wakesleep.inference import normaliser
from wakesleep.inference.annealing import anneal_down, anneal_up, base_logits
from wakesleep.inference.normaliser import exact_log_normaliser

RUNS = 4000


@pytest.fixture(scope="module")
def rbm():
    return small_machine("rbm 3", scale=1.5).p[-1]


@pytest.fixture(scope="module")
def exact(rbm):
    return undirected.ExactRBM(rbm)


@pytest.mark.parametrize("text", ["rbm 3", "rbm 6"])
def test_z_is_summed_over_the_side_with_fewer_units(text):
    top = small_machine(text).p[-1]
    assert exact_log_normaliser(top) == pytest.approx(undirected.ExactRBM(top).log_z, abs=1e-5)


def test_both_ways_of_annealing_are_unbiased_and_their_logarithms_bracket(rbm, exact, key):
    """Few temperatures, so that weights differ; E[Ẑ] = Z up, E[1/Ẑ] = 1/Z down."""
    a = base_logits(rbm, key, 50)
    up = anneal_up(rbm, jax.random.fold_in(key, 1), a, RUNS, 4)
    start = exact.draw(np.random.default_rng(0), RUNS)
    down = anneal_down(rbm, jax.random.fold_in(key, 2), a, jnp.asarray(start, jnp.float32), 4)
    base = np.logaddexp(0, np.asarray(a, np.float64)).sum() + 3 * np.log(2)
    for found, sign in ((up, 1), (down, -1)):
        log_weights = np.asarray(found.log_weights, np.float64)
        ratios = np.exp(log_weights + sign * (base - exact.log_z))
        error = ratios.std(ddof=1) / np.sqrt(RUNS)
        assert 1e-4 < error < 0.05, "weights that do not vary prove nothing"
        assert abs(ratios.mean() - 1) < 4.5 * error
        assert found.standard_error == pytest.approx(error / ratios.mean(), rel=0.01)
        assert found.log_normaliser == pytest.approx(
            exact.log_z + sign * np.log(ratios.mean()), abs=1e-4
        )
        # One run's logarithm is off to one side on average: the two sides bracket log Z.
        single = base + sign * log_weights
        assert sign * (single.mean() - exact.log_z) < -3 * single.std(ddof=1) / np.sqrt(RUNS)


def test_log_normaliser_is_exact_where_it_can_be_and_else_has_two_sides(
    rbm, exact, key, monkeypatch
):
    found = ws.log_normaliser(rbm, key=key)
    assert found.exact
    assert found.lower == found.upper == pytest.approx(exact.log_z, abs=1e-5)
    assert found.half_width == 0
    monkeypatch.setattr(normaliser, "MOST_BITS", 2)
    found = ws.log_normaliser(rbm, key=key, runs=200, temperatures=20)
    assert not found.exact
    for side, error in ((found.lower, found.lower_error), (found.upper, found.upper_error)):
        assert 0 < error < 0.1
        assert abs(side - exact.log_z) < 4.5 * error
    assert abs(found.value - exact.log_z) < 1.5 * found.half_width


def test_what_has_no_normaliser_or_too_much_of_it_gets_one_sentence(rbm, key):
    with pytest.raises(ws.UsageError, match="normalised already"):
        ws.log_normaliser(small_machine("sbn/sbn 3"), key=key)
    with pytest.raises(ws.UsageError, match="2 runs and 1 temperature or more, not 1 and 5"):
        ws.log_normaliser(rbm, key=key, runs=1, temperatures=5)
    large = ws.build("rbm 17", features=17, key=key)
    with pytest.raises(ws.UsageError, match="up to 16 units on one side, but this one has 17"):
        ws.log_likelihood(large, np.zeros((1, 17)), method="exact")


@pytest.mark.parametrize("text", ["rbm 3", "dbn 2-3"])
def test_missing_bits_have_their_exact_conditionals(text, key):
    machine = small_machine(text)
    x = np.array([[0, 1, np.nan, np.nan], [np.nan, 1, 1, 0], [1, 0, 0, 1]])
    imputed = ws.impute(machine, x, samples=2000, draws=2000, key=key)
    every = np.array(np.meshgrid(*[[0, 1]] * 4, indexing="ij")).reshape(4, -1).T
    p = np.exp(undirected.log_likelihood(machine, every))
    for row in range(2):
        seen = ~np.isnan(x[row])
        fits = (every[:, seen] == x[row, seen]).all(1)
        exact = p[fits] @ every[fits] / p[fits].sum()
        np.testing.assert_allclose(imputed.probabilities[row], exact, atol=0.03)
        np.testing.assert_allclose(imputed.draws[row].mean(0), exact, atol=0.06)
        if text == "dbn 2-3":
            assert imputed.log_likelihood[row] == pytest.approx(np.log(p[fits].sum()), abs=0.1)
    np.testing.assert_array_equal(imputed.draws[2, 0], x[2])


def test_temperatures_double_while_the_sides_are_apart(key, monkeypatch):
    taken = []

    def sides(rbm, key, start, runs, temperatures):
        taken.append(temperatures)
        return normaliser.Normaliser(0.0, 4000 / temperatures, 0.1, 0.1, exact=False)

    monkeypatch.setattr(normaliser, "_annealed", sides)
    rbm = ws.build("rbm 20", features=20, key=key)
    assert ws.log_normaliser(rbm, key=key).upper == 0.4
    assert taken == [5000, 10000]
    ws.log_normaliser(rbm, key=key, temperatures=50)
    assert taken == [5000, 10000, 50]


@pytest.mark.parametrize("text", ["rbm 3", "dbn 2-3"])
def test_runs_down_may_start_at_rows_of_data(text, key, monkeypatch):
    """Rows that lie far from where the model is: the chains still come to its distribution."""
    machine = small_machine(text, scale=1.5)
    exact = undirected.ExactRBM(machine.p[-1])
    monkeypatch.setattr(normaliser, "MOST_BITS", 1)
    rows = np.zeros((3, 4))
    found = ws.log_normaliser(machine, key=key, rows=rows, runs=400, temperatures=20)
    assert 0 < found.upper_error < 0.1
    assert abs(found.upper - exact.log_z) < 4.5 * found.upper_error
    monkeypatch.setattr(normaliser, "SWEEPS", 0)
    stuck = ws.log_normaliser(machine, key=key, rows=rows, runs=400, temperatures=20)
    assert stuck.lower == found.lower
    if text == "rbm 3":
        assert abs(stuck.upper - exact.log_z) > 4.5 * stuck.upper_error
    by_states = ws.log_normaliser(
        machine.p[-1], key=key, rows=np.zeros((2, machine.p[-1].size)), runs=50, temperatures=5
    )
    assert np.isfinite(by_states.upper)
