"""The automatic default: the rule, and what is done with it in memory."""

import dataclasses

import jax
import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from wakesleep.data import Dataset, MaskedBits, PackedBits, load_dataset
from wakesleep.data.held_out import held_out_count, hold_out
from wakesleep.errors import DataError, UsageError
from wakesleep.models import HelmholtzMachine
from wakesleep.training.automatic import LEAST_UPDATES, MOST_UPDATES, automatic_candidates
from wakesleep.training.automatic_fit import Trained, choose
from wakesleep.training.events import Chosen, EpochDone, Tried

TINY = 0.02
"""Minutes: one candidate, trained for as little as any."""


@pytest.fixture(scope="module")
def bars():
    return load_dataset("bars", size=3, train=100, valid=40, test=40)


def empty_table(rows, features, valid=100):
    """Rows without content: the rule looks at their number alone."""
    split = [PackedBits.pack(np.zeros((count, features), np.uint8)) for count in (rows, valid, 0)]
    return Dataset("rows", *split, "already binary")


@pytest.mark.parametrize(
    ("rows", "features", "models"),
    [
        (118, 20, ["nade(hidden=100)", "nade/nade 10"]),
        (1500, 39, ["nade(hidden=200)", "nade/nade 50"]),
        (1500, 40, ["nade(hidden=200)", "darn/darn 50"]),
        (500, 180, ["nade(hidden=100)", "darn/darn 10"]),
        (1500, 2000, ["nade(hidden=200)"]),
        (16_000, 16, ["nade(hidden=200)", "nade/nade 50"]),
        (50_000, 784, ["nade(hidden=200)", "darn/darn 50"]),
        (50_000, 4000, ["nade(hidden=200)"]),
    ],
)
def test_the_rule_s_table_of_choices(rows, features, models):
    candidates = automatic_candidates(empty_table(rows, features, valid=rows // 10))
    assert [each.model for each in candidates] == models
    assert len({each.name for each in candidates}) == len(candidates)
    for each in candidates:
        assert LEAST_UPDATES <= each.updates <= MOST_UPDATES
        if rows == 118:
            assert each.updates == 3000


def test_a_larger_budget_gives_no_fewer_updates_and_few_rows_no_less_decay():
    few, many = empty_table(100, 784), empty_table(50_000, 784)
    short, long = (automatic_candidates(many, minutes)[0] for minutes in (1, 10))
    assert short.updates < long.updates
    assert automatic_candidates(few)[0].recipe.weight_decay > short.recipe.weight_decay


def story(scores, epochs, size=6, minutes=2):
    """What is tried where candidates have these scores and stop after so many epochs."""
    seen = []

    def train(candidate):
        seen.append(candidate)
        done = min(epochs, candidate.recipe.epochs)
        return Trained(scores.get(candidate.name, -12.0), done, lambda: model)

    # With more distinct rows than are counted.
    data = load_dataset("bars", size=size, train=2000, valid=300, test=0)
    model = ws.build("sbn", data.features, key=jax.random.key(0))
    choice = choose(data, minutes, 0, train, lambda event: None)
    assert [one.candidate for one in choice.tried] == seen
    return choice.best.name, seen


def test_more_decay_is_tried_where_training_stops_early_and_goes_on_while_it_helps():
    best, seen = story({"nade": -11.0, "more-decay-1": -10.0, "more-decay-2": -10.5}, epochs=5)
    assert best == "more-decay-1"
    assert [(each.name, each.recipe.weight_decay) for each in seen[:4]] == [
        ("nade", 0.05),
        ("more-decay-1", 0.2),
        ("more-decay-2", 0.8),
        ("latents", 0.2),
    ]
    best, seen = story({"nade": -11.0}, epochs=10_000)
    assert [each.name for each in seen[:2]] == ["nade", "latents"]


def test_a_latent_model_of_many_columns_is_sparse_and_gets_sparser_while_it_helps():
    scores = {"nade": -9.0, "latents": -11.0, "sparser-1": -10.0, "sparser-2": -10.5}
    sparse = [each for each in story(scores, epochs=5, size=7)[1] if "darn" in each.model][:3]
    assert [each.name for each in sparse] == ["latents", "sparser-1", "sparser-2"]
    sparsities, rates = np.array(
        [(each.recipe.sparsity, each.recipe.learning_rate) for each in sparse]
    ).T
    np.testing.assert_allclose(
        sparsities, 0.25 * (100 / 2000) ** 0.5 * 3 ** np.arange(3), rtol=0.01
    )
    np.testing.assert_allclose(rates, 0.01 / 3 ** np.arange(3))
    # The weight decay of the others is none of its.
    assert {each.recipe.weight_decay for each in sparse} == {0.0}


def test_further_trainings_take_other_orders_of_columns_but_those_that_lose():
    def tried(scores):
        seen = story({"nade": -10.0} | scores, epochs=10_000)[1][2:]
        return [(each.name, each.model) for each in seen]

    one, back = "nade(hidden=200)", "nade(hidden=200, order=-1)"
    shuffled = [(f"order-{number}", f"nade(hidden=200, order={number})") for number in (2, 3, 4)]
    good = {"backwards-1": -10.05} | {name: -10.05 for name, _ in shuffled}
    assert tried(good) == [("backwards-1", back), *shuffled]
    a_sequence = tried(good | {"order-2": -11.0})
    turns = [("again-3", one), ("backwards-4", back)]
    assert a_sequence == [("backwards-1", back), shuffled[0], *turns]
    neither = tried(good | {"backwards-1": -11.0, "order-2": -11.0})
    assert neither[2:] == [("again-3", one), ("again-4", one)]


def test_a_larger_budget_has_more_further_trainings():
    def further(minutes):
        seen = story({"nade": -10.0}, epochs=5, minutes=minutes)[1]
        return sum(each.seed > 0 for each in seen)

    assert [further(minutes) for minutes in (2, 5, 60)] == [4, 10, 24]


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_budget_is_a_number_above_0(minutes):
    with pytest.raises(UsageError, match="minutes"):
        automatic_candidates(empty_table(10, 3), minutes)


def test_fit_of_data_alone_is_auto_and_gives_the_same_bits(bars):
    seen = []
    first = ws.fit(bars, minutes=TINY, seed=3, observers=[seen.append])
    second = ws.fit("auto", bars, minutes=TINY, seed=3)
    pairs = zip(jax.tree.leaves(first.model), jax.tree.leaves(second.model), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    tried = [event for event in seen if isinstance(event, Tried)]
    (chosen,) = (event for event in seen if isinstance(event, Chosen))
    # Forty validation rows leave nothing out.
    assert chosen.components == len(tried)
    assert chosen.valid_ll > max(event.valid_ll for event in tried) - 0.3
    # Bars of 3 x 3: log 2^4 and more, where independent columns need 9 bits of about log 2 each.
    assert chosen.independent < -5.5 < -5 < chosen.valid_ll < -2.5


def test_rows_are_held_out_where_there_is_no_validation_set(bars):
    alone = dataclasses.replace(bars, valid=bars.valid.take([]))
    held = hold_out(alone)
    assert len(held.valid) == held_out_count(100) == 25
    assert len(held.train) == 75
    together = np.concatenate([held.train[:], held.valid[:]])
    assert sorted(map(tuple, together)) == sorted(map(tuple, bars.train[:]))
    seen = []
    ws.fit(alone, minutes=TINY, observers=[seen.append])
    assert all(e.record.valid_ll is not None for e in seen if isinstance(e, EpochDone))
    with pytest.raises(DataError, match="held out"):
        hold_out(dataclasses.replace(alone, train=alone.train.take([0])))


def test_groups_and_missing_cells_are_taken(bars):
    rng = np.random.default_rng(0)
    bits = np.eye(3, dtype=np.uint8)[rng.integers(0, 3, 60)]
    bits = np.concatenate([bits, bits[:, :1]], axis=1)
    observed = (rng.random((60, 2)) < 0.8).astype(np.uint8)
    bits = bits * np.repeat(observed, (3, 1), axis=1)
    rows = MaskedBits.pack(bits, observed, (3, 1))
    data = Dataset("gaps", rows.take(range(40)), rows.take(range(40, 60)), rows.take([]), "bits")
    model = ws.fit(data, minutes=TINY).model
    assert isinstance(model, HelmholtzMachine | ws.Mixture)
    assert model.groups == (3, 1)


def test_a_frame_or_a_file_is_a_data_set(tmp_path):
    frame = pd.DataFrame({"answer": ["yes", "no"] * 30, "colour": ["red", "green", "blue"] * 20})
    frame.to_csv(tmp_path / "survey.csv", index=False)
    recipe = ws.Recipe(epochs=1, batch_size=20)
    known = ws.fit("sbn/sbn 2", ws.load_dataset(frame), recipe).history[-1].valid_ll
    for table in (frame, tmp_path / "survey.csv", str(tmp_path / "survey.csv")):
        assert ws.fit("sbn/sbn 2", table, recipe).history[-1].valid_ll == known
    assert ws.fit(frame, minutes=TINY).table_model.schema.names == ("answer", "colour")
    wrong = frame.assign(answer=[*range(59), "x"])
    with pytest.raises(UsageError, match=r"use columns=\{'answer': 'categorical'\}"):
        ws.load_dataset(wrong, split=None)


def test_what_does_not_go_together_is_refused(bars):
    with pytest.raises(UsageError, match="recipe goes with a model of your own"):
        ws.fit("auto", bars, ws.Recipe())
    with pytest.raises(UsageError, match="minutes goes with"):
        ws.fit("sbn/sbn 2", bars, minutes=1)
    with pytest.raises(UsageError, match="fit needs a data set"):
        ws.fit("auto")
    with pytest.raises(UsageError, match="after the model"):
        ws.fit(bars, bars)
    with pytest.raises(UsageError, match="arrays"):
        ws.fit(ws.array_dataset(np.zeros((5, 2)), np.zeros((5, 2))))
