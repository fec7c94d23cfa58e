import os
import pickle
import stat

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests.machines import MIXED, SMALL, architectures, small_machine
from tests.model_files import refusal, rewrite
from tests.oracle import flat
from wakesleep.architecture import build, describe
from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError, UsageError, WakesleepError
from wakesleep.models import FunctionModel
from wakesleep.storage import (
    load_arrays,
    load_model,
    named_leaves,
    read_header,
    save_arrays,
    save_model,
)


@pytest.mark.parametrize("text", [*SMALL, *MIXED, "nade(hidden=5, units=2)/sbn(units=3) 2-3"])
def test_a_model_comes_back_bit_for_bit(text, tmp_path):
    model = small_machine(text)
    path = tmp_path / "deep" / "model.safetensors"
    save_model(model, path, commit="abc")
    again = load_model(path)
    assert describe(again) == describe(model)
    np.testing.assert_array_equal(flat(again), flat(model))
    assert jax.tree.structure(again) == jax.tree.structure(model)
    assert read_header(path)["notes"] == {"commit": "abc"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(small_machine("sbn/sbn 2-3"), path)
    return path


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for length in (0, 4, 8, 50, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:length])
        assert "truncated" in refusal(saved)


def test_a_flipped_bit_is_refused(saved):
    content = bytearray(saved.read_bytes())
    content[-3] ^= 4
    saved.write_bytes(bytes(content))
    assert "checksum" in refusal(saved)


def test_every_edit_of_a_header_is_refused(saved):
    content = saved.read_bytes()
    for old, new in ((b"sbn/sbn", b"sbn/sbm"), (b"features", b"featured"), (b"size", b"sign")):
        saved.write_bytes(content.replace(old, new, 1))
        assert "its header does not match its checksum" in refusal(saved)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    assert "no file" in refusal(path)
    save_file({"w": np.zeros(3, np.float32)}, path)
    assert "not written by wakesleep" in refusal(path)
    path.write_bytes(pickle.dumps({"w": 1}))
    assert "not a safetensors file" in refusal(path)
    save_file({"w": np.zeros(3, np.float32)}, path, metadata={"wakesleep": '{"format": 99}'})
    assert "format 99" in refusal(path)
    save_file({"w": np.zeros(3, np.float32)}, path, metadata={"wakesleep": '{"format": 1}'})
    assert "no architecture" in refusal(path)
    save_file({"w": np.zeros(3, np.float32)}, path, metadata={"wakesleep": '{"format": 2}'})
    assert "lists no layers" in refusal(path)
    save_file({"w": np.zeros(3, np.float32)}, path, metadata={"wakesleep": "[" * 100_000})
    assert "not a safetensors file" in refusal(path)


def test_arrays_that_do_not_fit_the_architecture_are_refused(tmp_path):
    path = tmp_path / "liar.safetensors"
    header = '{"format": 1, "architecture": "sbn/sbn 2", "features": 3, "sha256": ""}'
    save_file({"p.0.W": np.zeros((9, 9), np.float32)}, path, metadata={"wakesleep": header})
    assert "does not hold" in refusal(path)


def test_a_write_that_fails_leaves_what_was_there(saved, monkeypatch):
    before = saved.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WakesleepError, match="No space left on device"):
        write_atomically(saved, b"new")
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_weights_survive_in_float32(tmp_path):
    model = small_machine("sbn/sbn 2")
    save_model(model, tmp_path / "m.safetensors")
    leaves = jax.tree.leaves(load_model(tmp_path / "m.safetensors"))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}


