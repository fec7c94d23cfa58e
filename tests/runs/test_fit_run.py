"""`ws.fit_run`: any latent model in a folder, interrupted and gone on with to the same bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.report.page import Page
from tests.runs.runs import BARE, StopAfter, assert_same_arrays, assert_same_run
from wakesleep.cli import main
from wakesleep.errors import DataError, UsageError
from wakesleep.report import write_report
from wakesleep.runs.start import resume_run

RECIPE = ws.Recipe(
    epochs=3, batch_size=25, validation_samples=3, estimator={"samples": 3, "sleep_q": 1.0}
)


def normal(x, mean):
    return -0.5 * jnp.sum((x - mean) ** 2)


def gaussian():
    """h ~ N(0, 1), x ~ N(w h + b, 1) in two dimensions, q(h | x) = N(v x + c, 1)."""

    def sample_p(theta, key):
        key_h, key_x = jax.random.split(key)
        h = jax.random.normal(key_h)
        return {"x": theta["w"] * h + theta["b"] + jax.random.normal(key_x, (2,))}, h

    return ws.FunctionModel(
        {"w": jnp.array([0.5, -0.5]), "b": jnp.zeros(2)},
        {"v": jnp.zeros(2), "c": 0.0},
        lambda theta, x, h: normal(h, 0.0) + normal(x["x"], theta["w"] * h + theta["b"]),
        lambda phi, h, x: normal(h, phi["v"] @ x["x"] + phi["c"]),
        lambda phi, x, key: phi["v"] @ x["x"] + phi["c"] + jax.random.normal(key),
        sample_p,
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 1)) * [1.0, -1.0] + rng.normal(size=(100, 2)) + [1, 0]
    x = x.astype(np.float32)
    return ws.array_dataset({"x": x[:80]}, {"x": x[80:]}, name="pairs")


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    ws.fit_run(path, gaussian(), data, RECIPE, seed=3)
    return path


def test_a_function_model_in_a_folder_is_what_fit_gives(whole, data):
    fitted = ws.fit(gaussian(), data, RECIPE, seed=3, progress=False)
    run = ws.load_run(whole, data, model=gaussian())
    assert_same_arrays(run.model, fitted.model)
    assert len(run.history) == 3
    assert run.config.model == "function"
    assert (run.model.theta["w"] != gaussian().theta["w"]).all()


def test_an_interrupted_function_model_goes_on_to_the_same_bits(whole, data, tmp_path):
    half = tmp_path / "half"
    result = ws.fit_run(half, gaussian(), data, RECIPE, seed=3, options=StopAfter(1).options)
    assert not result.snapshot.finished
    assert ws.fit_run(half, gaussian(), data, RECIPE, seed=3).snapshot.finished
    assert_same_run(whole, half, data, gaussian())


def test_another_run_in_the_folder_is_not_gone_on_with(data, tmp_path):
    path = tmp_path / "run"
    ws.fit_run(path, gaussian(), data, RECIPE, seed=3, options=StopAfter(1).options)

    def refused(match, model=None, rows=data, recipe=RECIPE, seed=3):
        with pytest.raises(UsageError, match=match):
            ws.fit_run(path, model or gaussian(), rows, recipe, seed=seed)

    refused("another seed", seed=4)
    refused("another recipe", recipe=ws.Recipe(epochs=3))
    shifted = ws.array_dataset({"x": data.train.tree["x"] + 1}, {"x": data.valid.tree["x"]})
    refused("the contents of train are others", rows=shifted)
    ws.fit_run(path, gaussian(), data, RECIPE, seed=3)
    refused("finished run: ws.load_run reads it")


def test_what_needs_the_functions_or_the_data_says_so(whole, data, tmp_path, capsys):
    with pytest.raises(UsageError, match="model given in Python"):
        _ = ws.load_run(whole, data).model
    with pytest.raises(UsageError, match="given in Python: pass them"):
        _ = ws.load_run(whole).data
    other = ws.FunctionModel(jnp.zeros(3), jnp.zeros(3), *gaussian().functions)
    with pytest.raises(DataError, match="other parameters"):
        _ = ws.load_run(whole, data, model=other).model
    assert main(["train", "--resume", str(whole)]) == 2
    assert "ws.fit_run" in capsys.readouterr().err
    assert main(["sample", str(whole), "--out", str(tmp_path / "x.csv")]) == 2
    assert "given in Python" in capsys.readouterr().err


def test_a_function_model_has_a_page_of_curves(whole):
    page = Page(write_report(whole))
    assert "function on pairs" in page.text
    assert "80 / 20 / 0 rows (train / valid / test) of arrays" in page.text
    assert len(page.all("svg")) == 2
    assert not page.all("img")


def test_a_machine_in_a_folder_is_the_command_line_s_run(tmp_path):
    recipe = ws.Recipe(epochs=2, batch_size=100, validation_samples=2)
    data = ws.load_dataset("digits")
    ws.fit_run(tmp_path / "here", "sbn/sbn 3", data, recipe, seed=1, options=StopAfter(1).options)
    ws.fit_run(tmp_path / "here", "sbn/sbn 3", data, recipe, seed=1, options=BARE)
    words = ["train", "digits", "--model", "sbn/sbn 3", "--epochs", "2", "--seed", "1"]
    (tmp_path / "recipe.toml").write_text("validation_samples = 2\n")
    words += ["--recipe", str(tmp_path / "recipe.toml"), "--quiet", "--no-diagnostics"]
    assert main([*words, "--out", str(tmp_path / "there")]) == 0
    assert_same_run(tmp_path / "there", tmp_path / "here", data)


def test_a_machine_with_parameters_of_its_own_starts_from_them_wherever_it_goes_on(tmp_path):
    recipe, data = ws.Recipe(epochs=2, validation_samples=2), ws.load_dataset("digits")
    model = ws.build("sbn/sbn 3", features=64, key=jax.random.key(5))
    fitted = ws.fit(model, data, recipe, progress=False).model
    stopped = StopAfter(0).options
    ws.fit_run(tmp_path / "run", model, data, recipe, options=stopped)
    with pytest.raises(UsageError, match="given in Python"):
        resume_run(tmp_path / "run", BARE)
    resume_run(tmp_path / "run", BARE, data=data)
    assert_same_arrays(ws.load_run(tmp_path / "run").model, fitted)
