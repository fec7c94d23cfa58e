"""A deep belief network's pretraining in a run folder: shown, interrupted, gone on with."""

import json

import pytest

import wakesleep as ws
from tests.runs.runs import EVERY_EPOCH, assert_same_arrays, assert_same_run
from wakesleep.cli import main
from wakesleep.errors import WakesleepError
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import RunOptions, resume_run, start_run
from wakesleep.training.events import PretrainingEpoch

RECIPE = ws.Recipe(epochs=1, pretrain=2, batch_size=100, epoch_updates=3, learning_rate=0.01)
CONFIG = RunConfig(DataConfig("digits"), "dbn 3-4", 0, RECIPE)
EPOCHS = [(1, 1), (1, 2), (2, 1), (2, 2)]
"""Layer and epoch, as they follow one another."""


class StopInPretraining:
    """Options whose run is interrupted after some epochs of pretraining."""

    def __init__(self, epochs):
        self.epochs, self.seen = epochs, []

    def __call__(self, event):
        if isinstance(event, PretrainingEpoch):
            assert event.layers == 2
            self.seen.append((event.layer, event.record.epoch))

    @property
    def options(self):
        return RunOptions(
            (self,), lambda: len(self.seen) >= self.epochs, checkpoint_interval=0, diagnostics=False
        )


@pytest.fixture(scope="module")
def digits():
    return ws.load_dataset("digits")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    start_run(path, CONFIG, EVERY_EPOCH)
    return path


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_interrupted_in_pretraining_it_goes_on_to_the_same_bits(epochs, whole, tmp_path):
    path, stop, rest = tmp_path / "run", StopInPretraining(epochs), StopInPretraining(9)
    assert not start_run(path, CONFIG, stop.options).snapshot.finished
    assert stop.seen == EPOCHS[:epochs]
    resume_run(path, rest.options)
    assert rest.seen == EPOCHS[epochs:]
    assert_same_run(whole, path)
    assert not RunFolder(path).pretraining.exists()


def test_after_pretraining_the_first_checkpoint_has_its_result(whole, tmp_path):
    path, stop, rest = tmp_path / "run", StopInPretraining(4), StopInPretraining(9)
    start_run(path, CONFIG, stop.options)
    resume_run(path, rest.options)
    assert not rest.seen
    assert_same_run(whole, path)


def test_fit_and_fit_run_pretrain_to_the_same_bits(whole, digits, tmp_path):
    stop = StopInPretraining(3)
    fitted = ws.fit("dbn 3-4", digits, RECIPE)
    assert_same_arrays(fitted.model, ws.load_run(whole).model)
    path = tmp_path / "run"
    ws.fit_run(path, "dbn 3-4", digits, RECIPE, options=stop.options)
    result = ws.fit_run(path, "dbn 3-4", digits, RECIPE)
    assert_same_arrays(fitted.model, result.model)


def test_without_a_folder_a_stop_says_what_would_keep_it(digits):
    with pytest.raises(WakesleepError, match="`wakesleep train` go on where they stopped"):
        ws.fit("dbn 3-4", digits, RECIPE, should_stop=lambda: True)


def test_what_cannot_be_pretrained_leaves_no_folder(tmp_path):
    other = RunConfig(DataConfig("digits"), "sbn/sbn 3", 0, RECIPE)
    with pytest.raises(ws.UsageError, match="pretrain is for deep belief networks"):
        start_run(tmp_path / "run", other)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_shows_every_epoch_of_every_layer(as_json, tmp_path, capsys):
    recipe = tmp_path / "dbn.toml"
    recipe.write_text("epochs = 1\npretrain = 2\nepoch_updates = 3\n")
    words = ["train", "digits", "--model", "dbn 3-4", "--recipe", str(recipe), "--no-diagnostics"]
    out = ["--out", str(tmp_path / "run")]
    assert main([*words, *out, *(["--json"] if as_json else [])]) == 0
    printed = capsys.readouterr()
    if as_json:
        records = [json.loads(line) for line in printed.out.splitlines()]
        layers = [(r["pretraining"], r["epoch"]) for r in records if "pretraining" in r]
        assert layers == EPOCHS
        assert all(r["layers"] == 2 for r in records if "pretraining" in r)
    else:
        for layer, epoch in EPOCHS:
            assert f"pretraining layer {layer} of 2, epoch {epoch}  train LL" in printed.err
