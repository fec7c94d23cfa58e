import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from wakesleep.cli import main
from wakesleep.data import load_dataset
from wakesleep.errors import UsageError
from wakesleep.evaluation import log_likelihood
from wakesleep.inference.mixing import mix
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import recipe_from_record
from wakesleep.reproduce.experiments import Row, experiment_names
from wakesleep.reproduce.judging import judge_row, remarks_on
from wakesleep.reproduce.running import run_row, train_row
from wakesleep.reproduce.store import Budget, ExperimentStore, OutOfTimeError
from wakesleep.runs.folder import RunFolder
from wakesleep.storage import load_model
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import EpochDone

RECIPE = Recipe(epochs=3, batch_size=100, estimator={"samples": 2}, validation_samples=2)
ROW = Row("mine", "SBN 3", "bars", ("sbn/sbn 3",), recipe=RECIPE, samples=20, paper_nll=9.0)
FIELDS = {
    *("nll", "interval", "paper_nll", "samples", "data", "binarisation", "epochs", "recipe"),
    *("training_seconds", "evaluation_seconds", "seed", "commit", "machine", "command", "model"),
}


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# One experiment of every kind; the others in the long suite.
SHORT_SUITE = ("table3", "fig1a", "fig1b", "fig2a", "samples", "learning-curves", "race", "debd")


@pytest.mark.parametrize(
    "name",
    [
        name if name in SHORT_SUITE else pytest.param(name, marks=pytest.mark.slow)
        for name in experiment_names()
    ],
)
def test_the_quick_version_of_every_experiment(name, in_tmp, capsys):
    assert main(["reproduce", name, "--quick", "--json"]) == 0
    results = json.loads(capsys.readouterr().out.splitlines()[-1])[name]
    assert results
    for result in results.values():
        assert result["data"] == "digits"
        assert result["commit"]
        assert "automatic" in result or result["recipe"]["epochs"] == 2
        if name == "race":
            curve = result["curve"]
            assert len(curve["valid_ll"]) == 2
            assert np.all(np.diff(curve["processor_seconds"]) > 0)
            assert curve["samples_scored"][1] == 2 * curve["samples_scored"][0] > 0
        if "nll" in result:
            assert 15 < result["nll"] < 45
    assert main(["reproduce", "--quick", "--docs", "docs"]) == 0
    text = (in_tmp / "docs" / "results.md").read_text()
    for row in results:
        assert row in text


def test_a_rows_result_has_all_that_is_promised_and_is_not_made_twice(store):
    result = run_row(store, ROW, Budget(None))
    assert set(result) >= FIELDS
    assert result["paper_nll"] == 9.0
    assert result["epochs"] == 3
    assert result["samples"] == 20
    assert store.result(ROW) == json.loads(json.dumps(result))


def test_a_result_keeps_the_way_that_its_training_took(store):
    result = run_row(store, ROW, Budget(None))
    records = RunFolder(store.run_path(ROW)).records()
    curve = result["curve"]
    assert curve["epoch"] == [1, 2, 3]
    best = [max(each["valid_ll"], each["valid_ll_average"]) for each in records]
    assert curve["valid_ll"] == best
    assert curve["processor_seconds"][-1] == pytest.approx(
        sum(each["processor_seconds"] for each in records)
    )
    # Two samples and a dream of every training row in each epoch.
    examples = len(load_dataset("bars").train)
    assert curve["samples_scored"] == [3 * examples * epoch for epoch in (1, 2, 3)]


def test_a_row_may_score_some_of_the_test_rows(store):
    result = run_row(store, dataclasses.replace(ROW, test_rows=7), Budget(None))
    assert result["evaluation"]["examples"] == 7
    test = load_dataset("bars").test
    chosen = np.sort(np.random.default_rng(3).choice(len(test), 7, replace=False))
    model = load_model(store.run_path(ROW) / "model.safetensors")
    again = log_likelihood(model, test[chosen], 20, key=jax.random.key(1), defensive=0)
    assert result["nll"] == pytest.approx(-again.mean, abs=1e-5)


