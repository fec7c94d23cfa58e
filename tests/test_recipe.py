import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakesleep.errors import UsageError
from wakesleep.estimators import Reweighted
from wakesleep.recipe import Recipe, named_recipe
from wakesleep.recipe_files import load_recipe
from wakesleep.runs.config import DataConfig, RunConfig, read_config


def test_phases_override_one_after_another():
    more = {"epochs": 500, "estimator": {"samples": 100}, "rate_divisor": 1.005}
    recipe = Recipe(estimator={"dreams": 2}, phases=({"epochs": 1000}, more))
    first, second = recipe.expand()
    assert (first.epochs, first.rate_divisor) == (1000, 1.0)
    assert first.estimator == Reweighted(samples=5, dreams=2)
    assert (second.epochs, second.rate_divisor) == (500, 1.005)
    assert second.estimator == Reweighted(samples=100, dreams=2)
    assert recipe.total_epochs == 1500


def test_a_recipe_is_a_toml_file(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(
        'base = "paper"\nestimator = { samples = 5 }\n'
        "[[phases]]\nepochs = 1000\n"
        "[[phases]]\nepochs = 500\nestimator.samples = 100\nrate_divisor = 1.005\n"
    )
    recipe = load_recipe(path)
    assert recipe.optimiser == "sgd"
    assert [phase.estimator.samples for phase in recipe.expand()] == [5, 100]


def test_a_recipe_of_the_first_release_is_read_as_what_it_meant(tmp_path):
    path = tmp_path / "first.toml"
    path.write_text(
        "samples = 1\nrate_wake_q = 0.0\nrate_sleep_q = 0.5\ndreams = 3\n"
        "[[phases]]\n[[phases]]\nsamples = 25\nrate_wake_q = 1.0\n"
    )
    first, second = load_recipe(path).expand()
    assert first.estimator == Reweighted(samples=1, wake_q=0.0, sleep_q=1.0, dreams=3)
    assert first.rate_q == 0.5
    assert second.estimator == Reweighted(samples=25, wake_q=1.0, sleep_q=0.5, dreams=3)
    assert second.rate_q == 1.0
    path.write_text('estimator = "reweighted"\nrate_wake_q = 0.0\nrate_sleep_q = 0.0\nrate_p = 0.0')
    nothing = load_recipe(path)
    assert nothing.estimator == Reweighted(wake_p=0.0, wake_q=0.0, sleep_q=0.0)
    assert (nothing.rate_p, nothing.rate_q) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("samples = 0", "samples must be 1 or more"),
        ("samples = 2.5", "samples must be a whole number"),
        ("samples = true", "samples must be a whole number"),
        ('learning_rate = "fast"', "learning_rate must be a number"),
        ("learning_rate = -1.0", "learning_rate must be more than 0"),
        ("learning_rate = nan", "learning_rate must be more than 0"),
        ("average = 1.0", "average must be at least 0 and below 1"),
        ('optimiser = "lbfgs"', "optimiser must be one of adam, sgd"),
        ("sample = 5", "no field 'sample'; valid: epochs, estimator, batch_size"),
        ("rate_wake_q = -1", "rate_wake_q must be 0 or more"),
        ("clip = inf", "clip must be 0 or more"),
        ("estimator.samples = 0", "samples must be 1 or more"),
        ("estimator.sample = 5", "estimator 'reweighted' has no option 'sample'; valid: samples"),
        ('estimator = "rewieghted"', "unknown estimator 'rewieghted'; valid: reweighted"),
        ("estimator = 3", "estimator must be a name or a table"),
        ("[[phases]]\nestimator.name = 'x'", "unknown estimator 'x'"),
        ('base = "best"', "no recipe is called 'best'; valid: default, paper"),
        ("phases = 3", "phases must be a list of tables"),
        ("[[phases]]\nepoch = 3", "phase 1 cannot set 'epoch'; valid: epochs"),
        ("[[phases]]\nepochs = 0", "epochs must be 1 or more"),
        ("samples = ", "not a TOML file"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(text, part, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_recipe(path)
    assert part in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_unknown_name_lists_the_named_recipes():
    with pytest.raises(UsageError, match="default, paper"):
        load_recipe("papre")
    assert load_recipe("paper") == named_recipe("paper")


recipes = st.builds(
    Recipe,
    epochs=st.integers(1, 10**6),
    estimator=st.fixed_dictionaries({"samples": st.integers(1, 10**5), "wake_q": st.floats(0, 9)}),
    learning_rate=st.floats(1e-8, 1e3),
    average=st.floats(0, 0.999999),
    optimiser=st.sampled_from(["adam", "sgd"]),
    phases=st.lists(
        st.fixed_dictionaries({}, optional={"epochs": st.integers(1, 99), "clip": st.floats(0, 9)}),
        max_size=3,
    ).map(tuple),
)


@given(recipe=recipes, seed=st.integers(0, 2**31), source=st.text(min_size=1))
def test_config_toml_round_trips(tmp_path_factory, recipe, seed, source):
    config = RunConfig(DataConfig(source, test="t.csv"), "sbn/sbn 3", seed, recipe)
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(config.to_toml().encode())
    assert read_config(path) == config


@given(text=st.text())
def test_any_text_as_config_is_a_usage_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError):
        read_config(path)
