"""Our side of every comparison: the library's defaults, by its public functions."""

from dataclasses import dataclass

import jax
import numpy as np
import pandas as pd

import wakesleep as ws
from wakesleep.data.people_tables import packed
from wakesleep.inference.imputation import impute
from wakesleep.inference.posterior import infer_rows
from wakesleep.schema import (
    Encoded,
    Schema,
    most_probable,
    read_frame,
    to_native,
    without_unseen,
)

SAMPLES = 200
"""Latents drawn for each row that is scored."""


@dataclass(frozen=True)
class Ours:
    """A trained model and the schema of its training rows."""

    model: ws.HelmholtzMachine
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
        measure = self.schema.log_measure(encoded).sum(axis=1)
        return self._infer(encoded).log_likelihood + measure

    def features(self, frame: pd.DataFrame) -> np.ndarray:
        """Posterior means of the latents."""
        return self._infer(self.encode(frame)).means

    def _infer(self, encoded: Encoded):
        rows = packed(encoded, self.schema)
        return infer_rows(self.model, rows, SAMPLES, jax.random.key(self.seed))

    def impute(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The most probable level, or the median of a number, in place of each gap."""
        encoded = self.encode(frame)
        missing = np.repeat(~encoded.observed, self.schema.groups, axis=1)
        key = jax.random.key(self.seed)
        imputed = impute(self.model, encoded.bits, missing, SAMPLES, key=key, draws=1)
        bits = most_probable(self.schema, imputed.probabilities)
        return to_native(self.schema.decode(bits, None, tails=False), like=frame)

    def sample(self, count: int, like: pd.DataFrame) -> pd.DataFrame:
        """New rows of the table; `Schema.decode` refuses a row that none could be."""
        bits = ws.sample(self.model, count, key=jax.random.key(self.seed))
        return to_native(self.schema.decode(np.asarray(bits), self.seed), like=like)


def fit_ours(
    train: pd.DataFrame, valid: pd.DataFrame, minutes: float, seed: int, **table: object
) -> Ours:
    """`ws.fit` with no model: it chooses one within the minutes."""
    data = ws.load_dataset({"train": train, "valid": valid}, table=table)
    assert data.schema is not None
    # Until there is an automatic default.
    updates = max(1, -(-len(train) // 100))
    recipe = ws.Recipe(epochs=max(10, 1500 // updates), patience=max(5, 150 // updates))
    result = ws.fit("nade/sbn 20", data, recipe, seed=seed)
    return Ours(result.model, data.schema, seed)
