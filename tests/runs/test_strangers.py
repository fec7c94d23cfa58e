"""A run folder from the network: it runs nothing, and reads and writes nothing outside itself."""

import io
import json
import os
import shutil

import numpy as np
import pytest

from tests.runs.runs import RunOptions
from wakesleep.cli import main
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import LogLikelihood
from wakesleep.recipe import Recipe
from wakesleep.report.run_view import view_run
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.start import resume_run, start_run

SCRIPT = "<script>alert(1)</script>"
OPTIONS = RunOptions(diagnostics=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "own.npy", np.random.default_rng(0).integers(0, 2, (40, 5), np.uint8))
    recipe = Recipe(epochs=1, validation_samples=2)
    config = RunConfig(DataConfig(str(folder / "own.npy")), "sbn/sbn 2", 0, recipe)
    start_run(folder / "run", config)
    return folder / "run"


@pytest.fixture
def run(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def test_the_report_reads_no_file_that_the_folder_names(run, tmp_path, capsys):
    secret = tmp_path / "secret.csv"
    secret.write_text("0,1\n" * 20)
    secret.chmod(0o000 if os.getuid() else 0o600)
    text = (
        (run / "config.toml")
        .read_text()
        .replace(str(load_run(run).config.data.source), str(secret))
    )
    (run / "config.toml").write_text(text)
    opened = []
    real = io.open

    def watched(path, *arguments, **options):
        opened.append(str(path))
        return real(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("io.open", watched)
        patch.setattr("builtins.open", watched)
        assert main(["report", str(run), "--quiet"]) == 0
        (run / "diagnostics.safetensors").unlink()
        assert main(["report", str(run), "--quiet"]) == 2
    assert f"--data {secret}" in capsys.readouterr().err
    assert str(secret) not in opened
    assert (run / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["config.toml", "model.safetensors", "metrics.jsonl", ".lock", "data.json", "new.txt"]
)
def test_a_link_out_of_the_folder_is_refused(name, run, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("somebody's")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    for use in (load_run, view_run, lambda path: resume_run(path, OPTIONS, extend=1)):
        with pytest.raises(DataError, match="is a link out of the run folder"):
            use(run)
    assert main(["train", "digits", "--model", "sbn/sbn 2", "--out", str(run), "--overwrite"]) == 2
    assert outside.read_text() == "somebody's"


def test_a_linked_folder_is_refused_and_a_link_within_is_not(run, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(run / "checkpoints", outside)
    (run / "checkpoints").symlink_to(outside)
    before = sorted(path.name for path in outside.iterdir())
    with pytest.raises(DataError, match="is a link out"):
        resume_run(run, OPTIONS, extend=1)
    assert sorted(path.name for path in outside.iterdir()) == before
    (run / "checkpoints").unlink()
    shutil.move(outside, run / "kept")
    (run / "checkpoints").symlink_to(run / "kept")
    assert load_run(run).model.features == 5


def test_a_pipe_does_not_hang_a_command(run):
    (run / "evaluation.json").unlink(missing_ok=True)
    os.mkfifo(run / "evaluation.json")
    with pytest.raises(DataError, match="neither a file nor a folder"):
        view_run(run)


def test_an_archive_holds_no_more_than_its_bytes_justify(tmp_path, monkeypatch):
    monkeypatch.setattr("wakesleep.data.numpy_files.SMALL", 1 << 20)
    path = tmp_path / "evaluation.npz"
    np.savez_compressed(path, value=np.zeros(1 << 20))
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="that is no table"):
        LogLikelihood.load(path)


@pytest.mark.parametrize("text", ["[1]", "{", '{"mean": "x"}', SCRIPT, "[" * 100_000])
def test_an_evaluation_that_is_none_is_one_sentence(text, run):
    (run / "evaluation.json").write_text(text)
    with pytest.raises(DataError, match="is no evaluation"):
        view_run(run)


def test_no_name_in_the_folder_becomes_script_in_the_report(run):
    folder = RunFolder(run)
    about = json.loads(folder.data_path.read_text())
    about |= {"name": SCRIPT, "binarisation": f'"><img src=x onerror=alert(1)>{SCRIPT}'}
    folder.data_path.write_text(json.dumps(about))
    text = folder.config_path.read_text()
    folder.config_path.write_text(text.replace("own.npy", f"own{SCRIPT}.npy".replace("/", "")))
    assert main(["report", str(run), "--quiet"]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize(
    "change",
    [
        {"features": 10**15},
        {"features": "5"},
        {"image_shape": [10**6, 10**6]},
        {"image_shape": [0, 5]},
        {"name": ["x"]},
        {"splits": {"train": 1}},
    ],
)
def test_what_data_json_says_is_checked(change, run):
    path = RunFolder(run).data_path
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match="does not say what the run's data were"):
        _ = view_run(run).data


def test_a_config_of_wrong_types_is_one_sentence(run):
    text = (run / "config.toml").read_text()
    for old, new in (
        ("seed = 0\n", "seed = -1\n"),
        ("split_seed = 0", "split_seed = 1e400"),
        ("[data]\n", "[data]\nvalid = 5\n"),
        ("[data]\n", '[data]\ncolumns = "x"\n'),
    ):
        assert old in text
        (run / "config.toml").write_text(text.replace(old, new, 1))
        with pytest.raises(UsageError, match=r"config\.toml"):
            load_run(run)
