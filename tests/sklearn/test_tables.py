"""Tables in, tables out: what the estimator makes of frames and of arrays that are no bits."""

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import wakesleep as ws
from tests.models.groups import independent_log_prob
from wakesleep.schema import infer_schema
from wakesleep.sklearn import HelmholtzMachineDensity

TINY = {"architecture": "sbn/sbn 3", "max_iter": 2, "inference_samples": 50, "random_state": 0}


def survey(rows=60):
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, rows).astype(float)
    age[::7] = np.nan
    return pd.DataFrame(
        {
            "answer": rng.choice(["yes", "no"], rows),
            "region": pd.Categorical(rng.choice(["north", "south", "west"], rows)),
            "age": age,
            "height": rng.normal(170, 10, rows).round(1),
            "member": rng.random(rows) < 0.5,
        },
        index=[f"row {i}" for i in range(rows)],
    )


FRAME = survey()


def as_library(name):
    plain = FRAME.reset_index(drop=True)
    return {"pandas": plain, "polars": pl.from_pandas(plain), "pyarrow": pa.table(plain)}[name]


@pytest.fixture(scope="module")
def fitted():
    return HelmholtzMachineDensity(**TINY).fit(FRAME)


def test_the_score_is_the_exact_density_in_the_columns_own_units():
    complete = FRAME.dropna()
    density = HelmholtzMachineDensity("sbn", max_iter=1, random_state=0).fit(complete)
    schema = infer_schema(complete)
    encoded = schema.encode(complete)
    exact = independent_log_prob(density.model_.p[0].b, schema.groups, encoded.bits)
    exact += schema.row_measure(encoded)
    np.testing.assert_allclose(density.score_samples(complete), exact, rtol=1e-4)
    # Another unit of a column is another density, by the logarithm of the ratio.
    in_metres = complete.assign(height=complete.height / 100)
    other = clone(density).fit(in_metres)
    difference = other.score_samples(in_metres) - density.score_samples(complete)
    np.testing.assert_allclose(difference, np.log(100), atol=0.02)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_library_go_in_and_come_out(fitted, library):
    frame = as_library(library)
    density = clone(fitted).fit(frame)
    np.testing.assert_array_equal(density.score_samples(frame), fitted.score_samples(FRAME))
    assert density.feature_names_in_.tolist() == FRAME.columns.tolist()
    for out in (density.sample(7), density.impute(frame), density.impute(frame, how="draw")):
        assert type(out) is type(frame)
        types = out.schema if library != "pandas" else out.dtypes.to_dict()
        assert types == (frame.schema if library != "pandas" else frame.dtypes.to_dict())
        table = out if library == "pandas" else out.to_pandas()
        assert not table.isna().any(axis=None)


def test_imputed_frames_keep_their_index_and_every_cell_that_was_there(fitted):
    imputed = fitted.impute(FRAME)
    pd.testing.assert_frame_equal(imputed.drop(columns="age"), FRAME.drop(columns="age"))
    seen = FRAME.age.notna()
    assert (imputed.age[seen] == FRAME.age[seen]).all()
    assert imputed.age.between(18, 80).all()


def test_columns_are_found_by_name(fitted):
    scores = fitted.score_samples(FRAME)
    assert np.array_equal(fitted.score_samples(FRAME[FRAME.columns[::-1]]), scores)
    with pytest.warns(UserWarning, match="column 'further' is unknown and ignored"):
        assert np.array_equal(fitted.score_samples(FRAME.assign(further=1)), scores)
    with pytest.warns(UserWarning, match="no column 'answer': missing in every row"):
        fewer = fitted.score_samples(FRAME.drop(columns="answer"))
    assert np.array_equal(fewer, fitted.score_samples(FRAME.assign(answer=None)))
    with pytest.raises(ValueError, match="none of the columns"):
        fitted.score_samples(pd.DataFrame({"other": [1, 2]}))


def test_a_lazy_frame_is_refused_with_a_way_out(fitted):
    for use in (HelmholtzMachineDensity("sbn/sbn 3").fit, fitted.score_samples):
        with pytest.raises(ValueError, match="a lazy one: give what its collect"):
            use(pl.LazyFrame({"answer": ["yes", "no"]}))


