"""What a run keeps for its report, and when it is made again."""

import numpy as np
import pytest

import wakesleep as ws
from tests.runs.runs import BARE, SHORT, StopAfter
from wakesleep.cli import main
from wakesleep.runs import diagnostics
from wakesleep.runs.diagnostics import diagnostics_of
from wakesleep.runs.start import RunOptions, resume_run, start_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    start_run(path, SHORT)
    return path


def test_a_finished_run_has_all_a_report_shows(run, monkeypatch):
    monkeypatch.setattr(diagnostics, "make_diagnostics", None)
    kept = diagnostics_of(ws.load_run(run))
    assert kept["train"].shape == kept["samples"].shape == kept["probabilities"].shape == (64, 64)
    assert kept["samples"].dtype == np.uint8
    assert np.array_equal(kept["train"], ws.load_dataset("digits").train[:64])
    assert kept["fields_p"].shape == kept["fields_q"].shape == (4, 64)
    assert [use.units for use in kept.latents] == [4, 2]
    assert kept["given"].shape == kept["missing"].shape == (6, 64)
    assert kept["imputed"].shape == (6, 8, 64)
    changed = kept["imputed"] != kept["given"][:, None]
    assert changed.any()
    assert not changed[np.broadcast_to(kept["missing"][:, None] == 0, changed.shape)].any()


def test_they_are_made_again_when_the_model_changed(run):
    before = diagnostics_of(ws.load_run(run))
    resume_run(run, BARE, extend=3)
    after = diagnostics_of(ws.load_run(run))
    assert not np.array_equal(before["probabilities"], after["probabilities"])
    assert np.array_equal(before["train"], after["train"])


def test_an_interrupted_run_keeps_none_until_it_is_reported(tmp_path):
    stop = StopAfter(1)
    options = RunOptions(stop.options.observers, stop.options.should_stop)
    start_run(tmp_path / "run", SHORT, options)
    kept = tmp_path / "run" / "diagnostics.safetensors"
    assert not kept.exists()
    assert main(["report", str(tmp_path / "run"), "--quiet"]) == 0
    assert kept.exists()
