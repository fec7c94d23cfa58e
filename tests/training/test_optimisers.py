"""Optimisers: the paper's rule, and one native pass that is Optax's chain to round-off."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.kernels import oracle
from tests.oracle import flat
from wakesleep.architecture import build
from wakesleep.data import Dataset, PackedBits
from wakesleep.kernels import native
from wakesleep.recipe import Recipe
from wakesleep.training import fit
from wakesleep.training.optimisers import MOMENTUM, Moving, build_optimiser

STEPS = 4


@pytest.fixture(scope="module")
def model():
    return build("sbn|ar_sbn/nade 5-90", features=70, key=jax.random.key(0))


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
    Recipe(sparsity=2.0),
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


def test_sparsity_takes_its_threshold_from_autoregressive_weights_and_from_no_others():
    model = build("darn/sbn 3", features=6, key=jax.random.key(1))
    scale = jnp.linspace(-0.03, 0.03, 36).reshape(6, 6)
    model = eqx.tree_at(lambda each: each.p[0].inner.S, model, scale)
    nothing = jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_inexact_array))
    optimiser = build_optimiser(Recipe(sparsity=2.0, weight_decay=0.0, average=0.0))
    moving = Moving(model, model, optimiser.init(model))
    moved, _ = optimiser.move(moving, nothing, jnp.asarray(0.01), jnp.asarray(0))
    expected = np.where(np.abs(scale) > 0.02, scale - 0.02 * np.sign(scale), 0)
    np.testing.assert_allclose(moved.model.p[0].inner.S, expected, atol=1e-7)
    assert 0 < np.count_nonzero(moved.model.p[0].inner.S) < 36
    before = eqx.tree_at(lambda each: each.p[0].inner.S, model, moved.model.p[0].inner.S)
    np.testing.assert_array_equal(
        flat(eqx.tree_at(lambda each: each.p[1].S, before, moved.model.p[1].S)), flat(moved.model)
    )


def test_sparsity_leaves_out_columns_that_say_nothing():
    """Two columns that are alike, and eighteen that are tossed: 200 rows teach noise without it."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 2, (400, 20), dtype=np.uint8)
    rows[:, 1] = rows[:, 0]
    data = Dataset("tosses", *map(PackedBits.pack, (rows[:200], rows[200:], rows[:0])), "bits")
    found = {}
    for sparsity in (0.0, 0.3):
        recipe = Recipe(epochs=60, batch_size=10, weight_decay=0.0, sparsity=sparsity)
        result = fit("ar_sbn", data, recipe, seed=0, progress=False)
        noise = np.abs(np.tril(result.model.p[0].S, -1))
        noise[1, 0] = 0
        found[sparsity] = noise.mean(), float(result.model.p[0].S[1, 0])
    assert found[0.3][0] < 0.5 * found[0.0][0]
    assert found[0.3][1] > 1
