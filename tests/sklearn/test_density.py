"""The estimator against exact answers, and inside what scikit-learn builds of estimators."""

import pickle
from copy import copy

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from tests.inference.oracle import probabilities
from tests.oracle import all_bits, all_latents, exact_log_likelihood, exact_posterior
from wakesleep.data import bars_log_prob, load_dataset
from wakesleep.evaluation import log_likelihood
from wakesleep.sklearn import HelmholtzMachineDensity

DATA = load_dataset("bars", size=3, train=600, test=200)
TRAIN, TEST = DATA.train[:], DATA.test[:]
SMALL = {"max_iter": 40, "batch_size": 50, "inference_samples": 2000, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return HelmholtzMachineDensity("sbn/sbn 3-6", **SMALL).fit(TRAIN)


def test_it_learns_a_distribution_that_independent_bits_cannot(fitted):
    mean = (TRAIN.sum(0) + 1) / (len(TRAIN) + 2)
    independent = (TEST * np.log(mean) + (1 - TEST) * np.log1p(-mean)).sum(1).mean()
    truth = bars_log_prob(TEST, 3).mean()
    assert independent + 0.5 < fitted.score(TEST) < truth
    assert fitted.n_iter_ == 40
    assert len(fitted.history_) == 40


def test_scores_are_the_exact_log_likelihood(fitted):
    exact = np.asarray(exact_log_likelihood(fitted.model_, jnp.asarray(TEST, jnp.float32)))
    np.testing.assert_allclose(fitted.score_samples(TEST), exact, atol=0.2)
    # Rows differ in their draws, so that the errors of different rows average out.
    distinct, places = np.unique(TEST, axis=0, return_index=True)
    error = fitted.score_samples(distinct) - exact[places]
    assert abs(error.mean()) < 4.5 * error.std() / np.sqrt(len(distinct)) + 1e-3


def test_the_transform_is_the_exact_posterior_mean(fitted):
    rows = np.unique(TEST, axis=0)
    posterior = exact_posterior(fitted.model_, jnp.asarray(rows, jnp.float32))
    exact = np.asarray(posterior @ jnp.concatenate(all_latents(fitted.model_), axis=1))
    everything = fitted.transform(rows)
    assert everything.shape == (len(rows), 9 + 9)
    np.testing.assert_array_equal(everything[:, :9], rows)
    found = everything[:, 9:]
    alone = copy(fitted).set_params(features="latents")
    np.testing.assert_array_equal(alone.transform(rows), found)
    np.testing.assert_allclose(found, exact, atol=0.12)
    assert np.abs(found - exact).mean() < 0.015


@pytest.mark.parametrize("how", ["probability", "probable", "draw"])
def test_imputed_entries_are_the_exact_conditionals(fitted, how):
    rows = TEST[:5].astype(float)
    missing = np.zeros(rows.shape, bool)
    missing[:, [1, 4, 8]] = True
    found = fitted.impute(np.where(missing, np.nan, rows), how=how)
    assert np.array_equal(found[~missing], rows[~missing])
    exact = np.stack(
        [probabilities(fitted.model_, x, m) for x, m in zip(rows, missing, strict=True)]
    )
    if how == "probability":
        # A row is left with a tenth of the 2,000 samples effective, at the least.
        np.testing.assert_allclose(found, exact, atol=4.5 * 0.5 / np.sqrt(200))
        assert np.abs(found - exact)[missing].mean() < 0.05
    else:
        assert np.isin(found, (0, 1)).all()
    if how == "probable":
        decided = missing & (abs(exact - 0.5) > 4.5 * 0.5 / np.sqrt(200))
        assert np.array_equal(found[decided], exact[decided] > 0.5)


def test_samples_follow_the_model(fitted):
    drawn = fitted.sample(20_000)
    every = np.asarray(all_bits(9))
    exact = np.exp(np.asarray(exact_log_likelihood(fitted.model_, jnp.asarray(every)))) @ every
    assert drawn.shape == (20_000, 9)
    np.testing.assert_allclose(drawn.mean(0), exact, atol=4.5 * 0.5 / np.sqrt(20_000))
    assert np.array_equal(fitted.sample(3), fitted.sample(3))
    assert not np.array_equal(fitted.sample(50, random_state=1), fitted.sample(50, random_state=2))
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="n_samples"):
            fitted.sample(wrong)


def test_sparse_input_is_dense_input(fitted):
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        again = clone(fitted).set_params(max_iter=2).fit(form(TRAIN))
        dense = clone(fitted).set_params(max_iter=2).fit(TRAIN)
        assert np.array_equal(again.score_samples(form(TEST)), dense.score_samples(TEST))
    with pytest.raises(ValueError, match="threshold"):
        clone(fitted).set_params(binarize=-1.0).fit(sparse.csr_matrix(TRAIN))


