"""EoNADE against an oracle that goes one probability at a time, and through every door."""

import itertools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.estimators.sampling import assert_mean_is
from tests.oracle import eonade as oracle
from tests.oracle import flat, sharpen
from wakesleep.cli import main
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.estimators import Batch, OrderAgnostic
from wakesleep.estimators.order_agnostic import masked_log_prob
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import Masked

GROUPS = (3, 1, 2, 1)
ROWS = oracle.all_rows(GROUPS)


def made(text="eonade(hidden=5, layers=2, orderings=4)", groups=GROUPS):
    key = jax.random.key(3)
    return sharpen(ws.build(text, features=sum(groups), key=key, groups=groups), key, scale=1.0)


def masked(rows, observed):
    """Rows of which only some groups are there."""
    shown = np.broadcast_to(np.asarray(observed, np.float32), (len(rows), len(GROUPS)))
    return Masked(
        jnp.asarray(rows * np.repeat(shown, GROUPS, axis=1), jnp.float32), jnp.asarray(shown)
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_every_ordering_is_a_distribution_and_the_oracle_s(layers):
    model = made(f"eonade(hidden=5, layers={layers}, orderings=3)")
    orders = model.spec.orders(len(GROUPS))
    values = np.asarray(model.log_prob(jnp.asarray(ROWS, jnp.float32), jnp.asarray(orders)))
    np.testing.assert_allclose(np.exp(values).sum(0), 1, rtol=1e-5)
    for row, order in itertools.product((0, 7, 19), range(3)):
        exact = oracle.log_prob(model, ROWS[row], list(orders[order]))
        assert values[row, order] == pytest.approx(exact, abs=1e-4)


def test_all_orderings_together_are_their_mean_and_the_likelihood_is_exact():
    """Four groups have 24 orderings; so many are enough to have a few of them twice."""
    model = made("eonade(hidden=5, orderings=24)")
    every = jnp.asarray(list(itertools.permutations(range(4))))
    values = np.asarray(model.log_prob(jnp.asarray(ROWS, jnp.float32), every), np.float64)
    exact = [
        np.logaddexp.reduce([oracle.log_prob(model, ROWS[5], list(o)) for o in every.tolist()])
    ]
    assert np.logaddexp.reduce(values[5]) == pytest.approx(exact[0], abs=1e-4)
    own = model.log_prob(jnp.asarray(ROWS, jnp.float32), jnp.asarray(model.spec.orders(4)))
    whole = np.logaddexp.reduce(np.asarray(own, np.float64), axis=1) - np.log(24)
    score = ws.log_likelihood(model, ROWS.astype(np.uint8), samples=3, key=jax.random.key(9))
    np.testing.assert_allclose(score.values, whole, atol=1e-5)
    assert score.method == "exact"
    assert np.exp(score.values).sum() == pytest.approx(1, abs=1e-5)
    bits = PackedBits.pack(ROWS.astype(np.uint8))
    inferred = infer_rows(model, bits, 5, jax.random.key(1))
    np.testing.assert_allclose(inferred.log_likelihood, whole, atol=1e-5)


def test_missing_cells_are_summed_over_exactly(key):
    """With the observed groups first, the others add nothing: p sums to one over the observed."""
    model, observed = made(), (1, 0, 1, 0)
    x = masked(ROWS, observed)
    values = np.asarray(model.draw(key, x, 4).log_p)
    _, chosen = np.unique(np.asarray(x.x), axis=0, return_index=True)
    np.testing.assert_allclose(np.exp(values[chosen]).sum(0), 1, rtol=1e-5)
    orders = [[g for g in order if observed[g]] for order in model.spec.orders(4).tolist()]
    exact = [oracle.log_prob(model, ROWS[11], order) for order in orders]
    np.testing.assert_allclose(np.sort(values[11]), np.sort(exact), atol=1e-4)


def test_imputed_probabilities_and_draws_are_the_conditionals(key):
    model = made("eonade(hidden=5, layers=2, orderings=3)")
    row, missing = ROWS[13], np.repeat([False, True, True, False], GROUPS)
    hidden = np.where(missing, np.nan, row)[None]
    imputed = ws.impute(model, hidden, samples=4000, draws=4000, key=key)
    for group, units in ((1, slice(3, 4)), (2, slice(4, 6))):
        chances = oracle.group_probabilities(model, row, [0, 3], group)
        shown = imputed.probabilities[0, units]
        np.testing.assert_allclose(shown, chances[1:] if group == 1 else chances, atol=1e-5)
    # Of the three orderings, each with the observed groups first, the joint conditional is a mean.
    states = [
        np.concatenate([row[:3], *pair, row[6:]])
        for pair in itertools.product(oracle.levels(1), oracle.levels(2))
    ]
    orders = [sorted(order, key=lambda g: g in (1, 2)) for order in model.spec.orders(4).tolist()]
    known = [oracle.log_prob(model, row, order[:2]) for order in orders]
    chances = np.mean(
        [
            [np.exp(oracle.log_prob(model, state, order) - past) for state in states]
            for order, past in zip(orders, known, strict=True)
        ],
        axis=0,
    )
    found = (imputed.draws[0][:, None] == np.array(states)[None]).all(-1)
    assert found.sum(1).tolist() == [1] * 4000
    error = np.sqrt(chances * (1 - chances) / 4000)
    assert np.all(np.abs(found.mean(0) - chances) < 4.5 * error)
    assert imputed.log_likelihood[0] == pytest.approx(
        np.logaddexp.reduce(known) - np.log(3), abs=1e-4
    )
    assert not imputed.unreliable.any()


def test_dreams_have_the_model_s_frequencies(key):
    model = made()
    x = ws.sample(model, 20_000, key=key)
    chances = np.exp(ws.log_likelihood(model, ROWS.astype(np.uint8), method="exact").values)
    found = (x[:, None] == ROWS[None]).all(-1).mean(0)
    assert np.all(np.abs(found - chances) < 4.5 * np.sqrt(chances * (1 - chances) / 20_000) + 1e-6)


@pytest.mark.parametrize("observed", [(1, 1, 1, 1), (1, 0, 1, 1)])
def test_masked_prediction_is_unbiased_for_the_mean_over_all_orderings(observed, key):
    model = made()
    x = masked(ROWS[[2, 9, 17]], observed)
    here = [g for g in range(4) if observed[g]]
    every = jnp.asarray(
        [
            (*order, *(g for g in range(4) if g not in here))
            for order in itertools.permutations(here)
        ]
    )

    def objective(model):
        return model.log_prob_observed(x, every).mean()

    exact = eqx.filter_grad(objective)(model)
    values = masked_log_prob(model, key, x, 4000)
    assert_mean_is(np.asarray(values).T, np.asarray(model.log_prob_observed(x, every).mean(1)))
    batch, estimator = Batch(x, jnp.arange(3)), OrderAgnostic(samples=4)
    steps = jax.jit(
        lambda keys: jax.lax.map(lambda k: estimator.step(model, (), batch, k).gradients, keys)
    )(jax.random.split(key, 1500))
    drawn = -np.stack([flat(jax.tree.map(lambda leaf, i=i: leaf[i], steps)) for i in range(1500)])
    assert_mean_is(drawn, flat(exact))


def test_it_is_stored_and_read_back(tmp_path):
    model = made()
    ws.save_model(model, tmp_path / "model.safetensors")
    again = ws.load_model(tmp_path / "model.safetensors")
    assert ws.describe(again) == "eonade(hidden=5, layers=2, orderings=4)"
    assert again.groups == GROUPS
    np.testing.assert_array_equal(flat(again), flat(model))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eonade(width=3)", "an eonade has no option 'width'; valid: hidden, layers, orderings"),
        ("eonade(orderings=0)", "orderings must be 1 or more, not 0"),
        ("eonade/sbn 3", "unknown layer kind 'eonade'"),
    ],
)
def test_a_bad_option_gets_one_sentence(text, message, key):
    with pytest.raises(ws.UsageError, match=message):
        ws.build(text, features=4, key=key)


