"""Groups of units in every kind of layer, against level probabilities worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.oracle import (
    every_row,
    flat,
    grouped_log_likelihood,
    layer_logits,
    row_log_prob,
    sharpen,
)
from wakesleep import kernels
from wakesleep.architecture import build, describe
from wakesleep.errors import UsageError
from wakesleep.layers import (
    BERNOULLI,
    LAYERS,
    Groups,
    create_layer,
    emission_of,
    initialisation,
    option_rules,
)
from wakesleep.layers import with_emission as emitting
from wakesleep.models import Masked
from wakesleep.storage import load_model, save_model

SIZES = (3, 1, 2, 4, 1)
D = sum(SIZES)
PARENTS = 3
Y = jnp.array([1.0, 0.0, 1.0])


ROWS = every_row(SIZES)


KINDS = [*LAYERS, *(f"{kind} in order" for kind in LAYERS if "order" in option_rules(kind))]


def layer_of(name, key, parents=PARENTS):
    kind, *ordered = name.split(" in ")
    options = {"order": 2} if ordered else {}
    made = create_layer(kind, key, D, parents, initialisation("default"), options)
    return emitting(sharpen(made, key, scale=1.0), Groups(SIZES))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_the_definition_s_and_sum_to_one_over_all_levels(kind, key):
    layer = layer_of(kind, key)
    log_prob = np.asarray(layer.log_prob(jnp.asarray(ROWS), Y), np.float64)
    logits = np.asarray(layer_logits(layer, ROWS, np.tile(Y, (len(ROWS), 1))))
    expected = [row_log_prob(each, row, SIZES) for each, row in zip(logits, ROWS, strict=True)]
    np.testing.assert_allclose(log_prob, expected, atol=2e-5)
    assert np.exp(log_prob).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kernel", ["native", "reference"])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_legal_and_as_frequent_as_their_probability(kind, kernel, key, monkeypatch):
    if kernel == "reference":
        monkeypatch.setattr(kernels.native, "serves", lambda *arrays: False)
    layer, count = layer_of(kind, key), 40_000
    x, log_prob = layer.sample_with_log_prob(key, Y, (count,))
    numbers = {row.tobytes(): i for i, row in enumerate(ROWS)}
    drawn = [numbers[row.tobytes()] for row in np.asarray(x)]
    np.testing.assert_allclose(log_prob, layer.log_prob(x, Y), atol=1e-4)
    p = np.exp(np.asarray(layer.log_prob(jnp.asarray(ROWS), Y), np.float64))
    seen = np.bincount(drawn, minlength=len(ROWS))
    z = (seen - count * p) / np.sqrt(count * p * (1 - p) + 1)
    assert np.abs(z).max() < 5


@pytest.mark.parametrize("kind", KINDS)
def test_units_never_see_their_own_group_s_others(kind, key):
    """Given the groups before it, a group's level probabilities sum to one, whatever they are."""
    layer = layer_of(kind, key)
    for before in (ROWS[0], ROWS[60]):
        rows = np.tile(before, (SIZES[3], 1))
        rows[:, 6:10] = np.eye(4)
        logits = layer.conditional_logits(jnp.asarray(rows), Y)
        only = jnp.zeros(D, bool).at[6:10].set(True)
        log_levels = layer.log_prob_observed(jnp.asarray(rows), logits, only)
        assert np.exp(np.asarray(log_levels, np.float64)).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_given_groups_stay_and_the_others_are_drawn_by_their_conditional(kind, key):
    layer = layer_of(kind, key)
    given = ROWS[37]
    observed = np.repeat([True, False, True, False, True], SIZES)
    count = 20_000
    x = jnp.broadcast_to(given, (count, D))
    drawn, logits = layer.draw_unobserved(key, x, jnp.asarray(observed), layer.preactivations(Y))
    assert np.all(np.asarray(drawn)[:, observed] == given[observed])
    fits = ROWS[(given == ROWS)[:, observed].all(1)]
    # Each missing group given all before it: the observed ones behind it do not count.
    terms = layer.log_prob_observed(
        jnp.asarray(fits), layer.conditional_logits(jnp.asarray(fits), Y), jnp.asarray(~observed)
    )
    p = np.exp(np.asarray(terms, np.float64))
    assert p.sum() == pytest.approx(1, abs=1e-5)
    seen = np.array([(np.asarray(drawn) == row).all(1).sum() for row in fits])
    z = (seen - count * p) / np.sqrt(count * p * (1 - p) + 1)
    assert np.abs(z).max() < 5
    assert logits.shape == (count, D)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_the_log_probability(kind, key):
    layer = layer_of(kind, key)
    x, direction = jnp.asarray(ROWS[11]), jax.random.normal(key, (len(flat(layer)),))

    def moved(step):
        leaves, structure = jax.tree.flatten(layer)
        sizes = np.cumsum([leaf.size for leaf in leaves])[:-1]
        parts = jnp.split(step * direction, sizes)
        added = [leaf + part.reshape(leaf.shape) for leaf, part in zip(leaves, parts, strict=True)]
        return jax.tree.unflatten(structure, added).log_prob(x, Y)

    slope = float(jax.grad(moved)(0.0))
    difference = (float(moved(1e-2)) - float(moved(-1e-2))) / 2e-2
    assert slope == pytest.approx(difference, rel=2e-2, abs=2e-3)


