"""Rows of one class among those of another: AUROC of each method's score on held-out rows.

Trained on inliers alone ("clean"), and with outliers among the training rows so that 7% of them are
("contaminated"). The test has other inliers, and outliers that no training saw.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.tables.encoding import Encoding
from benchmarks.tables.job import Job
from benchmarks.tables.ours import fit_job
from benchmarks.tables.record import Values
from benchmarks.tables.splits import split_rows

METHODS = ("ours", "IsolationForest", "LocalOutlierFactor")
SHARE = 0.07


SETS = {
    "breast_cancer": lambda target: target == "malignant",
    "wine": lambda target: target == "class_2",
    "digits": lambda target: target != "1",
    "biopsy": lambda target: target == "malignant",
    "iris": lambda target: target == "virginica",
}
"""Which rows of a table are outliers, by its target column, which no method sees."""
TABLES = tuple(SETS)


def measure(job: Job) -> Values:
    odd = SETS[job.table](job.frame[job.target]).to_numpy()
    rows = job.frame.drop(columns=[job.target])
    inliers = split_rows(rows[~odd], job.number)
    outliers = rows[odd].sample(frac=1.0, random_state=job.number)
    known = pd.concat([inliers.train, inliers.valid])
    among = round(len(known) * SHARE / (1 - SHARE))
    # At least half of the outliers stay for the test.
    among = min(among, len(outliers) // 2)
    test = pd.concat([inliers.test, outliers[among:]], ignore_index=True)
    label = np.repeat([0, 1], [len(inliers.test), len(outliers) - among])
    found = {}
    for name, extra in (("clean", outliers[:0]), ("contaminated", outliers[:among])):
        train = pd.concat([known, extra]).sample(frac=1.0, random_state=job.number)
        for what, scores in _oddity(job, train.reset_index(drop=True), test).items():
            found[name + what] = float(roc_auc_score(label, scores))
    return found


def _oddity(job: Job, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, np.ndarray]:
    """Larger for odder rows. Of our training rows an eighth is for validation, outliers and all.

    Minus the log-likelihood, which is a half of our oddity, is shown beside it.
    """
    if job.method == "ours":
        cut = len(train) * 7 // 8
        ours = fit_job(job, train[:cut], train[cut:])
        return {"": ours.oddity(test), ": log-likelihood alone": -ours.score(test)}
    encoding = Encoding.of(train)
    model = (
        IsolationForest(random_state=job.number)
        if job.method == "IsolationForest"
        else LocalOutlierFactor(novelty=True)
    )
    model.fit(encoding.transform(train))
    return {"": -model.score_samples(encoding.transform(test))}
