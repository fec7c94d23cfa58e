import os
import pickle
import stat

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.machines import SMALL, small_machine
from tests.oracle import flat
from wakesleep.architecture import describe
from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError, WakesleepError
from wakesleep.storage import load_model, read_header, save_model


@pytest.mark.parametrize("text", [*SMALL, "nade(hidden=5, units=2)/sbn(units=3) 2-3"])
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


def refusal(path):
    with pytest.raises(DataError) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


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