def test_the_header_lists_every_layer(tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(small_machine("nade(hidden=2)|sbn/darn 3"), path)
    header = read_header(path)
    assert header["format"] == 3
    assert header["architecture"] == "nade(hidden=2)|sbn/darn 3"
    assert header["features"] == 4
    darn = {"order": 0, "units": 4, "nonlinearity": "tanh"}
    assert header["layers"] == {
        "p": [
            {"kind": "nade", "size": 4, "parents": 3, "options": {"hidden": 2, "order": 0}},
            {"kind": "sbn", "size": 3, "parents": 0, "options": {}},
        ],
        "q": [{"kind": "darn", "size": 3, "parents": 4, "options": darn}],
    }
    assert set(load_file(path)) == {
        *(f"p.0.{name}" for name in ("W", "V", "U_a", "U_b", "a", "b")),
        *("p.1.W", "p.1.b"),
        *(f"q.0.{name}" for name in ("A", "c", "inner.W", "inner.S", "inner.b")),
    }


@pytest.mark.parametrize("text", [*SMALL, "nade(hidden=5, units=2)/sbn(units=3) 2-3", "ar_sbn"])
def test_files_of_format_1_are_still_read(text, tmp_path):
    model, path = small_machine(text), tmp_path / "model.safetensors"
    save_model(model, path)
    header = read_header(path)
    old = {name: header[name] for name in ("sha256", "architecture", "features", "notes")}
    rewrite(path, {"format": 1, **old})
    again = load_model(path)
    assert jax.tree.structure(again) == jax.tree.structure(model)
    np.testing.assert_array_equal(flat(again), flat(model))


@settings(deadline=None, max_examples=25)
@given(architectures(), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_any_machine_that_can_be_built_comes_back(tmp_path_factory, plan, features, seed):
    random = np.random.default_rng(seed)
    made = jax.eval_shape(lambda: build(plan, features, key=jax.random.key(0)))
    model = jax.tree.map(
        lambda leaf: jnp.asarray(random.standard_normal(leaf.shape), leaf.dtype), made
    )
    path = tmp_path_factory.mktemp("any") / "model.safetensors"
    save_model(model, path)
    again = load_model(path)
    assert jax.tree.structure(again) == jax.tree.structure(model)
    np.testing.assert_array_equal(flat(again), flat(model))
    assert describe(again) == read_header(path)["architecture"]


def zero(*_):
    return jnp.zeros(())


def test_a_model_given_as_functions_is_stored_by_the_places_of_its_arrays(tmp_path):
    theta = {"deep": [np.arange(3.0), np.arange(2)], "scale": 2.5}
    model = FunctionModel(theta, jnp.ones((2, 0, 2)), zero, zero, zero)
    assert sorted(named_leaves(model)) == ["phi", "theta.deep.0", "theta.deep.1", "theta.scale"]
    path = tmp_path / "model.safetensors"
    save_model(model, path, half=True)
    again = load_arrays(path, jax.tree.map(jnp.zeros_like, model))
    assert eqx.tree_equal(again, model)
    assert again.functions is model.functions
    assert read_header(path)["model"] == "FunctionModel"
    assert "FunctionModel" in refusal(path)
    other = FunctionModel({"deep": theta["deep"]}, model.phi, zero, zero, zero)
    with pytest.raises(DataError, match="does not hold"):
        load_arrays(path, other)


def test_functions_among_the_leaves_stay_and_only_arrays_are_stored(tmp_path, key):
    network = eqx.nn.MLP(2, 3, 4, 1, activation=jnp.tanh, key=key)
    path = tmp_path / "network.safetensors"
    save_arrays(path, network, {})
    other = eqx.nn.MLP(2, 3, 4, 1, activation=jnp.tanh, key=jax.random.key(0))
    shapes = eqx.filter_eval_shape(lambda: other)
    for like in (other, shapes):
        np.testing.assert_array_equal(load_arrays(path, like)(jnp.ones(2)), network(jnp.ones(2)))


def test_two_arrays_of_one_name_are_refused_before_one_is_lost(tmp_path):
    tree = {"a.b": np.zeros(1), "a": {"b": np.ones(1)}}
    with pytest.raises(UsageError, match="no dots"):
        save_arrays(tmp_path / "x.safetensors", tree, {})
    assert not list(tmp_path.iterdir())
