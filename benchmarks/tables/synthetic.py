"""Synthetic rows: can boosted trees tell them from real ones, and can one learn from them?

"two-sample": as many synthetic rows as there are held-out real ones; the AUC of a boosted-tree
classifier by five-fold cross-validation, as 1 - (2 max(AUC, 1/2) - 1): 1 where they cannot be told
apart, 0 where they always are. Real rows are those of the test, so that copies of training rows
gain nothing. "learned": the AUC on real test rows of boosted trees trained on synthetic rows, as
many as there were for training; "real rows" is what real training rows give.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from benchmarks.tables.ctgan_peer import sample_ctgan
from benchmarks.tables.encoding import for_trees, is_numeric
from benchmarks.tables.features import class_auc
from benchmarks.tables.job import Job
from benchmarks.tables.likelihood import encoded_parts
from benchmarks.tables.mixture import fit_mixture, sample_frame
from benchmarks.tables.ours import fit_job
from benchmarks.tables.record import Values
from benchmarks.tables.sources import MIXED
from benchmarks.tables.splits import Split

METHODS = ("ours", "real rows", "independent columns", "mixture", "CTGAN", "TVAE")
TABLES = MIXED


def measure(job: Job) -> Values:
    # On tables as small as these more threads would only wait for each other.
    with threadpool_limits(1):
        return _measure(job)


def _measure(job: Job) -> Values:
    split = job.labelled().split()
    count = len(split.known)
    # A second real sample is what cannot be told apart: the yardstick of both numbers.
    drawn = split.known if job.method == "real rows" else _draw(job, split, count + len(split.test))
    few = drawn.sample(len(split.test), random_state=job.number)
    many = drawn.drop(few.index) if job.method != "real rows" else drawn
    return {
        "two-sample": two_sample(few, split.test, job.frame),
        "learned": learned(many, split.test, job.frame, job.target),
    }


def two_sample(drawn: pd.DataFrame, real: pd.DataFrame, like: pd.DataFrame) -> float:
    columns = [name for name in like.columns if name in drawn]
    both = pd.concat([drawn[columns], real[columns]], ignore_index=True)
    label = np.repeat([0, 1], [len(drawn), len(real)])
    table = for_trees(both, like[columns])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    probability = cross_val_predict(trees, table, label, cv=folds, method="predict_proba")[:, 1]
    return float(1 - (2 * max(roc_auc_score(label, probability), 0.5) - 1))


def learned(drawn: pd.DataFrame, real: pd.DataFrame, like: pd.DataFrame, target: str) -> float:
    columns = [name for name in like.columns if name in drawn and name != target]
    seen = drawn[target].notna().to_numpy()
    label = drawn[target][seen].astype(str).to_numpy()
    if len(set(label)) < 2:
        return 0.5
    trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    trees.fit(for_trees(drawn[columns][seen], like[columns]), label)
    probability = trees.predict_proba(for_trees(real[columns], like[columns]))
    return class_auc(trees.classes_, probability, real[target].astype(str).to_numpy())


def _draw(job: Job, split: Split, count: int) -> pd.DataFrame:
    rng = np.random.default_rng([19, job.number])
    if job.method == "ours":
        ours = fit_job(job, split.train, split.valid)
        drawn = ours.sample(count, like=split.train)
    elif job.method == "independent columns":
        columns = {
            name: split.known[name].sample(count, replace=True, random_state=rng).to_numpy()
            for name in split.known.columns
        }
        drawn = pd.DataFrame(columns)
    elif job.method == "mixture":
        schema, parts = encoded_parts(split)
        fitted = fit_mixture(schema, *parts[:2], job.number)
        drawn = sample_frame(fitted, count, split.train, job.number)
    else:
        drawn = sample_ctgan(job.method, split.known, count, job.number)
    return with_gaps(drawn, split.known, rng)


def with_gaps(drawn: pd.DataFrame, real: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Where real columns have gaps, the same share in drawn ones, for methods that draw none."""
    out = drawn.copy()
    for name in drawn.columns:
        share = real[name].isna().mean()
        if share and not drawn[name].isna().any():
            kept = out[name].astype(float) if is_numeric(real[name]) else out[name].astype(object)
            out[name] = kept.mask(rng.random(len(out)) < share)
    return out
