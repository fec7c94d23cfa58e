"""The oracle itself: sums done on paper, derivatives by differences, and what it may import."""

import ast
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests import oracle
from tests.machines import FEATURES, MIXED, SMALL, small_machine
from tests.oracle import flat, sharpen
from tests.oracle.layers import NONLINEARITIES
from wakesleep.layers import LAYERS, create_layer, initialisation
from wakesleep.models import HelmholtzMachine

X = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]])


def layer(kind, size, parents, **arrays):
    made = create_layer(kind, jax.random.key(0), size, parents, initialisation("default"))
    for name, value in arrays.items():
        old = getattr(made, name)
        new = jnp.asarray(value, jnp.float32).reshape(old.shape)
        made = eqx.tree_at(lambda m, name=name: getattr(m, name), made, new)
    return made


def mixed_machine(scale=1.0):
    """Another kind in every layer."""
    key, start = jax.random.key(3), initialisation("default")
    kinds = (("nade", FEATURES, 2), ("darn", 2, 3), ("sbn", 3, 2), ("ar_sbn", 2, 0))
    units = {"units": 2, "nonlinearity": "sigmoid"}
    p = tuple(create_layer(kind, key, size, parents, start) for kind, size, parents in kinds)
    q = (
        create_layer("sbn", key, 2, FEATURES, start, units),
        create_layer("nade", key, 3, 2, start),
        create_layer("ar_sbn", key, 2, 3, start, {"units": 2, "nonlinearity": "relu"}),
    )
    return sharpen(HelmholtzMachine(p, q), key, scale=scale)


@pytest.fixture(params=[*SMALL, MIXED[-1], "mixed"])
def machine(request):
    return mixed_machine() if request.param == "mixed" else small_machine(request.param)


@pytest.mark.parametrize("file", sorted(Path(oracle.__file__).parent.glob("*.py")), ids=str)
def test_the_oracle_imports_nothing_of_the_package(file):
    imports = [
        name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [node.names[0].name])
    ]
    assert imports
    assert not [name for name in imports if name.split(".")[0] == "wakesleep"]


def one_latent_bit():
    """p(h=1) = 1/4; p(x=1 | h) is 1/5 and 2/3. q(h=1 | x) is 1/2 and 3/4."""
    p = (
        layer("sbn", 1, 1, W=np.log(2) - np.log(1 / 4), b=np.log(1 / 4)),
        layer("sbn", 1, 0, b=np.log(1 / 3)),
    )
    return HelmholtzMachine(p, (layer("sbn", 1, 1, W=np.log(3), b=0.0),))


def test_one_latent_bit_on_paper():
    machine, x = one_latent_bit(), np.array([[0.0], [1.0]])
    joint = np.array([[3 / 5, 1 / 12], [3 / 20, 1 / 6]])
    np.testing.assert_allclose(np.exp(oracle.exact_log_joint(machine, x)), joint, rtol=1e-6)
    likelihood = np.array([41 / 60, 19 / 60])
    np.testing.assert_allclose(np.exp(oracle.exact_log_likelihood(machine, x)), likelihood, 1e-6)
    posterior = np.array([[36 / 41, 5 / 41], [9 / 19, 10 / 19]])
    np.testing.assert_allclose(oracle.exact_posterior(machine, x), posterior, rtol=1e-6)
    (means,) = oracle.exact_posterior_means(machine, x)
    np.testing.assert_allclose(means, posterior[:, 1:], rtol=1e-6)
    q = np.array([[1 / 2, 1 / 2], [1 / 4, 3 / 4]])
    np.testing.assert_allclose(np.exp(oracle.exact_log_q(machine, x)), q, rtol=1e-6)
    bound = (q * np.log(joint / q)).sum(1)
    np.testing.assert_allclose(oracle.exact_bound(machine, x), bound, rtol=1e-6)
    unseen = oracle.exact_conditionals(machine, np.array([0.0]), np.array([True]))
    np.testing.assert_allclose(unseen, [19 / 60], rtol=1e-6)


