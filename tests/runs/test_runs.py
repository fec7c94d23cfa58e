"""Runs in folders: resumed bit for bit after kills, full disks, garbage and second processes."""

import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from tests.runs.runs import BARE, EVERY_EPOCH, SHORT, assert_same_arrays, assert_same_run, newest
from wakesleep.cli import main
from wakesleep.data import load_dataset
from wakesleep.errors import DataError, UsageError, WakesleepError
from wakesleep.recipe import Recipe
from wakesleep.runs.checkpoints import latest_checkpoint, load_checkpoint, save_checkpoint
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import RunOptions, extended, resume_run, start_run
from wakesleep.storage import load_model, read_header

RECIPE = Recipe(
    batch_size=100,
    validation_samples=2,
    phases=({"epochs": 20}, {"epochs": 20, "estimator": {"samples": 2}, "optimiser": "sgd"}),
)
CONFIG = RunConfig(DataConfig("bars"), "sbn/ar_sbn 2-4", 3, RECIPE)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Compiled programs are shared between the processes below, which are many."""
    folder = tmp_path_factory.mktemp("cache")
    return os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def train(*words, env, limit="unlimited"):
    """A real training process; `limit` is the largest file it may write, in kilobytes."""
    command = [sys.executable, "-m", "wakesleep", "train", *map(str, words)]
    limited = ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "--", *command]
    return subprocess.Popen(
        limited, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_at_random_moments_change_nothing(count, tmp_path, cache):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    start_run(whole, CONFIG, EVERY_EPOCH)
    RunFolder(killed).write_config(CONFIG)
    moments = random.Random(0)
    resume = ("--resume", killed, "--checkpoint-every", "0", "--json", "--no-diagnostics")
    kills = 0
    while kills < count:
        process = train(*resume, env=cache)
        # Mostly once an epoch is through, so that the run moves on; sometimes long before.
        if moments.random() < 0.8:
            process.stdout.readline()
        time.sleep(moments.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        _, rest, _ = finish(process)
        assert '"finished"' not in rest, "the run must outlast the kills"
        kills += 1
        if latest_checkpoint(RunFolder(killed)):
            newest(killed)
    assert latest_checkpoint(RunFolder(killed)), "some epochs were kept between the kills"
    code, _, error = finish(train(*resume, env=cache))
    assert code == 0, error
    assert_same_run(whole, killed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_and_says_how_to_go_on(number, tmp_path, cache):
    run = tmp_path / "run"
    words = ("bars", "--model", "sbn/sbn 4", "--epochs", "100000", "--out", run)
    process = train(*words, env=cache)
    process.stderr.readline()
    process.send_signal(number)
    code, _, error = finish(process)
    assert code == 130
    assert f"wakesleep train --resume {run}" in error
    header = read_header(latest_checkpoint(RunFolder(run)))
    assert not header["finished"]
    assert header["position"]["epoch"] >= 1


def test_a_second_process_is_refused_and_a_dead_one_leaves_no_lock(tmp_path, capsys):
    start_run(tmp_path / "run", SHORT, BARE)
    with RunFolder(tmp_path / "run").locked():
        code = subprocess.run(
            [sys.executable, "-m", "wakesleep", "train", "--resume", str(tmp_path / "run")],
            capture_output=True,
            text=True,
            check=False,
        )
    assert code.returncode == 2
    assert "another process is working" in code.stderr
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    assert "finished" in capsys.readouterr().err


def test_extending_adds_epochs_to_a_finished_run(tmp_path):
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    assert resume_run(run) is None
    result = resume_run(run, BARE, extend=2)
    assert result.snapshot.finished
    assert [r["epoch"] for r in RunFolder(run).records()] == [1, 2, 3, 4, 5]
    assert RunFolder(run).config().recipe.total_epochs == 5
    assert resume_run(run) is None


def test_a_run_killed_at_its_very_end_is_finished_when_resumed(tmp_path):
    run = tmp_path / "run"
    start_run(run, SHORT, EVERY_EPOCH)
    at_the_end = dataclasses.replace(newest(run), finished=False)
    save_checkpoint(RunFolder(run), at_the_end)
    assert resume_run(run, BARE).snapshot.finished
    assert resume_run(run, BARE) is None


def test_a_run_extended_and_killed_before_its_next_checkpoint_goes_on(tmp_path):
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    folder = RunFolder(run)
    config = folder.config()
    folder.write_config(dataclasses.replace(config, recipe=extended(config.recipe, 2)))
    assert resume_run(run, BARE).snapshot.finished
    assert folder.records()[-1]["epoch"] == 5


def test_a_run_without_a_checkpoint_starts_again_from_its_config(tmp_path):
    start_run(tmp_path / "whole", SHORT, BARE)
    RunFolder(tmp_path / "bare").write_config(SHORT)
    resume_run(tmp_path / "bare", BARE)
    assert_same_run(tmp_path / "whole", tmp_path / "bare")


def test_only_the_newest_checkpoints_are_kept_and_the_best_model_beside_them(tmp_path):
    start_run(tmp_path / "run", SHORT, EVERY_EPOCH)
    folder = RunFolder(tmp_path / "run")
    assert len(list(folder.checkpoints.iterdir())) == 2
    assert_same_arrays(load_model(folder.model_path), newest(folder.path).arrays.best)
    assert any((tmp_path / "run" / "tensorboard").iterdir())


@pytest.mark.parametrize("damage", ["truncate", "foreign", "model", "flip"])
def test_a_bad_checkpoint_is_refused_with_a_sentence(tmp_path, damage, capsys):
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    path = latest_checkpoint(RunFolder(run))
    content = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "foreign":
        path.write_bytes(b"not a checkpoint at all")
    elif damage == "model":
        shutil.copy(run / "model.safetensors", path)
    else:
        path.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])
    assert main(["train", "--resume", str(run), "--extend", "1"]) == 2
    error = capsys.readouterr().err
    assert path.name in error
    assert error.count("\n") == 1


def test_a_checkpoint_of_another_architecture_is_refused(tmp_path):
    start_run(tmp_path / "run", SHORT, BARE)
    path = latest_checkpoint(RunFolder(tmp_path / "run"))
    other = Recipe(optimiser="sgd")
    with pytest.raises(DataError, match="not usable"):
        load_checkpoint(path, other, load_dataset("digits").train)


def test_a_disk_that_takes_no_more_keeps_the_last_good_checkpoint(tmp_path, cache):
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    before = {p: p.read_bytes() for p in RunFolder(run).checkpoints.iterdir()}
    kilobytes = 8
    code, _, error = finish(
        train("--resume", run, "--extend", "2", "--no-diagnostics", env=cache, limit=kilobytes)
    )
    assert code == 1
    assert "could not be written" in error
    assert "Traceback" not in error
    assert {p: p.read_bytes() for p in RunFolder(run).checkpoints.iterdir()} == before
    assert resume_run(run, BARE).snapshot.finished


def test_a_full_file_system_keeps_the_last_good_checkpoint(tmp_path, cache):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system; the file size limit is tested above")
    try:
        run = disk / "run"
        start_run(run, SHORT, BARE)
        fill = ["dd", "if=/dev/zero", f"of={disk / 'filler'}", "bs=4k"]
        assert b"No space" in subprocess.run(fill, capture_output=True, check=False).stderr
        before = {p: p.read_bytes() for p in RunFolder(run).checkpoints.iterdir()}
        code, _, error = finish(
            train("--resume", run, "--extend", "2", "--no-diagnostics", env=cache)
        )
        assert code == 1
        assert "No space left on device" in error
        assert error.count("wakesleep: ") == 1
        assert {p: p.read_bytes() for p in RunFolder(run).checkpoints.iterdir()} == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_divergence_keeps_the_last_good_checkpoint_and_never_writes_nan(tmp_path):
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    folder = RunFolder(run)
    text = folder.config_path.read_text()
    folder.config_path.write_text(text.replace("learning_rate = 0.01", "learning_rate = 1e38"))
    with pytest.raises(WakesleepError, match="diverged in epoch 4"):
        resume_run(run, EVERY_EPOCH, extend=3)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(newest(run).arrays))


def test_pictures_are_drawn_every_few_epochs(tmp_path):
    start_run(tmp_path / "run", SHORT, RunOptions(pictures_every=2, diagnostics=False))
    names = [path.name for path in (tmp_path / "run" / "samples").iterdir()]
    assert names == ["epoch-00002.png"]


def test_a_run_in_use_cannot_be_replaced(tmp_path):
    start_run(tmp_path / "run", SHORT, BARE)
    with pytest.raises(UsageError, match="--overwrite"):
        start_run(tmp_path / "run", SHORT, BARE)
    start_run(tmp_path / "run", SHORT, BARE, overwrite=True)
