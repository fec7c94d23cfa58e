"""What is attacked: a training, an evaluation, a reproduction and a download, each on tiny data.

A scenario prepares a folder, does its work there, and says what the work came to; after a fault the
same work is done again, as a person would, and must come to the same.
"""

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from tests.download.server import serving
from tests.runs.runs import EVERY_EPOCH, newest
from wakesleep.data import load_dataset
from wakesleep.download import fetch_dataset
from wakesleep.download.sources import RemoteFile, Source
from wakesleep.download.transfer import Patience
from wakesleep.recipe import Recipe
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.running import run_row
from wakesleep.reproduce.store import Budget, ExperimentStore
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.runs.start import resume_run, start_run

RECIPE = Recipe(epochs=2, batch_size=20, validation_samples=2)
MODEL = "sbn/sbn 2"
TIMING = {"seconds", "examples_per_second", "processor_seconds"}


def history(folder):
    return [{k: v for k, v in r.items() if k not in TIMING} for r in folder.records()]


def bits(tree):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


@dataclass
class Training:
    """Two epochs with a checkpoint after each; a run that has begun is resumed."""

    folder: Path

    def prepare(self):
        rows = np.random.default_rng(0).integers(0, 2, (60, 6), np.uint8)
        np.save(self.folder / "data.npy", rows)

    def work(self):
        config = RunConfig(DataConfig(str(self.folder / "data.npy")), MODEL, 0, RECIPE)
        if RunFolder(self.folder / "run").config_path.exists():
            resume_run(self.folder / "run", EVERY_EPOCH)
        else:
            start_run(self.folder / "run", config, EVERY_EPOCH)

    def outcome(self):
        snapshot, folder = newest(self.folder / "run"), RunFolder(self.folder / "run")
        assert snapshot.finished
        assert len(list(folder.checkpoints.glob("step-*"))) <= 2
        return bits(snapshot.arrays), bits(load_run(folder.path).model), history(folder)


@dataclass
class Evaluation:
    """Of a finished run."""

    folder: Path

    def prepare(self):
        training = Training(self.folder)
        training.prepare()
        training.work()

    def work(self):
        RunEvaluation(20).of(load_run(self.folder / "run"))

    def outcome(self):
        run = self.folder / "run"
        with np.load(run / "evaluation.npz") as archive:
            arrays = {name: archive[name].tobytes() for name in archive.files}
        assert not list(run.glob(".evaluation-*"))
        return json.loads((run / "evaluation.json").read_text()), arrays


@dataclass
class Reproduction:
    """A row with two learning rates to choose from."""

    folder: Path

    def prepare(self):
        Training(self.folder).prepare()

    def work(self):
        store = ExperimentStore(self.folder / "runs", self.folder / "results")
        source = str(self.folder / "data.npy")
        row = Row("tiny", "row", source, (MODEL,), learning_rates=(0.01, 0.02), recipe=RECIPE)
        run_row(store, row.__class__(**{**vars(row), "samples": 20}), Budget(None))

    def outcome(self):
        result = json.loads((self.folder / "results" / "tiny" / "row.json").read_text())
        return result["nll"], result["valid_ll"], result["recipe"]["learning_rate"]


@dataclass
class Download:
    """From a server on loopback."""

    folder: Path

    def prepare(self):
        random = np.random.default_rng(0)
        sizes = {"train": 1400, "valid": 600, "test": 1186}
        tables = {n: random.integers(0, 2, (rows, 180), np.uint8) for n, rows in sizes.items()}
        file = io.BytesIO()
        np.savez_compressed(file, **{f"{name}_data": rows for name, rows in tables.items()})
        self.content = file.getvalue()

    def work(self):
        digest = hashlib.sha256(self.content).hexdigest()
        with serving({"dna.npz": self.content}) as server:
            file = RemoteFile("dna.npz", digest, (f"{server.at('good')}/dna.npz",))
            from unittest.mock import patch

            known = {"dna": Source("dna", {"all": file})}
            with patch("wakesleep.download.fetch.SOURCES", known):
                fetch_dataset("dna", self.folder / "data", patience=Patience(5.0, 3))

    def outcome(self):
        data = load_dataset(self.folder / "data" / "dna.npz")
        return [rows[:].tobytes() for rows in data.splits.values()]


SCENARIOS = (Training, Evaluation, Reproduction, Download)