def test_gradients_of_one_latent_bit_on_paper():
    machine, x = one_latent_bit(), np.array([[1.0]])
    # Given x = 1: the posterior is (9, 10) / 19 and the residuals of x are 4/5 and 1/3.
    visible, top = oracle.exact_p_gradient(machine, x)
    np.testing.assert_allclose(visible.W, [[10 / 19 / 3]], rtol=1e-6)
    np.testing.assert_allclose(visible.b, [9 / 19 * 4 / 5 + 10 / 19 / 3], rtol=1e-6)
    np.testing.assert_allclose(top.b, [10 / 19 - 1 / 4], rtol=1e-6)
    (wake,) = oracle.exact_wake_q_gradient(machine, x)
    np.testing.assert_allclose([wake.W[0, 0], wake.b[0]], 2 * [10 / 19 - 3 / 4], rtol=1e-6)
    # p(x=0, h) = (3/5, 1/12), p(x=1, h) = (3/20, 1/6), against q(h=1 | x) = 1/2 and 3/4.
    (sleep,) = oracle.exact_sleep_q_gradient(machine)
    slope = 1 / 6 - 3 / 4 * 19 / 60
    np.testing.assert_allclose(sleep.W, [[slope]], rtol=1e-6)
    np.testing.assert_allclose(sleep.b, [slope + 1 / 12 - 41 / 120], rtol=1e-6)


def test_two_units_of_a_nade_on_paper():
    nade = layer(
        "nade", 2, 1, W=[[np.log(3)], [7.0]], V=[[4.0], [8.0]], U_a=0.0, U_b=[1.0, 2.0],
        a=0.0, b=[0.5, -6.0],
    )  # fmt: skip
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    # The hidden unit is σ(0) = 1/2, and σ(log 3) = 3/4 after x₁ = 1; x₂ is seen by nobody.
    given_0 = [[2.5, -2.0], [2.5, -2.0], [2.5, 0.0], [2.5, 0.0]]
    np.testing.assert_allclose(oracle.layer_logits(nade, x, np.zeros((1, 1))), given_0, atol=1e-5)
    given_1 = np.add(given_0, [1.0, 2.0])
    np.testing.assert_allclose(oracle.layer_logits(nade, x, np.ones((1, 1))), given_1, atol=1e-5)
    on, half = 1 / (1 + np.exp(-2.5)), np.log(1 / 2)
    log_prob = oracle.layer_log_prob(nade, x, np.zeros((1, 1)))
    np.testing.assert_allclose(log_prob[2:], np.log(on) + half, rtol=1e-6)


def test_an_ar_sbn_and_its_deterministic_units_on_paper():
    S = [[9.0, 9.0], [3.0, 9.0]]
    ar_sbn = layer("ar_sbn", 2, 1, W=[[1.0], [2.0]], S=S, b=[0.25, 0.5])
    x, y = np.array([[1.0, 1.0]]), np.array([[1.0]])
    np.testing.assert_allclose(oracle.layer_logits(ar_sbn, x, y), [[1.25, 5.5]])
    darn = layer("darn", 2, 1, A=1.0, c=-0.5)
    darn = eqx.tree_at(lambda m: m.inner, darn, ar_sbn)
    seen = np.tanh(0.5)
    expected = [[0.25 + seen, 3.5 + 2 * seen]]
    np.testing.assert_allclose(oracle.layer_logits(darn, x, y), expected)


def test_an_unknown_kind_is_an_error_not_a_guess(key):
    class Other(eqx.Module):
        W: jax.Array
        b: jax.Array
        z: jax.Array

    with pytest.raises(LookupError, match=r"\['W', 'b', 'z'\]"):
        oracle.layer_logits(Other(*3 * [jnp.ones((1, 1))]), X[:, :1], X[:, :1])


def differences(objective, tree, step=1e-5):
    """Central differences of a function of a tree, in float64 and in the leaves' order."""
    leaves, structure = jax.tree.flatten(jax.tree.map(lambda a: np.asarray(a, np.float64), tree))
    slopes = []
    for place, leaf in enumerate(leaves):
        for entry in np.ndindex(leaf.shape):
            ends = []
            for sign in (1, -1):
                moved = [each.copy() for each in leaves]
                moved[place][entry] += sign * step
                ends.append(objective(jax.tree.unflatten(structure, moved)))
            slopes.append((ends[0] - ends[1]) / (2 * step))
    return np.array(slopes)


