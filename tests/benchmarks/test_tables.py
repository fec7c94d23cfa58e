"""The benchmark of people's tables, on a small table that is made up."""

import itertools

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables import features, imputation, likelihood, outliers, synthetic
from benchmarks.tables.job import Job, NotApplicableError
from benchmarks.tables.mixture import LEAVES, as_data, fit_components

from wakesleep.schema import infer_schema

PARTS = {
    "likelihood": likelihood,
    "imputation": imputation,
    "features": features,
    "synthetic": synthetic,
}
PACKAGES = ("SPFlow", "miceforest", "CTGAN", "TVAE")
MINUTES = 1e-3


def people(rows=100):
    """A level that says much about a number, another level, a whole number with gaps."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "kind": np.array(["a", "b", "c"])[kind],
            "size": np.round(rng.normal(5 * kind, 1.0), 2),
            "count": rng.poisson(3, rows),
            "answer": np.where(rng.random(rows) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )
    frame["count"] = frame["count"].mask(rng.random(rows) < 0.1)
    return frame


def job(method, target="answer"):
    return Job("people", people(), target, 0, method, MINUTES)


@pytest.mark.parametrize(
    ("part", "method"),
    [
        (part, method)
        for part, module in PARTS.items()
        for method in module.METHODS
        if method not in (*PACKAGES, "GaussianMixture", "ours", likelihood.NAMED)
    ],
)
def test_peers_give_numbers(part, method):
    found = PARTS[part].measure(job(method))
    numbers = [value for value in found.values() if not isinstance(value, str)]
    assert numbers
    assert np.isfinite(numbers).all()


def test_a_peer_that_cannot_score_says_why():
    with pytest.raises(NotApplicableError, match="density"):
        likelihood.measure(job("GaussianMixture"))
    with pytest.raises(NotApplicableError, match="levels alone"):
        likelihood.measure(job(likelihood.NAMED))


def test_a_model_that_is_named_scores_the_same_table(monkeypatch):
    monkeypatch.setattr(likelihood, "ENCODED", ("people",))
    monkeypatch.setattr(likelihood, "NAMED_EPOCHS", 2)
    named, alone = (
        likelihood.measure(job(method))["log-likelihood"]
        for method in (likelihood.NAMED, "independent columns")
    )
    assert abs(named - alone) < 2.0


def test_what_is_odd_is_found_by_the_peers(monkeypatch):
    monkeypatch.setitem(outliers.SETS, "people", lambda kind: kind == "c")
    # An isolation forest cannot tell what is beyond the training range from its edge.
    for method, least in (("IsolationForest", 0.5), ("LocalOutlierFactor", 0.9)):
        found = outliers.measure(job(method, target="kind"))
        assert found["clean"] > least


def test_ours_scores_and_draws_the_same_table():
    score = likelihood.measure(job("ours"))["log-likelihood"]
    alone = likelihood.measure(job("independent columns"))["log-likelihood"]
    # Trained for a moment only: near the yardstick, on the same measure.
    assert abs(score - alone) < 2.0
    drawn = synthetic.measure(job("ours"))
    assert 0.0 <= drawn["two-sample"] <= 1.0


@pytest.mark.slow
def test_ours_imputes_embeds_and_finds_outliers(monkeypatch):
    assert any(name.startswith("accuracy") for name in imputation.measure(job("ours")))
    assert features.measure(job("ours"))["features"] > 0
    monkeypatch.setitem(outliers.SETS, "people", lambda kind: kind == "c")
    assert set(outliers.measure(job("ours", target="kind"))) >= {"clean", "contaminated"}


@pytest.mark.parametrize("leaves", LEAVES)
def test_a_mixture_is_a_distribution(leaves):
    """Summed over all levels and whole numbers, with the real number integrated."""
    frame = people(60).dropna()
    schema = infer_schema(frame, {"kind": "categorical", "count": "numeric", "size": "numeric"})
    known = as_data(schema, schema.encode(frame), leaves)
    mixture = fit_components(known, 3, np.random.default_rng(0))
    step = 0.2
    sizes = np.arange(-30, 40, step) + 0.5 * step
    every = itertools.product("abc", sizes, range(-8, 24), ("yes", "no"))
    table = pd.DataFrame(every, columns=["kind", "size", "count", "answer"])
    rows = as_data(schema, schema.encode(table), leaves)
    total = step * float(np.exp(mixture.log_prob(rows)).sum())
    # What is left out are tails; steps over the bounds of bins cost the rest.
    assert total == pytest.approx(1.0, abs=0.02)