def test_variants_are_judged_on_validation_rows_and_the_page_says_how(store):
    wider = dataclasses.replace(ROW, name="wider", models=("sbn/sbn 6",))
    row = dataclasses.replace(ROW, variants=(wider,))
    judged = judge_row(store, row, Budget(None))
    assert set(judged["validation"]) == {"SBN 3", "wider"}
    data = load_dataset("bars")
    model = load_model(store.run_path(wider) / "model.safetensors")
    again = log_likelihood(model, data.valid, 20, key=jax.random.key(1), defensive=0)
    assert judged["validation"]["wider"]["mean"] == pytest.approx(again.mean, abs=1e-6)
    assert store.result(row) is None
    (remark,) = remarks_on(store, [row])
    assert f"wider {again.mean:.3f}" in remark


def test_heats_choose_the_rate_that_is_trained_whole(store):
    recipe = dataclasses.replace(RECIPE, epochs=1000, processor_seconds=3.0)
    row = dataclasses.replace(
        ROW, recipe=recipe, learning_rates=(1e-9, 0.01), heat_seconds=0.1, samples=5
    )
    result = run_row(store, row, Budget(None))
    heats = result["heats_valid_ll"]
    assert set(heats) == {"sbn-sbn-3-rate-1e-09", "sbn-sbn-3-rate-0.01"}
    best = max(heats, key=heats.get)
    assert set(result["valid_ll"]) == {best}
    assert result["recipe"]["learning_rate"] == 0.01
    assert result["curve"]["processor_seconds"][-1] >= 3.0
    for name in heats:
        assert len(heat_records(store, row, name)) < result["epochs"]


def heat_records(store, row, name):
    return RunFolder(store.run_path(row) / "heats" / name).records()


def test_a_finished_row_is_left_alone(in_tmp, capsys):
    arguments = ["reproduce", "q-updates", "--quick", "--row", "both", "--json"]
    assert main(arguments) == 0
    path = in_tmp / "runs/quick/results/q-updates/both.json"
    before = path.stat().st_mtime_ns
    capsys.readouterr()
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["states"] == {"both": "done before"}
    assert path.stat().st_mtime_ns == before


def test_without_time_nothing_is_begun_and_that_is_said(in_tmp, capsys):
    assert main(["reproduce", "q-updates", "--quick", "--minutes", "1e-9", "--json"]) == 1
    states = json.loads(capsys.readouterr().out)["states"]
    assert set(states.values()) == {"not begun"}


def test_an_interrupted_row_goes_on_to_the_same_result(store, tmp_path):
    seen = []

    def after_one_epoch():
        return len(seen) == 1

    def watch(event):
        if isinstance(event, EpochDone):
            seen.append(event.record.epoch)

    with pytest.raises(OutOfTimeError):
        run_row(store, ROW, Budget(None, after_one_epoch), (watch,))
    assert store.result(ROW) is None
    assert seen == [1]
    resumed = run_row(store, ROW, Budget(None), (watch,))
    assert seen == [1, 2, 3]
    other = ExperimentStore(tmp_path / "other", tmp_path / "other-results")
    assert run_row(other, ROW, Budget(None))["nll"] == resumed["nll"]


def test_an_interrupted_evaluation_goes_on(store):
    def stop_halfway(done, total):
        raise OutOfTimeError

    with pytest.raises(OutOfTimeError):
        run_row(store, ROW, Budget(None), progress=stop_halfway)
    assert list(store.run_path(ROW).glob(".evaluation-test.partial"))
    counts = []
    run_row(store, ROW, Budget(None), progress=lambda done, total: counts.append(done))
    assert not list(store.run_path(ROW).glob(".evaluation-test.partial"))