def test_a_threshold_makes_bits_of_arrays_and_frames_and_none_makes_none(fitted):
    grey = TRAIN * 0.6 + 0.2
    thresholded = clone(fitted).set_params(max_iter=2, binarize=0.5).fit(grey)
    bits = clone(fitted).set_params(max_iter=2).fit(TRAIN)
    assert np.array_equal(thresholded.score_samples(grey), bits.score_samples(TRAIN))
    frame = pd.DataFrame(grey).add_prefix("pixel ")
    framed = clone(thresholded).fit(frame)
    assert np.array_equal(framed.score_samples(frame), bits.score_samples(TRAIN))
    assert set(np.unique(framed.sample(50))) == {0, 1}
    with pytest.raises(ValueError, match=r"column 'x0': '0\.\d+' is none of the training rows'"):
        bits.score_samples(grey)


def test_a_threshold_that_makes_columns_constant_says_so():
    heights = np.random.default_rng(0).normal(170, 10, (40, 2))
    heights[:, 1] -= 170
    density = HelmholtzMachineDensity("sbn/sbn 2", max_iter=1, binarize=0.0)
    with pytest.warns(UserWarning, match=r"makes 1 of 2 columns constant \(x0\)"):
        density.fit(heights)


def test_pickles_and_clones(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.score_samples(TEST), fitted.score_samples(TEST))
    assert again.partial_fit(TRAIN).n_iter_ == 41
    assert not hasattr(clone(fitted), "model_")


def test_partial_fit_goes_on_where_it_was():
    density = HelmholtzMachineDensity("sbn/sbn 6", batch_size=50, random_state=0)
    scores = [density.partial_fit(TRAIN).score(TEST) for _ in range(25)]
    assert density.n_iter_ == 25
    assert scores[-1] > scores[0] + 0.3
    with pytest.raises(ValueError, match="features"):
        density.partial_fit(TRAIN[:, :4])


def test_held_out_rows_choose_the_parameters_and_stop():
    density = HelmholtzMachineDensity(
        "sbn/sbn 4", max_iter=200, validation_fraction=0.2, patience=3, random_state=0
    )
    density.fit(TRAIN[:100])
    assert density.n_iter_ < 200
    assert density.history_[-1].valid_ll is not None


def test_names_go_in_and_come_out(fitted):
    frame = pd.DataFrame(TRAIN, columns=[f"pixel {i}" for i in range(9)])
    density = HelmholtzMachineDensity("sbn/sbn 2", max_iter=1, random_state=0)
    density.set_output(transform="pandas").fit(frame)
    assert density.feature_names_in_[3] == "pixel 3"
    assert list(density.transform(frame).columns) == [*frame.columns, "h1_1", "h1_2"]
    reordered = frame[frame.columns[::-1]]
    assert np.array_equal(density.score_samples(reordered), density.score_samples(frame))


def test_it_is_searched_by_likelihood_and_piped_before_a_classifier():
    search = GridSearchCV(
        HelmholtzMachineDensity(max_iter=3, random_state=0),
        {"architecture": ["sbn/sbn 2", "sbn/sbn 6"]},
        cv=2,
    ).fit(TRAIN)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    density = HelmholtzMachineDensity("sbn/sbn 6", max_iter=40, batch_size=50, random_state=0)
    labels = TRAIN[:, 0]
    pipe = make_pipeline(density, LogisticRegression()).fit(TRAIN, labels)
    assert pipe.score(TEST, TEST[:, 0]) > 0.8


@pytest.mark.parametrize(
    ("parameters", "said"),
    [({"max_iter": 0}, "max_iter"), ({"validation_fraction": 1.0}, "validation_fraction")],
)
def test_parameters_out_of_their_range_are_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        HelmholtzMachineDensity(**parameters).fit(TRAIN)


def test_unknown_ways_to_impute_are_refused(fitted):
    with pytest.raises(ValueError, match="probable, draw, probability"):
        fitted.impute(TEST, how="guess")


def test_a_model_without_latents_scores_exactly_and_its_features_are_the_bits():
    density = HelmholtzMachineDensity("nade(hidden=6)", max_iter=2, random_state=0).fit(TRAIN)
    exact = log_likelihood(density.model_, TEST, method="exact").values
    np.testing.assert_allclose(density.score_samples(TEST), exact, rtol=1e-6)
    assert np.array_equal(density.transform(TEST), TEST)
    with pytest.raises(ValueError, match="no features but its columns"):
        density.set_params(features="latents").transform(TEST)
    with pytest.raises(ValueError, match="a model with latents, such as 'nade/sbn 10'"):
        density.fit(TRAIN)
    assert density.sample(3).shape == (3, 9)


def test_rivals_train_it_and_a_chain_for_every_row_wants_the_same_rows():
    few = {"max_iter": 1, "random_state": 0, "inference_samples": 5}
    ordered = HelmholtzMachineDensity("eonade(hidden=4)", estimator="order_agnostic", **few)
    assert np.isfinite(ordered.fit(TRAIN).score(TEST))
    chains = HelmholtzMachineDensity("sbn/sbn 3", estimator={"name": "jsa", "samples": 2}, **few)
    with pytest.raises(ValueError, match="a note for every row"):
        chains.partial_fit(TRAIN).partial_fit(TRAIN[:50])
    with pytest.raises(ValueError, match="unknown estimator 'vimoc'"):
        HelmholtzMachineDensity("sbn/sbn 3", estimator="vimoc", **few).fit(TRAIN)