def test_columns_without_names_are_found_by_their_places(fitted):
    array = FRAME.to_numpy()
    density = clone(fitted).fit(array)
    np.testing.assert_array_equal(density.score_samples(array), fitted.score_samples(FRAME))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(fitted.score_samples(array), fitted.score_samples(FRAME))
    numbered = FRAME.set_axis(range(5), axis=1)
    again = clone(fitted).fit(numbered)
    assert again.sample(2).columns.tolist() == [0, 1, 2, 3, 4]
    assert again.impute(numbered).dtypes.tolist() == numbered.dtypes.tolist()
    drawn = density.sample(4)
    assert drawn.shape == (4, 5)
    assert set(drawn[:, 1]) <= {"north", "south", "west"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_arrays_come_out_in_their_type(dtype):
    rows = np.random.default_rng(2).normal(0, 5, (50, 2)).astype(dtype)
    density = HelmholtzMachineDensity(**TINY).fit(rows)
    assert density.sample(5).dtype == density.impute(rows).dtype == dtype
    assert np.array_equal(density.impute(rows), rows)


def test_unseen_levels_are_refused_by_place_or_missing(fitted):
    strange = FRAME.assign(answer=FRAME.answer.replace("no", "perhaps"))
    with pytest.raises(ValueError, match="column 'answer': 'perhaps' is none of"):
        fitted.score_samples(strange)
    lenient = clone(fitted).set_params(unseen="missing").fit(FRAME)
    with pytest.warns(UserWarning, match="cells have levels unseen in training"):
        scores = lenient.score_samples(strange)
    expected = fitted.score_samples(FRAME.assign(answer=FRAME.answer.where(FRAME.answer == "yes")))
    assert np.array_equal(scores, expected)
    with pytest.warns(UserWarning, match="cells have levels unseen in training"):
        assert set(lenient.impute(strange).answer) <= {"yes", "no"}


def test_what_is_left_out_is_said_with_a_way_back_in_python():
    numbered = FRAME.assign(case=range(len(FRAME)))
    with pytest.warns(UserWarning, match=r"running number; columns=\{'case': 'numeric'\} keeps it"):
        left_out = HelmholtzMachineDensity(**TINY).fit(numbered)
    assert "case" not in left_out.sample(2)
    kept = HelmholtzMachineDensity(**TINY, columns={"case": "numeric"}).fit(numbered)
    assert "case" in kept.sample(2)


def test_held_out_rows_do_not_make_the_schema():
    # The one row that is held out has a level and a number of its own.
    probe = HelmholtzMachineDensity(**TINY, validation_fraction=1 / 60)
    held_out = np.random.default_rng(0).permutation(60)[0]
    frame = FRAME.astype({"region": str})
    frame.iloc[held_out, 1] = "east"
    with pytest.warns(UserWarning, match="valid: .* unseen in training"):
        probe.fit(frame)
    assert "east" not in {
        level for c in probe.schema_.columns for level in getattr(c, "levels", ())
    }


def test_it_is_searched_validated_and_piped_over_two_processes():
    density = HelmholtzMachineDensity(**TINY)
    labels = (FRAME.height > 170).astype(int)
    scores = cross_val_score(density, FRAME, cv=2, n_jobs=2)
    assert np.isfinite(scores).all()
    assert np.array_equal(scores, cross_val_score(density, FRAME, cv=2))
    grid = {"helmholtzmachinedensity__architecture": ["sbn/sbn 2", "nade(hidden=4)"]}
    pipe = make_pipeline(density, LogisticRegression())
    search = GridSearchCV(pipe, grid, cv=2, n_jobs=2).fit(FRAME, labels)
    assert search.predict(FRAME).shape == (60,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_features_come_as_frames_when_asked(fitted, library):
    density = clone(fitted).set_output(transform=library).fit(FRAME)
    features = density.transform(FRAME)
    assert type(features) is type(as_library(library))
    assert list(features.columns) == density.get_feature_names_out().tolist()
    np.testing.assert_array_equal(features.to_numpy(), fitted.transform(FRAME))


def test_samples_keep_conditions(fitted):
    drawn = fitted.sample(40, given={"region": ["north", "west"], "age": (30, 40)})
    assert drawn.dtypes.to_dict() == FRAME.dtypes.to_dict()
    assert set(drawn.region) <= {"north", "west"}
    assert drawn.age.between(30, 40).all()
    assert set(drawn.answer) == {"yes", "no"}
    with pytest.raises(ValueError, match="no column 'regoin'; did you mean 'region'"):
        fitted.sample(2, given="regoin=north")


def test_samples_have_gaps_where_they_are_asked_for(fitted):
    assert not fitted.sample(100).isna().any().any()
    gone = fitted.sample(300, gaps=True).isna().mean()
    assert 0.08 < gone["age"] < 0.22
    assert gone.drop("age").max() == 0


def test_the_surprise_of_a_cell_is_its_log_probability_given_the_others():
    complete = FRAME.dropna()
    # Columns are independent here, so that cells do not heed each other and add up to their row.
    density = HelmholtzMachineDensity("sbn", max_iter=1, random_state=0).fit(complete)
    cells = density.surprise(complete)
    assert cells.index.equals(complete.index)
    assert cells.columns.tolist() == complete.columns.tolist()
    np.testing.assert_allclose(cells.sum(axis=1), density.score_samples(complete), rtol=1e-4)
    array = np.column_stack([complete.height, np.arange(len(complete)) % 2, np.ones(len(complete))])
    array[0, 0] = np.nan
    numbers = clone(density).fit(array).surprise(array)
    assert numbers.shape == array.shape
    assert np.isnan(numbers).sum() == 1 + len(array)
    assert np.isnan(numbers[:, 2]).all()


def test_the_oddity_of_a_row_is_that_of_its_columns_too(fitted):
    odd = FRAME.head(5).assign(height=300.0)
    scores, found = fitted.score_samples(odd), fitted.oddity(odd)
    typical = fitted.schema_.typical.log_prob(fitted.schema_.encode(odd))
    np.testing.assert_allclose(found, -(scores + typical) / 2)
    assert found.min() > fitted.oddity(FRAME.head(5)).max()


@pytest.mark.parametrize("architecture", ["nade(hidden=4)", "sbn"])
def test_models_without_latents_work_in_every_method(architecture):
    density = HelmholtzMachineDensity(**{**TINY, "architecture": architecture}).fit(FRAME)
    assert np.isfinite(density.score(FRAME))
    assert not density.impute(FRAME).isna().any(axis=None)
    assert density.surprise(FRAME).isna().sum().to_dict() == FRAME.isna().sum().to_dict()
    assert density.sample(4, given="answer=yes").answer.eq("yes").all()
    features = pd.DataFrame(density.transform(FRAME), columns=density.get_feature_names_out())
    assert list(features) == [
        *("answer=yes", "region=north", "region=south", "region=west"),
        *("age", "height", "member=True"),
    ]
    assert np.corrcoef(features.height, FRAME.height)[0, 1] == pytest.approx(1)
    np.testing.assert_array_equal(features["region=west"], FRAME.region == "west")
    gaps = FRAME.age.isna().to_numpy()
    assert np.corrcoef(features.age[~gaps], FRAME.age[~gaps])[0, 1] == pytest.approx(1)
    assert features.age[gaps].between(-1, 1).all()


def test_the_automatic_model_is_that_of_every_door():
    data = ws.load_dataset(FRAME, split=None)
    expected = ws.fit(data, minutes=0.01, seed=3, progress=False).model
    density = HelmholtzMachineDensity(minutes=0.01, random_state=3).fit(FRAME)
    assert density.architecture_ == ws.describe(expected)
    pairs = zip(jax.tree.leaves(density.model_), jax.tree.leaves(expected), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    passes = density.n_iter_
    assert density.partial_fit(FRAME).n_iter_ == passes + 1


def test_partial_fit_goes_on_with_the_first_rows_schema():
    density = HelmholtzMachineDensity(**TINY).partial_fit(FRAME[:40])
    density.partial_fit(FRAME[40:])
    assert density.n_iter_ == 2
    assert np.isfinite(density.score(FRAME))