def with_p(machine, p):
    return eqx.tree_at(lambda m: m.p, machine, p)


def with_q(machine, q):
    return eqx.tree_at(lambda m: m.q, machine, q)


def test_gradients_are_the_slopes_of_what_they_say(machine):
    """Worked out by hand in one place, by differences of the values in the other."""
    slopes = differences(
        lambda p: oracle.exact_log_likelihood(with_p(machine, p), X).mean(), machine.p
    )
    np.testing.assert_allclose(flat(oracle.exact_p_gradient(machine, X)), slopes, atol=1e-8)
    assert np.abs(slopes).max() > 0.05

    def wake(q):
        log_q = oracle.exact_log_q(with_q(machine, q), X)
        return (oracle.exact_posterior(machine, X) * log_q).sum(-1).mean()

    slopes = differences(wake, machine.q)
    np.testing.assert_allclose(flat(oracle.exact_wake_q_gradient(machine, X)), slopes, atol=1e-8)
    every = np.asarray(oracle.all_bits(FEATURES))

    def sleep(q):
        log_q = oracle.exact_log_q(with_q(machine, q), every)
        return (np.exp(oracle.exact_log_joint(machine, every)) * log_q).sum()

    slopes = differences(sleep, machine.q)
    np.testing.assert_allclose(flat(oracle.exact_sleep_q_gradient(machine)), slopes, atol=1e-8)


@pytest.mark.parametrize("nonlinearity", NONLINEARITIES)
@pytest.mark.parametrize("kind", ["sbn", "ar_sbn", "nade"])
def test_gradients_pass_through_every_nonlinearity(kind, nonlinearity):
    text = f"{kind}(units=2, nonlinearity={nonlinearity})/sbn 3"
    machine = small_machine(text)
    slopes = differences(
        lambda p: oracle.exact_log_likelihood(with_p(machine, p), X).mean(), machine.p
    )
    np.testing.assert_allclose(flat(oracle.exact_p_gradient(machine, X)), slopes, atol=1e-8)


def test_all_probabilities_sum_to_one(machine):
    every = oracle.all_bits(FEATURES)
    assert np.exp(oracle.exact_log_joint(machine, every)).sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.exp(oracle.exact_log_q(machine, every)).sum(-1), 1, atol=1e-12)


def test_the_machine_agrees_with_the_oracle_state_by_state(machine):
    """What every enumeration test rests on: package and oracle compute the same thing."""
    every, states = oracle.all_bits(FEATURES), oracle.all_latents(machine)
    h = tuple(each[None] for each in states)
    log_joint = machine.log_joint(every[:, None], h)
    np.testing.assert_allclose(log_joint, oracle.exact_log_joint(machine, every), rtol=2e-5)
    log_q = machine.log_q(h, every[:, None])
    np.testing.assert_allclose(log_q, oracle.exact_log_q(machine, every), rtol=2e-5, atol=2e-6)
    assert oracle.state_numbers(states).tolist() == list(range(len(states[0])))


@pytest.mark.parametrize("parents", [0, 3])
@pytest.mark.parametrize("kind", LAYERS)
def test_every_registered_kind_is_known_to_the_oracle(kind, parents, key):
    made = sharpen(create_layer(kind, key, 4, parents, initialisation("default")), key)
    x, y = oracle.all_bits(4)[:, None], oracle.all_bits(parents)[None]
    np.testing.assert_allclose(
        made.log_prob(x, y), oracle.layer_log_prob(made, x, y), rtol=2e-5, atol=2e-6
    )


def test_machines_without_latents_have_one_state():
    machine = small_machine("nade(hidden=3)")
    every = oracle.all_bits(FEATURES)
    log_joint = oracle.exact_log_joint(machine, every)
    assert log_joint.shape == (16, 1)
    assert np.exp(log_joint).sum() == pytest.approx(1, abs=1e-12)
    slopes = differences(
        lambda p: oracle.exact_log_likelihood(with_p(machine, p), X).mean(), machine.p
    )
    np.testing.assert_allclose(flat(oracle.exact_p_gradient(machine, X)), slopes, atol=1e-8)