def test_a_group_that_is_missing_in_part_is_refused(key):
    missing = np.zeros((1, 7), bool)
    missing[0, 0] = True
    with pytest.raises(ws.DataError, match="missing in part"):
        ws.impute(made(), ROWS[:1], missing, key=key)


def test_a_table_with_gaps_goes_in_and_comes_out(tmp_path, capsys):
    """Train, impute, sample and score from the shell: categories, numbers, missing cells."""
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue"], 120)
    size = np.where(colour == "red", 1.0, 5.0) + random.normal(0, 0.3, 120)
    lines = [f"{c},{s:.2f},{'yes' if s > 3 else 'no'}" for c, s in zip(colour, size, strict=True)]
    lines[3::10] = [f",{line.split(',', 1)[1]}" for line in lines[3::10]]
    (tmp_path / "t.csv").write_text("\n".join(["colour,size,large", *lines]) + "\n")
    run = str(tmp_path / "run")
    words = ["train", str(tmp_path / "t.csv"), "--model", "eonade(hidden=20, orderings=4)"]
    words += ["--estimator.name", "order_agnostic", "--epochs", "30", "--batch-size", "20"]
    assert main([*words, "--out", run, "--json"]) == 0
    (tmp_path / "new.csv").write_text("colour,size,large\nred,,\n,5.1,yes\n")
    imputed = tmp_path / "imputed.csv"
    assert main(["impute", run, str(tmp_path / "new.csv"), "--out", str(imputed), "--json"]) == 0
    first, second = imputed.read_text().splitlines()[1:]
    assert first.split(",")[2] == "no"
    assert float(first.split(",")[1]) < 3
    assert second.split(",")[0] in ("green", "blue")
    assert main(["sample", run, "--count", "5", "--out", str(tmp_path / "s.csv")]) == 0
    scores = tmp_path / "scores.csv"
    assert main(["score", run, str(tmp_path / "new.csv"), "--out", str(scores), "--json"]) == 0
    assert np.isfinite(json.loads(capsys.readouterr().out.splitlines()[-1])["mean_log_likelihood"])


def test_masked_rows_are_evaluated_exactly(key):
    model = made()
    observed = np.ones((len(ROWS), 4), bool)
    observed[:, 1] = False
    bits = ROWS * np.repeat(observed, GROUPS, axis=1)
    rows = MaskedBits(PackedBits.pack(bits), PackedBits.pack(observed), GROUPS)
    score = ws.log_likelihood(model, rows, samples=2, key=key)
    assert score.method == "exact"
    chosen = ROWS[:, 3] == 0
    assert np.exp(score.values[chosen]).sum() == pytest.approx(1, abs=1e-5)
