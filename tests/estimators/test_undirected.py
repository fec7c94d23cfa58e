"""Training under an undirected top: gradients against exact ones, and every door."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import FEATURES, small_machine
from tests.oracle import (
    all_bits,
    flat,
    undirected,
    weighted_p_gradient,
    weighted_q_gradient,
)
from tests.training.test_fit import same_bits
from wakesleep.cli import main
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.estimators import ESTIMATORS, Batch, Reweighted
from wakesleep.estimators.chains import Centre, TopState, centred
from wakesleep.evaluation import LogLikelihood
from wakesleep.layers import RBM
from wakesleep.training.events import EpochDone

X = all_bits(FEATURES)[1::5]


def gradients(estimator, machine, keys, states, x=X):
    """Flat gradients of p's layers below, of its RBM and of q, one row for each key and state.

    Of a plain RBM there is nothing else.
    """

    @eqx.filter_jit
    def one(key, state):
        return estimator.step(machine, state, Batch(x, jnp.arange(len(x))), key)[0]

    made = [one(key, state) for key, state in zip(keys, states, strict=True)]
    parts = (lambda g: g.p[:-1], lambda g: g.p[-1], lambda g: g.q)
    if not machine.latent_sizes:
        parts = (lambda g: g.p[-1],)
    return [np.stack([flat(part(g)) for g in made]) for part in parts]


def assert_mean_is(samples, exact, slack=0.0):
    error = samples.std(0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(0) - exact) < 4.5 * error + slack + 1e-5)


def no_centre(machine):
    """Units counted from 0, with which the centred gradient is the plain one."""
    rbm = machine.p[-1]
    return Centre(jnp.zeros(rbm.size), jnp.zeros(rbm.units))


def exact_states(machine, count, chains, centre=None):
    """Chains that have the RBM's distribution already, which a sweep leaves as it is."""
    exact, random = undirected.ExactRBM(machine.p[-1]), np.random.default_rng(0)
    drawn = [jnp.asarray(exact.draw(random, chains), jnp.float32) for _ in range(count)]
    return [TopState(each, centre or no_centre(machine)) for each in drawn]


def data_weights():
    """Of every state of the data's units, when the data are X."""
    return np.isin(np.arange(2**FEATURES), np.arange(2**FEATURES)[1::5]) / len(X)


@pytest.mark.parametrize(("samples", "combine"), [(4000, False), (400, True)])
def test_reweighted_under_an_rbm_converges_to_the_exact_gradients(samples, combine, key):
    machine = small_machine("dbn 2-3", scale=0.5)
    keys, states = jax.random.split(key, 20), exact_states(machine, 20, 500)
    estimator = Reweighted(samples=samples, sleep_q=0.0, combine=combine)
    below, top, q = gradients(estimator, machine, keys, states)
    posterior = undirected.posterior(machine, X) / len(X)
    stand_in = small_machine("sbn/sbn 3").p[1]
    layers = eqx.tree_at(lambda m: m.p, machine, (machine.p[0], stand_in))
    assert_mean_is(-below, flat(weighted_p_gradient(layers, X, posterior)[0]), slack=2e-3)
    rbm = undirected.ExactRBM(machine.p[-1])
    assert_mean_is(-top, rbm.gradient(posterior.sum(0)), slack=2e-3)
    assert_mean_is(-q, flat(weighted_q_gradient(machine, X, posterior)), slack=2e-3)


def test_sleep_under_an_rbm_dreams_below_the_chains(key):
    machine = small_machine("dbn 2-3", scale=0.5)
    keys, states = jax.random.split(key, 100), exact_states(machine, 100, 60)
    estimator = Reweighted(samples=1, wake_p=0, wake_q=0, dreams=20)
    below, top, q = gradients(estimator, machine, keys, states)
    assert np.all(below == 0)
    assert np.all(top == 0)
    assert_mean_is(-q, flat(undirected.sleep_q_gradient(machine)))


@pytest.mark.parametrize("chains", [0, 300])
def test_many_sweeps_of_either_contrastive_divergence_give_the_exact_gradient(chains, key):
    """From the data, or from random bits and on from step to step."""
    machine = small_machine("rbm 3")
    estimator = Reweighted(samples=1, chains=chains, sweeps=20)
    state = estimator.init(machine, 8, key)
    assert np.shape(state.chains) == ((chains, FEATURES) if chains else (0,))

    @eqx.filter_jit
    def step(state, key):
        state = state._replace(centre=no_centre(machine))
        found = estimator.step(machine, state, Batch(X, jnp.arange(len(X))), key)
        return found.state, found.gradients.p[-1]

    found = []
    for step_key in jax.random.split(key, 300):
        state, gradient = step(state, step_key)
        found.append(flat(gradient))
    exact = undirected.ExactRBM(machine.p[-1])
    assert_mean_is(-np.stack(found[1:]), exact.gradient(data_weights()))


