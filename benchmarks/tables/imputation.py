"""20% of the observed cells removed at random, in training and test rows alike, and imputed again.

Judged on the removed cells of the test rows, column by column: accuracy of levels, and for numbers
the mean absolute error over the column's mean absolute deviation from its median ("error", 1 for
the median of the test's own cells) and the root mean squared error over its standard deviation
("rms").
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.tables.encoding import Encoding, is_numeric
from benchmarks.tables.job import Job
from benchmarks.tables.miceforest_peer import impute_with_miceforest
from benchmarks.tables.ours import fit_job
from benchmarks.tables.record import Values
from benchmarks.tables.sources import MIXED
from benchmarks.tables.splits import Split

METHODS = ("ours", "most frequent or median", "KNNImputer", "IterativeImputer", "miceforest")
TABLES = MIXED
REMOVED = 0.2


def measure(job: Job) -> Values:
    """Each column's numbers, called `accuracy: name`, `error: name` and `rms: name`."""
    if job.method == "ours":
        return measure_ours(job)
    split, gaps = with_gaps(job)
    return judge(split.test, gaps.test, _impute(job, gaps), like=job.frame)


def measure_ours(job: Job, named: str = "") -> Values:
    """The same of a model of ours: the one that the default chooses, or another by its name."""
    split, gaps = with_gaps(job)
    ours = fit_job(job, gaps.train, gaps.valid, named=named)
    return judge(split.test, gaps.test, ours.impute(gaps.test), like=job.frame) | ours.about


def with_gaps(job: Job) -> tuple[Split, Split]:
    """The rows, and the same without the removed cells."""
    split = job.split()
    return split, Split(*(remove_cells(part, [job.number, i]) for i, part in enumerate(split)))


def remove_cells(frame: pd.DataFrame, seed: list[int]) -> pd.DataFrame:
    removed = np.random.default_rng([18, *seed]).random(frame.shape) < REMOVED
    # Truth values and whole numbers have no missing value of their own in pandas.
    objects = {
        name: frame[name].astype("float64" if is_number(frame[name]) else object)
        for name in frame.columns
    }
    return pd.DataFrame(objects).mask(removed)


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def judge(
    truth: pd.DataFrame, gaps: pd.DataFrame, imputed: pd.DataFrame, like: pd.DataFrame
) -> Values:
    found: Values = {}
    for name in truth.columns:
        removed = (gaps[name].isna() & truth[name].notna()).to_numpy()
        if name not in imputed or not removed.any():
            continue
        if is_numeric(like[name]):
            true, ours = (part[name].to_numpy(float)[removed] for part in (truth, imputed))
            away, spread = np.abs(true - np.median(true)).mean(), true.std()
            if away > 0:
                found[f"error: {name}"] = float(np.abs(ours - true).mean() / away)
                found[f"rms: {name}"] = float(np.sqrt(((ours - true) ** 2).mean()) / spread)
        else:
            same = _texts(truth[name])[removed] == _texts(imputed[name])[removed]
            found[f"accuracy: {name}"] = float(same.mean())
    return found


def _texts(column: pd.Series) -> np.ndarray:
    """Levels as texts, 1 and 1.0 alike."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float).astype(str).to_numpy()
    texts = column.astype(object)
    numbers = pd.to_numeric(texts, errors="coerce")
    same = texts.astype(str).where(numbers.isna(), numbers.astype(str))
    return same.to_numpy()


def _impute(job: Job, gaps: Split) -> pd.DataFrame:
    known = gaps.known
    if job.method == "most frequent or median":
        return _simple(known, gaps.test)
    if job.method == "miceforest":
        return impute_with_miceforest(known, gaps.test, job.number)
    encoding = Encoding.of(known)
    imputer = KNNImputer() if job.method == "KNNImputer" else IterativeImputer(random_state=0)
    with warnings.catch_warnings():
        # IterativeImputer says that its default number of rounds was not enough.
        warnings.simplefilter("ignore")
        imputer.set_params(keep_empty_features=True)
        imputer.fit(encoding.transform(known, gaps=True))
        table = imputer.transform(encoding.transform(gaps.test, gaps=True))
    return encoding.inverse(table, like=gaps.test)


def _simple(known: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    filled = {}
    for name in test.columns:
        column = known[name].dropna()
        value = column.median() if is_numeric(column) else column.mode().iloc[0]
        filled[name] = test[name].astype(object).where(test[name].notna(), value)
    return pd.DataFrame(filled)
