"""Our side of every comparison: the library's defaults, by its public functions."""

import hashlib
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pandas as pd

import wakesleep as ws
from benchmarks.tables.job import Job
from wakesleep.data.people_tables import packed
from wakesleep.inference.features import row_features
from wakesleep.inference.imputed_table import impute_read
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import EoNADE
from wakesleep.schema import (
    Encoded,
    Schema,
    read_frame,
    to_native,
    without_unseen,
)
from wakesleep.training import FitResult
from wakesleep.training.automatic import MINUTES, automatic_candidates

SAMPLES = 200
"""Latents drawn for each row that is scored."""
UPDATES, DECAY = 1500, 0.02
"""How the model that is named for features is trained."""
EONADE, MASKS, EONADE_RATE = "eonade(hidden=200)", 4, 0.003
"""The model that predicts any columns from any others, with how many masks a row and which rate."""


@dataclass(frozen=True)
class Ours:
    """A trained model and the schema of its training rows."""

    model: ws.HelmholtzMachine | ws.Mixture | EoNADE
    schema: Schema
    seed: int

    @property
    def about(self) -> dict[str, str]:
        """What was chosen."""
        return {"model": ws.describe(self.model)}

    def encode(self, frame: pd.DataFrame) -> Encoded:
        """Rows as states; a level that training never saw is a missing cell for all methods."""
        known, _ = without_unseen(self.schema, read_frame(frame))
        return self.schema.encode(known)

    def score(self, frame: pd.DataFrame) -> np.ndarray:
        """Each row's log-likelihood in the table's units."""
        encoded = self.encode(frame)
        rows, key = packed(encoded, self.schema), jax.random.key(self.seed)
        scores = infer_rows(self.model, rows, SAMPLES, key).log_likelihood
        return scores + self.schema.row_measure(encoded)

    def oddity(self, frame: pd.DataFrame) -> np.ndarray:
        """How odd each row is, as `wakesleep score` says it."""
        return self.schema.oddity(self.encode(frame), self.score(frame))

    def features(self, frame: pd.DataFrame, which: str = "all") -> np.ndarray:
        """What `transform` of the estimator gives."""
        encoded = self.encode(frame)
        rows, key = packed(encoded, self.schema), jax.random.key(self.seed)
        table = self.schema, encoded
        return row_features(self.model, rows, SAMPLES, key, table=table, which=which)

    def impute(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The most probable level, or the median of a number, in place of each gap."""
        known, _ = without_unseen(self.schema, read_frame(frame))
        encoded = self.schema.encode(known)
        filled, _ = impute_read(
            ws.TableModel(self.model, self.schema),
            (known, encoded),
            SAMPLES,
            key=jax.random.key(self.seed),
        )
        return to_native(filled, like=frame)

    def sample(self, count: int, like: pd.DataFrame) -> pd.DataFrame:
        """New rows of the table, with gaps where its own have some."""
        table = ws.TableModel(self.model, self.schema)
        drawn: pd.DataFrame = ws.sample(table, count, key=self.seed, like=like, gaps=True)
        return drawn


@dataclass(frozen=True)
class Training:
    """How ours is trained: the automatic choice within so many minutes of arithmetic.

    Attributes:
        minutes: the budget.
        seed: of everything random.
        named: a model to train in place of what is chosen, such as `EONADE`.
        atoms: whether a number that many rows share has a probability of its own.
    """

    minutes: float
    seed: int
    named: str = ""
    atoms: bool = True


def fit_job(job: Job, train: pd.DataFrame, valid: pd.DataFrame, **how: Any) -> Ours:
    """What a job asks for; `how` are `named` and `atoms` of `Training`."""
    return fit_ours(train, valid, Training(job.minutes, job.number, **how))


def fit_ours(train: pd.DataFrame, valid: pd.DataFrame, how: Training) -> Ours:
    """`ws.fit` with no model. Parts that want the same training have it once."""
    key = how, _digest(train, valid)
    if key not in _FITTED:
        table = {} if how.atoms else {"atoms": False}
        data = ws.load_dataset({"train": train, "valid": valid}, table=table)
        assert data.schema is not None
        result = _fit_named(data, how) if how.named else _fit(data, how)
        _FITTED[key] = Ours(result.model, data.schema, how.seed)
    return _FITTED[key]


def _fit(data: ws.Dataset, how: Training) -> FitResult:
    return ws.fit(data, minutes=how.minutes, seed=how.seed)


def _fit_named(data: ws.Dataset, how: Training) -> FitResult:
    """The model by the automatic default's recipe, with what it wants else."""
    recipe = automatic_candidates(data, MINUTES)[0].recipe
    if how.named == EONADE:
        masked = {"name": "order_agnostic", "samples": MASKS}
        wanted = {"estimator": masked, "learning_rate": EONADE_RATE}
    else:
        epochs = max(1, UPDATES // recipe.epoch_updates)
        wanted = {"epochs": epochs, "weight_decay": DECAY}
    return ws.fit(how.named, data, recipe.overridden(wanted), seed=how.seed)


_FITTED: dict[tuple[Training, tuple[str, ...]], Ours] = {}


def _digest(*frames: pd.DataFrame) -> tuple[str, ...]:
    texts = (frame.to_csv().encode() for frame in frames)
    return tuple(hashlib.sha256(text).hexdigest() for text in texts)
