"""Held-out log-likelihood of mixed tables, in nats per row and in each table's own units.

All methods score the same cells with the same measure: probabilities for levels, whole numbers and
atoms, densities per unit for reals. Who cannot do that on a table is not asked there. Where all
columns are levels, the mixture is that of latent classes.
"""

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture

import wakesleep as ws
from benchmarks.tables.job import Job, NotApplicableError
from benchmarks.tables.mixture import fit_mixture
from benchmarks.tables.ours import Ours, fit_job
from benchmarks.tables.record import Values
from benchmarks.tables.sources import MIXED
from benchmarks.tables.spflow_peer import spflow_log_prob
from benchmarks.tables.splits import Split
from wakesleep.schema import (
    Encoded,
    IndependentColumns,
    NumberColumn,
    Schema,
    SchemaOptions,
    infer_schema,
    read_frame,
    without_unseen,
)

NAMED, NAMED_EPOCHS = "nade/sbn 10", 100
ENCODED = ("titanic", "chile-encoded")
"""Tables of levels alone, on which `NAMED`, a model of ours that one has to name, did well."""
METHODS = ("ours", "independent columns", "mixture", "GaussianMixture", "SPFlow", NAMED)
DENSITIES = ("wine", "breast_cancer", "iris")
"""Without their class these are numbers alone; without atoms they have densities everywhere."""
TABLES = tuple(dict.fromkeys((*MIXED, "chile-encoded", *DENSITIES)))
COMPONENTS = (1, 2, 3, 5, 8, 12)
DRAWS = 30
"""Points in the unit step of whole numbers over which a density is averaged to a probability."""


def measure(job: Job) -> Values:
    """The mean over test rows."""
    split, atoms = job.split(), job.table not in DENSITIES
    if not atoms:
        split = split.without(job.target)
    if job.method == "ours":
        ours = fit_job(job, split.train, split.valid, atoms=atoms)
        return {"log-likelihood": float(ours.score(split.test).mean()), **ours.about}
    if job.method == NAMED:
        return named_model(job, split)
    schema, parts = encoded_parts(split, atoms=atoms)
    if job.method == "independent columns":
        columns = IndependentColumns.fit(parts[0].codes, schema.states)
        scores = columns.log_prob(parts[2].codes) + schema.log_measure(parts[2]).sum(axis=1)
        return {"log-likelihood": float(scores.mean())}
    if job.method == "mixture":
        fitted = fit_mixture(schema, *parts[:2], job.number)
        score = float(fitted.log_prob(parts[2]).mean())
        chosen = {"components": fitted.components, "leaves": fitted.leaves}
        return {"log-likelihood": score, **chosen}
    if job.method == "SPFlow":
        return {"log-likelihood": float(spflow_log_prob(schema, parts, job.number).mean())}
    return gaussian_mixture(schema, parts, job.number)


def named_model(job: Job, split: Split) -> Values:
    """`NAMED` by the default recipe, for as many epochs as the trial gave it."""
    if job.table not in ENCODED:
        raise NotApplicableError("it is asked on tables of levels alone")
    data = ws.load_dataset({"train": split.train, "valid": split.valid})
    fitted = ws.fit(NAMED, data, ws.Recipe(epochs=NAMED_EPOCHS), seed=job.number)
    assert data.schema is not None
    scores = Ours(fitted.model, data.schema, job.number).score(split.test)
    return {"log-likelihood": float(scores.mean())}


def encoded_parts(split: Split, *, atoms: bool = True) -> tuple[Schema, tuple[Encoded, ...]]:
    """The schema of the training rows, as peers take it, and the three parts by it."""
    schema = infer_schema(split.train, options=SchemaOptions(atoms=atoms, within="uniform"))
    return schema, tuple(encode(schema, part) for part in split)


def encode(schema: Schema, frame: pd.DataFrame) -> Encoded:
    """A level that training never saw is a missing cell, for all methods."""
    known, _ = without_unseen(schema, read_frame(frame))
    return schema.encode(known)


def gaussian_mixture(schema: Schema, parts: tuple[Encoded, ...], seed: int) -> Values:
    """scikit-learn's with full covariances, for tables of numbers without atoms or gaps."""
    for column in schema.modelled:
        if not isinstance(column, NumberColumn) or column.bins.atoms.size:
            raise NotApplicableError("levels and atoms have no density")
    if not all(part.observed.all() for part in parts):
        raise NotApplicableError("it takes no gaps")
    whole = np.array([column.bins.whole for column in schema.modelled])
    rng = np.random.default_rng(seed)
    # Spread over the unit step, or a component on a single number could be as narrow as it likes.
    train, valid = (_spread(part.within, whole, rng) for part in parts[:2])
    mean, deviation = train.mean(0), train.std(0)
    fitted = [
        GaussianMixture(components, random_state=seed, reg_covar=1e-4).fit(
            (train - mean) / deviation
        )
        for components in COMPONENTS
        if components <= len(train) // 5
    ]
    best = max(fitted, key=lambda model: model.score((valid - mean) / deviation))
    scores = [
        best.score_samples((_spread(parts[2].within, whole, rng) - mean) / deviation)
        for _ in range(DRAWS if whole.any() else 1)
    ]
    values = np.logaddexp.reduce(scores, axis=0) - np.log(len(scores)) - np.log(deviation).sum()
    return {"log-likelihood": float(values.mean()), "components": best.n_components}


def _spread(values: np.ndarray, whole: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return values + np.where(whole, rng.uniform(-0.5, 0.5, values.shape), 0.0)