def test_the_best_candidate_on_validation_is_the_one_tested(store):
    row = dataclasses.replace(ROW, learning_rates=(1e-9, 0.05))
    trained = train_row(store, row, Budget(None))
    assert trained.folder.path.name == "sbn-sbn-3-rate-0.05"
    assert set(trained.valid_ll) == {"sbn-sbn-3-rate-1e-09", "sbn-sbn-3-rate-0.05"}
    result = run_row(store, row, Budget(None))
    assert result["recipe"]["learning_rate"] == 0.05
    assert len(result["valid_ll"]) == 2


def test_a_mixed_row_judges_the_mixture_of_its_candidates(store):
    models = ("nade(hidden=4)", "nade(hidden=4, order=1)")
    row = dataclasses.replace(ROW, models=models, mixed=True, samples=1)
    result = run_row(store, row, Budget(None))
    parts = [
        load_model(store.run_path(row) / name / "model.safetensors") for name in result["valid_ll"]
    ]
    data, key = load_dataset("bars"), jax.random.key(row.seed)
    again = log_likelihood(mix(parts, data.valid, key=key), data.test, 1, key=key)
    assert result["nll"] == pytest.approx(-again.mean, abs=1e-6)
    assert result["model"] == "mixture of 2: nade(hidden=4); nade(hidden=4, order=1)"
    assert result["epochs"] == 6


def test_a_candidate_that_diverges_loses(store):
    row = dataclasses.replace(ROW, learning_rates=(1e30, 0.05))
    with np.errstate(all="ignore"):
        result = run_row(store, row, Budget(None))
    assert result["recipe"]["learning_rate"] == 0.05
    assert result["valid_ll"]["sbn-sbn-3-rate-1e+30"] is None


def test_a_row_of_which_all_candidates_diverge_says_so(store):
    row = dataclasses.replace(ROW, learning_rates=(1e30,))
    with np.errstate(all="ignore"), pytest.raises(DivergenceError, match="every candidate"):
        run_row(store, row, Budget(None))


def test_a_changed_recipe_does_not_go_on_with_the_old_run(store):
    run_row(store, ROW, Budget(None))
    changed = dataclasses.replace(ROW, recipe=dataclasses.replace(RECIPE, epochs=4))
    with pytest.raises(UsageError, match="holds a run of another recipe"):
        run_row(store, changed, Budget(None))


def test_models_without_latents_are_rows_too(store):
    row = dataclasses.replace(ROW, models=("nade(hidden=4)",), samples=1)
    result = run_row(store, row, Budget(None))
    assert result["evaluation"]["method"] == "exact"
    assert load_model(store.run_path(row) / "model.safetensors").latent_sizes == ()


def test_a_row_without_data_says_so(in_tmp, capsys, monkeypatch):
    monkeypatch.setenv("WAKESLEEP_DATA", str(in_tmp))
    assert main(["reproduce", "table3", "--row", "rcv1: FVSBN", "--json"]) == 1
    assert "rcv1" in json.loads(capsys.readouterr().out)["states"]["rcv1: FVSBN"]


def test_the_list_names_everything(in_tmp, capsys):
    assert main(["reproduce", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == experiment_names()


@pytest.mark.parametrize("name", experiment_names())
def test_committed_results_are_of_the_recipes_as_they_stand(name, committed):
    for row in committed.experiment(name).rows:
        result = committed.result(row)
        if result and row.automatic:
            assert result["automatic"]["minutes"] == row.automatic_minutes
        elif result:
            trained = committed.source_of(row) if row.source else row
            recipes = [recipe for _, recipe in trained.candidates().values()]
            assert recipe_from_record(result["recipe"], row.name) in recipes, row.name


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="counts maps as Linux shows them")
def test_candidates_leave_no_compiled_code_behind(store):
    def train(width: int) -> int:
        row = dataclasses.replace(ROW, name=str(width), models=(f"sbn/sbn {width}",))
        train_row(store, row, Budget(None))
        return len(Path("/proc/self/maps").read_text().splitlines())

    train(4)
    first, second = train(5), train(6)
    assert second - first < 200
