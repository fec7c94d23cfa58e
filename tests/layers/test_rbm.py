"""The RBM as p's top: its scores and samples, its notation, its place in files, what it refuses."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import small_machine
from tests.oracle import all_bits, flat, undirected
from wakesleep.architecture import parse
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.layers import TOPS
from wakesleep.storage import model_header, model_shapes


def test_the_score_is_log_p_up_to_one_constant():
    rbm = small_machine("rbm 3").p[-1]
    exact = undirected.ExactRBM(rbm)
    scores = rbm.log_prob(all_bits(4), jnp.zeros(0))
    np.testing.assert_allclose(scores - exact.log_z, exact.log_prob, atol=1e-5)
    np.testing.assert_allclose(
        jax.nn.sigmoid(rbm.hidden_logits(all_bits(4))),
        exact.joint @ exact.u / exact.joint.sum(1, keepdims=True),
        atol=1e-5,
    )


def test_dreams_of_an_rbm_and_of_layers_below_it_have_the_model_s_distribution(key):
    n = 5_000
    for text in ("rbm 3", "dbn 2-3"):
        machine = small_machine(text)
        x = ws.sample(machine, n, key=key)
        frequency = np.bincount(x @ (1 << np.arange(4)[::-1]), minlength=16) / n
        exact = np.exp(undirected.log_likelihood(machine, all_bits(4)))
        error = np.sqrt(exact * (1 - exact) / n)
        assert np.all(np.abs(frequency - exact) < 4.5 * error + 3 / n)


def test_extreme_weights_give_finite_scores_and_gradients():
    rbm = small_machine("rbm 3").p[-1]
    extreme = jax.tree.map(lambda leaf: 100 * jnp.sign(leaf), rbm)
    score = eqx.filter_value_and_grad(lambda m: m.log_prob(all_bits(4), jnp.zeros(0)).sum())
    value, gradient = score(extreme)
    assert np.isfinite(value)
    assert np.isfinite(flat(gradient)).all()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("RBM 5", "rbm(units=5)"),
        ("rbm", "rbm"),
        ("dbn 5-4", "sbn|rbm(units=5)/sbn 4"),
        ("dbn 6-5-4", "sbn|rbm(units=6)/sbn 5-4"),
        ("nade|sbn|rbm(units=7)/ar_sbn 2-3-4", "nade|sbn|rbm(units=7)/ar_sbn 2-3-4"),
    ],
)
def test_notation_and_files_come_back(text, whole, tmp_path):
    model = small_machine(text)
    assert str(parse(text)) == ws.describe(model) == whole
    ws.save_model(model, tmp_path / "model.safetensors")
    again = ws.load_model(tmp_path / "model.safetensors")
    assert ws.describe(again) == whole
    np.testing.assert_array_equal(flat(again), flat(model))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sbn/rbm(units=2) 5", "an RBM can be the top of p alone"),
        ("rbm(units=2)|sbn/sbn 5", "an RBM can be the top of p alone"),
        ("rbm(units=2)/sbn 5", "write 'sbn|rbm(units=2)/...'"),
        ("rbm 5-4", "neither an RBM with a number of hidden units"),
        ("dbn 5", "neither an RBM with a number of hidden units"),
        ("rbm(units=0)", "option units=0 of layer kind 'rbm' must be 1 or more"),
        ("rbm(hidden=2)", "layer kind 'rbm' has no option 'hidden'; valid: units"),
    ],
)
def test_an_rbm_elsewhere_gets_one_sentence(text, message, key):
    with pytest.raises(ws.UsageError) as caught:
        ws.build(text, features=4, key=key)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


RECORD = {"kind": "rbm", "size": 3, "parents": 0, "options": {"units": 2}}


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("p", {"parents": 2}),
        ("p", {"options": {"units": 10**30}}),
        ("p", {"options": {"units": "2"}}),
        ("p", {"size": 10**30}),
        ("q", {}),
        ("q", {"parents": 4}),
    ],
)
def test_a_hostile_header_is_refused(where, change, tmp_path):
    header = json.loads(json.dumps(model_header(small_machine("dbn 2-3"))))
    assert header["layers"]["p"][1] == RECORD
    header["layers"][where][-1] = {**RECORD, **change}
    with pytest.raises(ws.DataError, match="holds no model"):
        model_shapes({"format": 2, **header}, tmp_path / "model.safetensors")


def test_groups_and_missing_cells_of_a_plain_rbm_get_one_sentence(key):
    with pytest.raises(ws.UsageError, match="units of an RBM are bits by themselves"):
        ws.build("rbm 3", features=4, key=key, groups=(3, 1))
    rows = PackedBits.pack(np.zeros((6, 4), np.uint8))
    masked = MaskedBits(rows, PackedBits.pack(np.ones((6, 4), np.uint8)), (1, 1, 1, 1))
    data = Dataset("rows", masked, masked.take([]), masked.take([]), "bits")
    with pytest.raises(ws.UsageError, match="a plain RBM cannot sum over missing cells"):
        ws.fit("rbm 3", data, ws.Recipe(epochs=1))


def test_only_tops_are_undirected():
    assert set(TOPS) == {"rbm"}
    assert small_machine("sbn/sbn 3").undirected is None