def test_the_gradient_is_that_of_the_centred_parameters(key):
    machine = small_machine("rbm 3")
    v, u = np.linspace(0.1, 0.8, FEATURES), np.linspace(0.3, 0.7, 3)
    states = exact_states(machine, 20, 2000, Centre(jnp.asarray(v), jnp.asarray(u)))
    (top,) = gradients(Reweighted(samples=1), machine, jax.random.split(key, 20), states)
    exact = undirected.ExactRBM(machine.p[-1])
    step = exact.centred_step(data_weights(), v, u)
    assert_mean_is(-top, step)
    assert np.abs(step - exact.gradient(data_weights())).max() > 0.05


def test_centring_is_a_symmetric_and_positive_matrix():
    """So the way up has no end but where the plain gradient is zero."""
    random, shape = np.random.default_rng(0), RBM(jnp.zeros((3, 4)), jnp.zeros(4), jnp.zeros(3))
    centre = Centre(*(jnp.asarray(random.uniform(size=n), jnp.float32) for n in (4, 3)))
    leaves, restore = jax.flatten_util.ravel_pytree(shape)
    columns = [flat(centred(restore(unit), centre)) for unit in jnp.eye(len(leaves))]
    np.testing.assert_allclose(columns, np.transpose(columns), atol=1e-6)
    assert np.linalg.eigvalsh(columns).min() > 0.01


def test_the_centre_goes_to_the_means_of_the_data(key):
    machine = small_machine("rbm 3")
    estimator = Reweighted(samples=1, chains=2)
    state, batch = estimator.init(machine, 8, key), Batch(X, jnp.arange(len(X)))
    step = eqx.filter_jit(lambda state: estimator.step(machine, state, batch, key).state)
    for _ in range(1000):
        state = step(state)
    exact = undirected.ExactRBM(machine.p[-1]).statistics(data_weights())
    np.testing.assert_allclose(state.centre.v, exact["b"], atol=1e-4)
    np.testing.assert_allclose(state.centre.u, exact["c"], atol=1e-4)


def test_one_sweep_from_the_data_is_not_the_exact_gradient(key):
    """The bias that chains that last are there to avoid."""
    machine = small_machine("rbm 3")
    keys, x = jax.random.split(key, 50), jnp.tile(X, (400, 1))
    (top,) = gradients(
        Reweighted(samples=1, chains=0), machine, keys, exact_states(machine, 50, 0), x
    )
    exact = undirected.ExactRBM(machine.p[-1]).gradient(data_weights())
    error = top.std(0, ddof=1) / np.sqrt(50)
    assert np.abs((-top.mean(0) - exact) / error).max() > 10


@pytest.mark.parametrize("text", ["rbm 3", "dbn 2-3"])
def test_log_likelihoods_are_exact_or_within_their_interval(text, key, tmp_path):
    machine, x = small_machine(text), np.asarray(all_bits(FEATURES))
    exact = undirected.log_likelihood(machine, x)
    assert np.exp(exact).sum() == pytest.approx(1)
    found = ws.log_likelihood(machine, x, method="exact")
    np.testing.assert_allclose(found.values, exact, atol=1e-5)
    if machine.latent_sizes:
        np.testing.assert_allclose(found.bounds, undirected.bound(machine, x), atol=1e-5)
    sampled = ws.log_likelihood(machine, x, samples=500, key=key)
    assert abs(sampled.mean - exact.mean()) < 1.5 * sampled.monte_carlo_error + 1e-5
    sampled.save(tmp_path / "scores.npz")
    again = LogLikelihood.load(tmp_path / "scores.npz")
    assert again.normaliser == sampled.normaliser
    assert again.to_dict() == sampled.to_dict()
    assert again.to_dict()["log_normaliser"]["exact"]


def test_the_error_of_log_z_widens_every_interval_by_itself():
    machine, x = small_machine("rbm 3"), np.asarray(all_bits(FEATURES))
    plain = ws.log_likelihood(machine, x, method="exact")
    sides = ws.Normaliser(1.0, 1.4, 0.05, 0.1, exact=False)
    wide = plain.normalised(sides)
    assert sides.half_width == pytest.approx(0.2 + 1.96 * 0.1)
    assert wide.mean == pytest.approx(plain.mean - 1.2)
    assert wide.confidence == pytest.approx(plain.confidence + sides.half_width)
    assert wide.take([0, 1]).monte_carlo_error == pytest.approx(sides.half_width)


@pytest.fixture(scope="module")
def digits():
    return ws.load_dataset("digits")


