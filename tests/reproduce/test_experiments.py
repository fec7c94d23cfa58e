import dataclasses

import pytest

from wakesleep.architecture import parse
from wakesleep.data import DATASETS
from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.reproduce.experiments import (
    FIGURES,
    Row,
    _experiment,
    experiment_names,
    load_experiment,
    slug,
)
from wakesleep.reproduce.quick import MOST_ROWS, quick

EXPERIMENTS = [load_experiment(name) for name in experiment_names()]


def test_everything_the_paper_shows_is_there():
    asked = "table1 table2-mnist table2-caltech table3 table3-screening eonade darn q-updates"
    figures = "fig1a fig1b fig2a samples learning-curves logp-bias debd records race"
    assert experiment_names() == f"{asked} {figures}".split()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_every_row_can_be_run(experiment):
    for row in experiment.rows:
        if experiment.kind in FIGURES:
            source = load_experiment(row.source[0]).row(row.source[1])
            assert source.models
        else:
            assert row.data in DATASETS
            if row.automatic:
                continue
            assert all(parse(model) for model in row.models)
            without_q = not getattr(parse(row.models[0]), "q", ())
            short = experiment.kind in ("curve", "arena")
            assert row.samples >= 10_000 or without_q or short
        assert row.minutes > 0


def test_no_two_rows_share_a_folder():
    places = [(row.experiment, row.slug) for each in EXPERIMENTS for row in each.rows]
    assert len(set(places)) == len(places)
    for row in (row for each in EXPERIMENTS for row in each.rows if row.models):
        assert len(row.candidates()) == len(row.models) * max(1, len(row.learning_rates))


def test_the_papers_numbers():
    table = {row.name: row.paper_nll for row in load_experiment("table1").rows}
    assert table["SBN/NADE 200-200-200"] == 88.9
    assert table["wake-sleep SBN 200"] == 116.3
    updates = [row.paper_nll for row in load_experiment("q-updates").rows]
    assert updates == [93.4, 92.8, 91.9, 171.4]
    uci = [row.paper_nll for row in load_experiment("table3").rows if "RWS-NADE" in row.name]
    assert uci == [13.16, 11.68, 84.26, 9.71, 271.11, 26.43, 46.09, 27.92]


def test_the_screening_has_the_supplements_lists():
    row = load_experiment("table3-screening").row("dna: RWS-SBN")
    assert len(row.candidates()) == 30
    assert {recipe.learning_rate for _, recipe in row.candidates().values()} == {0.001, 0.003, 0.01}
    assert row.recipe.estimator.samples == 10
    assert len(load_experiment("table3-screening").row("dna: RWS-NADE").candidates()) == 15


def test_which_updates_of_q_each_row_has():
    rows = {row.name: row.recipe.estimator for row in load_experiment("q-updates").rows}
    switches = {name: (each.wake_q, each.sleep_q) for name, each in rows.items()}
    assert switches == {"sleep": (0, 1), "wake": (1, 0), "both": (1, 1), "none": (0, 0)}
    wake_sleep = load_experiment("table1").row("wake-sleep SBN 200").recipe.estimator
    assert (wake_sleep.samples, wake_sleep.wake_q) == (1, 0)


def test_rows_are_found_whatever_the_case_and_errors_list_them():
    assert load_experiment("table1").row("sbn/nade 200-200").paper_nll == 91.1
    with pytest.raises(UsageError, match="table1 has no row 'x'; its rows: 'SBN/SBN 200'"):
        load_experiment("table1").row("x")
    with pytest.raises(UsageError, match="no experiment is called 'table9'; valid: table1"):
        load_experiment("table9")


def test_quick_versions_are_small_and_keep_every_kind_of_layer():
    for experiment in EXPERIMENTS:
        small = quick(experiment)
        assert 1 <= len(small.rows) <= MOST_ROWS
        for row in small.rows:
            assert row.source or (row.data == "digits" and row.recipe.epochs == 2)
    kinds = {parse(row.models[0]).p[0].kind for row in quick(load_experiment("table3")).rows}
    assert kinds == {"ar_sbn", "nade", "sbn"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "a"}, "needs either data and models, or a source"),
        ({"name": "a", "data": "digits", "models": ["sbn"], "colour": 1}, "unknown field"),
        ({"name": "a", "data": "digits", "models": ["sbn"], "recipe": {"epoch": 1}}, "'epoch'"),
    ],
)
def test_a_wrong_row_is_named(values, words):
    with pytest.raises(UsageError, match=words):
        _experiment("mine", {"title": "", "kind": "table", "rows": [values]})


def test_rows_that_would_share_a_folder_are_refused():
    row = {"data": "digits", "models": ["sbn"]}
    rows = [{"name": "SBN/SBN", **row}, {"name": "SBN SBN", **row}]
    with pytest.raises(UsageError, match="share a run folder"):
        _experiment("mine", {"title": "", "kind": "table", "rows": rows})


def test_slugs_and_candidates():
    assert slug("AR-SBN/SBN 500 †") == "ar-sbn-sbn-500"
    models = ("sbn/sbn 2", "sbn/sbn 3")
    row = Row("t", "r", "digits", models, learning_rates=(0.1, 0.2), recipe=Recipe())
    names = list(row.candidates())
    assert names[0] == "sbn-sbn-2-rate-0.1"
    assert len(set(names)) == 4
    assert list(dataclasses.replace(row, learning_rates=()).candidates()) == [
        "sbn-sbn-2-rate-0.01",
        "sbn-sbn-3-rate-0.01",
    ]
