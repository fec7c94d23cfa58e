"""Optimisers: the paper's rule, and one native pass that is Optax's chain to round-off."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.kernels import oracle
from tests.oracle import flat
from wakesleep.architecture import build
from wakesleep.kernels import native
from wakesleep.recipe import Recipe
from wakesleep.training.optimisers import MOMENTUM, Moving, build_optimiser

STEPS = 4


@pytest.fixture(scope="module")
def model():
    return build("sbn/nade 5-90", features=70, key=jax.random.key(0))


def gradients_of(model, step):
    leaves, structure = jax.tree.flatten(model)
    random = np.random.default_rng(step)
    return structure.unflatten(
        [jnp.asarray(random.normal(size=leaf.shape), jnp.float32) for leaf in leaves]
    )


def walk(optimiser, model, first=0, moving=None):
    """Some steps, with a rate that falls; where they lead, and the norms of all gradients."""
    moving, norms = moving or Moving(model, model, optimiser.init(model)), []
    move = jax.jit(optimiser.move)
    for step in range(first, first + STEPS):
        rate = jnp.asarray(0.01 / (step + 1))
        moving, norm = move(moving, gradients_of(model, step), rate, jnp.asarray(step))
        norms.append(norm)
    return moving, norms


def assert_round_off(tree, expected_tree):
    leaves = zip(jax.tree.leaves(tree), jax.tree.leaves(expected_tree), strict=True)
    for actual, expected in leaves:
        assert actual.dtype == expected.dtype
        oracle.assert_round_off(actual, expected, 1e-6)


PHASES = [
    Recipe(),
    Recipe(weight_decay=0.0, average=0.0, rate_p=0.5),
    Recipe(clip=0.3, rate_q=0.0),
    Recipe(optimiser="sgd", batch_size=25, average=0.0),
    Recipe(optimiser="sgd", batch_size=25, clip=2.0, weight_decay=0.0),
]


@pytest.mark.skipif(native.status().in_use != "native", reason="needs the compiled kernels")
@pytest.mark.parametrize("phase", PHASES)
def test_one_native_pass_is_the_optax_chain_to_round_off(model, phase):
    optimiser = build_optimiser(phase)
    one_pass, norms = walk(optimiser, model)
    chain, expected_norms = walk(optimiser._replace(native=None), model)
    assert jax.tree.structure(one_pass) == jax.tree.structure(chain)
    assert_round_off((one_pass, norms), (chain, expected_norms))
    # A run that one of them began is gone on with by the other.
    crossed = walk(optimiser, model, STEPS, chain)[0]
    stayed = walk(optimiser, model, STEPS, one_pass)[0]
    assert_round_off(crossed, stayed)


def test_another_type_than_float32_goes_through_optax(model):
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.float16), model)
    optimiser = build_optimiser(Recipe())
    moving = Moving(half, half, optimiser.init(half))
    text = str(jax.make_jaxpr(optimiser.move)(moving, half, jnp.asarray(0.1), jnp.asarray(0)))
    assert "wakesleep_optimiser_step" not in text


def test_sgd_is_the_paper_s_damped_momentum_on_the_summed_objective(model):
    phase = Recipe(optimiser="sgd", batch_size=25, weight_decay=0.0)
    momentum, expected, buffer = MOMENTUM.first_decay, flat(model), 0
    for step in range(STEPS):
        gradient = flat(gradients_of(model, step))
        buffer = momentum * buffer + (1 - momentum) * 0.01 / (step + 1) * 25 * gradient
        expected = expected - buffer
    np.testing.assert_allclose(
        flat(walk(build_optimiser(phase), model)[0].model), expected, atol=1e-5
    )


def test_adam_s_average_and_decay_in_double_precision(model):
    phase = Recipe(weight_decay=0.1, average=0.9)
    value = average = flat(model)
    first, second = 0, 0
    for step in range(STEPS):
        gradient, count = flat(gradients_of(model, step)), step + 1
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        size = np.sqrt(second / (1 - 0.999**count)) + 1e-8
        value = value - 0.01 / count * (first / (1 - 0.9**count) / size + 0.1 * value)
        average = average + max(0.1, 1 / (1 + 0.1 * step)) * (value - average)
    moving, _ = walk(build_optimiser(phase), model)
    np.testing.assert_allclose(flat(moving.model), value, atol=1e-5)
    np.testing.assert_allclose(flat(moving.average), average, atol=1e-5)
