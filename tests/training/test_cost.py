"""What a training would cost: the arithmetic adds up, and what is not known is said."""

import json

import jax
import pytest

from wakesleep.architecture import build
from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.models import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.cost import Amounts, foretell
from wakesleep.training.work import machine, step_flops, step_passes

FAST = 1e30
RECIPE = Recipe(batch_size=10)


def test_the_arithmetic_of_a_step_is_that_of_its_products():
    """By hand, for p(x | h) of 7 units, h of 3 and q(h | x): K = 5, 10 examples and dreams."""
    wake_p = 2 * 2 * 50 * 7 * 3
    wake_q = 2 * 2 * 10 * 7 * 3
    dreams, sleep_q = 2 * 10 * 7 * 3, 2 * 2 * 10 * 7 * 3
    assert step_flops("sbn/sbn 3", 7, 10, 5) == wake_p + wake_q + dreams + sleep_q
    # Of a NADE without parents, V counts three times, for the rows that are there.
    assert step_flops("nade(hidden=4)", 7, 10, 5) == 2 * 3 * 10 * 7 * 4


def test_combined_layers_are_scored_once_more_than_they_are_drawn():
    """By hand: p(h₁ | h₂) and q(h₂ | h₁) of 3 and 2 units, for the 50 samples of 10 examples."""
    plain, combined = (
        sum(one.flops for one in step_passes(machine("sbn/sbn 2-3", 7), 10, 5, combine=flag))
        for flag in (False, True)
    )
    assert combined - plain == 2 * (2 * 50 * 3 * 2)
    of_nades = step_passes(machine("sbn/nade 2-3", 7), 10, 5, combine=True)
    assert of_nades == step_passes(machine("sbn/nade 2-3", 7), 10, 5)


@pytest.mark.parametrize("architecture", ["darn/nade 4", "nade(hidden=6)"])
def test_shapes_are_those_of_the_machine(architecture):
    built = build(architecture, 9, key=jax.random.key(0))
    assert isinstance(built, HelmholtzMachine)
    count = sum(leaf.size for leaf in jax.tree.leaves(built))
    rates = Amounts(FAST, FAST, FAST, parameters=1.0)
    found = foretell(architecture, 9, 95, RECIPE, rates)
    assert (found.parameters, found.steps) == (count, 10)
    # The optimiser alone is slow here: a second for each parameter.
    assert found.step_seconds == pytest.approx(count, rel=1e-3)
    assert found.epoch_seconds == pytest.approx(10 * found.step_seconds)


def test_time_grows_with_the_rows_and_memory_holds_them():
    rates = Amounts(products=1e9, walk=1e9, units=1e9, parameters=1e9)
    few, many = (foretell("nade/sbn 5", 64, rows, RECIPE, rates) for rows in (10**4, 10**9))
    assert many.epoch_seconds == pytest.approx(10**5 * few.epoch_seconds)
    assert many.memory - few.memory > 7 * 10**9


def test_a_slow_walk_is_a_nades_alone():
    rates = Amounts(FAST, walk=1.0, units=FAST, parameters=FAST)
    walked = sum(3 * 7 * 4 * one.rows for one in step_passes(machine("nade(hidden=4)", 7), 10, 5))
    assert foretell("nade(hidden=4)", 7, 9, RECIPE, rates).step_seconds == pytest.approx(walked)
    assert foretell("ar_sbn/sbn 4", 7, 9, RECIPE, rates).step_seconds < 1


def test_what_is_not_known_is_refused():
    with pytest.raises(UsageError, match="reweighted"):
        foretell("sbn/sbn 3", 7, 9, Recipe(estimator="vimco"))
    for architecture in ("rbm 4", "eonade"):
        with pytest.raises(UsageError, match="not known"):
            foretell(architecture, 7, 9, RECIPE)


def test_the_command_measures_this_machine(capsys):
    words = ["info", "--cost", "nade/sbn 20", "--features", "100", "--rows", "10000"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 100
    assert 1e-5 < found["step_seconds"] < 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cost", "sbn/sbn 5", "--rows", "9"], "--features"),
        (["--cost", "sbn/sbn 5", "--features", "9"], "--rows"),
        (["--cost", "sbm/sbn 5", "--features", "9", "--rows", "9"], "unknown layer kind 'sbm'"),
        (["--cost", "sbn", "--features", "0", "--rows", "9"], "features must be 1 or more"),
        (["--features", "9"], "--cost"),
    ],
)
def test_a_wrong_question_is_answered_in_a_sentence(words, said, capsys):
    assert main(["info", *words]) == 2
    assert said in capsys.readouterr().err