@pytest.mark.parametrize("text", ["rbm 12", "dbn 12-20"])
def test_digits_are_learnt_and_a_resumed_run_repeats_the_whole_one(text, digits):
    recipe, seen = ws.Recipe(epochs=6, batch_size=50, learning_rate=0.03), []
    whole = ws.fit(text, digits, recipe, seed=1, observers=[seen.append])
    scores = [record.valid_ll for record in whole.history]
    assert scores[-1] > scores[0] + 1
    assert abs(whole.history[-1].train_ll - scores[-1]) < 3
    chains = whole.snapshot.arrays.state.estimator.chains
    assert chains.shape == (100, 64 if text == "rbm 12" else 20)
    middle = [event for event in seen if isinstance(event, EpochDone)][2]
    again = ws.fit(text, digits, recipe, seed=1, resume=middle.snapshot)
    assert same_bits(again.snapshot.arrays, whole.snapshot.arrays)
    for chains in (0, 30):
        other = dataclasses.replace(recipe, estimator={"chains": chains})
        with pytest.raises(ws.UsageError, match="remembers arrays of other shapes"):
            ws.fit(text, digits, other, seed=1, resume=middle.snapshot)


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if n not in ("reweighted", "remembering")])
def test_an_estimator_without_a_negative_phase_refuses_an_rbm(name, digits):
    with pytest.raises(ws.UsageError, match="no negative phase for an RBM"):
        ws.fit("dbn 2-3", digits, ws.Recipe(estimator={"name": name}))


def test_chains_that_shares_cannot_divide_are_refused(digits):
    recipe = ws.Recipe(epochs=1, shares=2, estimator={"chains": 7})
    with pytest.raises(ws.UsageError, match="7 chains cannot be cut into 2 equal shares"):
        ws.fit("rbm 3", digits, recipe)


def test_features_of_a_plain_rbm_are_its_hidden_units_probabilities(digits):
    from wakesleep.sklearn import HelmholtzMachineDensity

    x = digits.train[:300]
    density = HelmholtzMachineDensity("rbm 5", max_iter=2, features="latents", random_state=0)
    density.fit(x)
    rbm = density.model_.p[-1]
    exact = 1 / (1 + np.exp(-(x @ np.asarray(rbm.W, np.float64).T + np.asarray(rbm.c))))
    np.testing.assert_allclose(density.transform(x), exact, atol=1e-5)
    assert density.get_feature_names_out().shape == (5,)
    score = ws.log_likelihood(density.model_, x[:20], method="exact")
    np.testing.assert_allclose(density.score_samples(x[:20]), score.values, atol=1e-4)


def test_pretraining_starts_every_layer_as_a_side_of_an_rbm(digits):
    recipe = ws.Recipe(epochs=1, pretrain=3, batch_size=50, learning_rate=0.03)
    plain = ws.initial_model("dbn 6-12", digits, ws.Recipe(), seed=1)
    started = ws.initial_model("dbn 6-12", digits, recipe, seed=1)
    np.testing.assert_array_equal(started.p[0].W, started.q[0].W.T)
    scores = [ws.log_likelihood(m, digits.valid, method="exact").mean for m in (plain, started)]
    assert scores[1] > scores[0] + 1
    with pytest.raises(ws.UsageError, match="pretrain is for deep belief networks"):
        ws.fit("sbn/sbn 5", digits, recipe)


def test_missing_cells_are_trained_on_where_a_layer_lies_below(key):
    bits = jax.random.bernoulli(key, 0.5, (2, 40, FEATURES))
    observed = np.asarray(bits[0]) | (np.arange(FEATURES) == 0)
    packed = PackedBits.pack(np.asarray(bits[1]) & observed)
    rows = MaskedBits(packed, PackedBits.pack(observed), (1,) * FEATURES)
    data = Dataset("rows", rows, rows.take([]), rows.take([]), "bits")
    recipe = ws.Recipe(epochs=1, batch_size=20, estimator={"samples": 2, "chains": 0})
    fitted = ws.fit("dbn 2-3", data, recipe)
    assert fitted.model.sees_mask
    assert np.isfinite(fitted.history[-1].train_ll)


def test_the_command_line_trains_it_and_prints_both_sides_of_log_z(digits, tmp_path, capsys):
    run = str(tmp_path / "run")
    words = ["train", "digits", "--model", "rbm 8", "--epochs", "1", "--samples", "1", "--json"]
    assert main([*words, "--no-diagnostics", "--out", run]) == 0
    assert main(["evaluate", run, "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "log Z from below" in printed
    assert "log Z from above" in printed
    kept = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    exact = ws.log_likelihood(ws.load_run(run).model, digits.test, method="exact")
    assert kept["log_normaliser"]["exact"]
    assert kept["mean"] == pytest.approx(exact.mean, abs=1e-4)