def test_a_rare_level_is_drawn_as_rarely_as_it_is():
    """One in 10^9 with 4 * 10^6 draws: a float32 uniform would draw it far too often or never."""
    emission = Groups((2,))
    rare, common = jnp.array([-np.log(1e9), 0.0]), jnp.array([-np.log(1e4), 0.0])
    keys = jax.random.split(jax.random.key(0), 2)
    assert float(emission.sample(keys[0], rare, (4_000_000,))[0][:, 0].sum()) <= 1
    hits = float(emission.sample(keys[1], common, (4_000_000,))[0][:, 0].sum())
    assert abs(hits - 400) < 5 * 20


def test_means_are_the_level_probabilities(key):
    emission = Groups(SIZES)
    logits = 3 * jax.random.normal(key, (D,))
    mean = np.asarray(emission.mean(logits), np.float64)
    p = np.array([np.exp(row_log_prob(np.asarray(logits), row, SIZES)) for row in ROWS])
    np.testing.assert_allclose(mean, p @ ROWS, atol=1e-6)


def test_biases_start_at_the_frequencies_of_the_levels():
    emission = Groups(SIZES)
    mean = jnp.array([0.2, 0.5, 0.3, 0.9, 0.25, 0.75, 0.1, 0.2, 0.3, 0.4, 0.6])
    started = emission.mean(emission.bias_for(mean))
    np.testing.assert_allclose(started, mean, rtol=1e-5)


def test_groups_of_one_are_plain_bits():
    assert emission_of((1, 1, 1), 3) is BERNOULLI
    assert emission_of(None, 3) is BERNOULLI
    with pytest.raises(UsageError, match="groups of 3 units do not make up 4"):
        emission_of((2, 1), 4)


@pytest.mark.parametrize(
    "text", ["nade(order=2)/sbn 3", "sbn/nade 2-3", "darn|sbn/sbn 2-3", "nade"]
)
@pytest.mark.parametrize("masked", [False, True])
def test_machines_with_groups_are_saved_loaded_and_described(text, masked, key, tmp_path):
    machine = build(text, D, key=key, groups=SIZES, masked=masked)
    assert machine.groups == SIZES
    assert machine.sees_mask == (masked and bool(machine.q))
    assert describe(machine) == text
    save_model(machine, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.p[0].emission == machine.p[0].emission
    assert jax.tree.structure(loaded) == jax.tree.structure(machine)


@pytest.mark.parametrize("text", ["sbn/sbn 3", "nade(order=2)/sbn 3", "ar_sbn/nade 2-2"])
@pytest.mark.parametrize("sees_mask", [False, True])
def test_weights_of_rows_with_missing_cells_are_unbiased(text, sees_mask, key):
    """The mean weight is p of what was observed, by listing every row and every latent state."""
    machine = build(text, D, key=key, groups=SIZES, masked=sees_mask)
    machine = sharpen(machine, key, scale=0.7)
    log_p = grouped_log_likelihood(machine, ROWS, SIZES)
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-6)
    observed = np.array([1, 0, 1, 0, 1], np.float32)
    units = np.repeat(observed > 0, SIZES)
    row = ROWS[71]
    exact = np.exp(log_p[(row == ROWS)[:, units].all(1)]).sum()
    x = Masked(jnp.asarray(row * units)[None], jnp.asarray(observed)[None])
    weights = np.exp(np.asarray(machine.draw(key, x, 40_000).log_weights, np.float64))[0]
    error = weights.std() / np.sqrt(len(weights))
    assert abs(weights.mean() - exact) < 5 * error
