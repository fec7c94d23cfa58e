"""Features for a logistic regression: `transform` beside one-hot columns and their PCA.

The model never sees the target. AUC on held-out rows, one class against the rest where there are
more than two. What the posterior means of the latents give without the columns is shown too.
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.tables.encoding import Encoding
from benchmarks.tables.job import Job
from benchmarks.tables.ours import fit_job
from benchmarks.tables.record import Values
from benchmarks.tables.sources import MIXED
from benchmarks.tables.summary import NAMED, OURS
from wakesleep.inference.features import LATENTS
from wakesleep.inference.posterior import embedding_names

METHODS = (OURS, NAMED, "one-hot columns", "PCA")
TABLES = (*MIXED, "breast_cancer")
EXPLAINED = 0.95
"""Of the variance, by as many principal components as that takes."""


def measure(job: Job) -> Values:
    split = job.labelled().split()
    inputs = split.without(job.target)
    known = inputs.known
    labels = [part[job.target].astype(str).to_numpy() for part in (split.known, split.test)]
    if job.method in (OURS, NAMED):
        named = "" if job.method == OURS else NAMED
        ours = fit_job(job, inputs.train, inputs.valid, named=named)
        parts = known, inputs.test
        both = [ours.features(part) for part in parts]
        found = {"AUC": auc(both, labels), "features": both[0].shape[1], **ours.about}
        if embedding_names(ours.model):
            alone = [ours.features(part, LATENTS) for part in parts]
            found["AUC: latents alone"] = auc(alone, labels)
        return found
    encoding = Encoding.of(known)
    tables = [encoding.transform(known), encoding.transform(inputs.test)]
    if job.method == "PCA":
        pca = PCA(EXPLAINED, random_state=0).fit(tables[0])
        tables = [pca.transform(table) for table in tables]
    return {"AUC": auc(tables, labels), "features": tables[0].shape[1]}


def auc(tables: list[np.ndarray], labels: list[np.ndarray]) -> float:
    """Of a logistic regression with scikit-learn's default penalty on standardised features."""
    scaler = StandardScaler().fit(tables[0])
    classifier = LogisticRegression(max_iter=2000).fit(scaler.transform(tables[0]), labels[0])
    probability = classifier.predict_proba(scaler.transform(tables[1]))
    return class_auc(classifier.classes_, probability, labels[1])


def class_auc(classes: np.ndarray, probability: np.ndarray, label: np.ndarray) -> float:
    """The mean over classes of the AUC of each against the rest; that of one of two."""
    shown = [
        roc_auc_score(label == name, probability[:, i])
        for i, name in enumerate(classes)
        if 0 < (label == name).sum() < len(label)
    ]
    return float(np.mean(shown))
