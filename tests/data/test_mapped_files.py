import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from wakesleep.data import load_dataset, mapping, pack_dataset, write_packed
from wakesleep.errors import DataError, UsageError, WakesleepError


def random_bits(rows, features, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (rows, features), np.uint8)


def mapped(bits):
    return isinstance(bits.rows, np.memmap) and bits.rows._mmap is not None


@pytest.mark.parametrize("features", [1, 8, 13, 64])
def test_blocks_come_back_as_mapped_rows(tmp_path, features):
    train, valid = random_bits(70, features), random_bits(9, features, 1)
    path = tmp_path / "big.safetensors"
    blocks = (train[start : start + 32] for start in range(0, 70, 32))
    write_packed(path, {"train": blocks, "valid": valid})
    data = load_dataset(path)
    np.testing.assert_array_equal(data.train[:], train)
    np.testing.assert_array_equal(data.valid[:], valid)
    assert data.test.shape == (0, features)
    assert mapped(data.train)
    assert not data.train.rows.flags.writeable
    assert (data.name, data.binarisation) == ("big", "already binary")


@pytest.mark.parametrize("index", [0, -1, slice(3, 9), slice(None, None, 7), [5, 2, 5], np.s_[:0]])
def test_mapped_rows_are_indexed_as_those_in_memory(tmp_path, index, monkeypatch):
    monkeypatch.setattr(mapping, "ROWS_AT_ONCE", 2)
    table = random_bits(40, 11)
    write_packed(tmp_path / "a.safetensors", {"train": table})
    bits = load_dataset(tmp_path / "a.safetensors").train
    np.testing.assert_array_equal(bits[index], table[index])
    if isinstance(index, list):
        np.testing.assert_array_equal(bits.take(index)[:], table[index])


def test_a_packed_data_set_is_the_one_it_was_made_of(tmp_path):
    data = load_dataset("digits")
    pack_dataset(data, tmp_path / "other.safetensors")
    again = load_dataset(tmp_path / "other.safetensors")
    for split, table in data.splits.items():
        np.testing.assert_array_equal(again.splits[split].rows, table.rows)
    for field in ("name", "binarisation", "image_shape", "column_major", "inverted"):
        assert getattr(again, field) == getattr(data, field)
    np.testing.assert_array_equal(again.train.smoothed_mean(), data.train.smoothed_mean())


def test_pictures_keep_their_orientation(tmp_path):
    path = tmp_path / "a.safetensors"
    write_packed(path, {"train": np.eye(6)}, image_shape=(2, 3), column_major=True, inverted=True)
    data = load_dataset(path)
    assert (data.image_shape, data.column_major, data.inverted) == ((2, 3), True, True)
    assert load_dataset(path, image_shape=(3, 2)).image_shape == (3, 2)


def test_the_files_are_those_of_the_safetensors_library(tmp_path):
    table = random_bits(20, 13)
    rows = np.packbits(table, axis=1)
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    write_packed(ours, {"train": table})
    np.testing.assert_array_equal(load_file(ours)["train"], rows)
    save_file({"train": rows, "test": rows[:3]}, theirs, metadata={"n_features": "13"})
    data = load_dataset(theirs)
    np.testing.assert_array_equal(data.train[:], table)
    np.testing.assert_array_equal(data.test[:], table[:3])


def test_writing_takes_the_memory_of_a_block_not_of_the_whole(tmp_path):
    block = random_bits(512, 512)
    tracemalloc.start()
    write_packed(tmp_path / "a.safetensors", {"train": (block for _ in range(400))})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "a.safetensors").stat().st_size > 400 * 512 * 64
    assert peak < 3_000_000


def test_pages_that_were_read_do_not_stay(tmp_path):
    path = tmp_path / "a.safetensors"
    block = random_bits(4096, 1024)
    write_packed(path, {"train": (block for _ in range(200))})
    program = """
import sys
from pathlib import Path
import numpy as np
from wakesleep.data import load_dataset

def resident():
    return int(Path("/proc/self/status").read_text().split("RssFile:")[1].split()[0]) / 1024

before = resident()
bits = load_dataset(sys.argv[1]).train
bits.smoothed_mean()
bits.epoch_rows(np.random.default_rng(0).permutation(len(bits))[:50_000], 0, 0)
print(bits.rows.nbytes / 2**20, resident() - before)
"""
    run = [sys.executable, "-c", program, str(path)]
    output = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    size, grown = map(float, output.split())
    assert size == 100
    assert grown < 30


def test_a_table_too_large_for_memory_goes_through_a_temporary_file(tmp_path, monkeypatch):
    table = random_bits(300, 20)
    np.savetxt(tmp_path / "a.csv", table, fmt="%d", delimiter=",")
    small = load_dataset(tmp_path / "a.csv", seed=3)
    monkeypatch.setattr(mapping, "LARGEST_IN_MEMORY", 100)
    large = load_dataset(tmp_path / "a.csv", seed=3)
    assert mapped(large.train)
    assert not mapped(small.train)
    for split in large.splits:
        np.testing.assert_array_equal(large.splits[split][:], small.splits[split][:])


def test_a_full_folder_for_temporary_files(monkeypatch, tmp_path):
    np.save(tmp_path / "a.npy", random_bits(300, 20))
    monkeypatch.setattr(mapping, "LARGEST_IN_MEMORY", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nosuch"))
    with pytest.raises(DataError, match="set TMPDIR to one with room"):
        load_dataset(tmp_path / "a.npy")


def test_counts_above_a_byte_are_not_lost(tmp_path):
    write_packed(tmp_path / "a.safetensors", {"train": np.ones((1000, 9))})
    bits = load_dataset(tmp_path / "a.safetensors").train
    np.testing.assert_array_equal(bits.mean(), np.ones(9))
    np.testing.assert_allclose(bits.smoothed_mean(), 1001 / 1002)


def refusal(path, **options):
    with pytest.raises(DataError) as caught:
        load_dataset(path, **options)
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"1234567", b"0,1\n" * 10, b"\x02" + b"\0" * 7 + b"[]"])
def test_what_is_no_safetensors_file(tmp_path, content):
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    assert refusal(path) == (
        f"{path} cannot be read: it is not a safetensors file, or a truncated or corrupt one"
    )


@pytest.mark.parametrize("kept", [4097, -1])
def test_a_truncated_file(tmp_path, kept):
    path = tmp_path / "a.safetensors"
    write_packed(path, {"train": random_bits(100, 16)})
    path.write_bytes(path.read_bytes()[:kept])
    size = path.stat().st_size
    assert refusal(path) == (
        f"{path} has {size} bytes where its header says 4296: it is truncated or corrupt"
    )


@pytest.mark.parametrize("metadata", [None, {}, {"n_features": "0"}, {"n_features": "many"}])
def test_weights_of_a_model_are_no_data(tmp_path, metadata):
    path = tmp_path / "a.safetensors"
    save_file({"train": np.zeros((3, 2), np.uint8)}, path, metadata=metadata)
    assert "holds no packed bits: its metadata must have n_features" in refusal(path)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"weights": np.zeros((3, 2), np.uint8)}, "must hold the tensors train, valid and test"),
        ({"train": np.zeros((3, 2))}, "train must be packed rows: uint8 of 2 bytes each"),
        ({"train": np.zeros((3, 3), np.uint8)}, "train must be packed rows"),
        ({"train": np.zeros(4, np.uint8)}, "train must be packed rows"),
        ({"train": np.zeros((0, 2), np.uint8)}, "train has no rows"),
    ],
)
def test_foreign_tensors(tmp_path, tensors, said):
    path = tmp_path / "a.safetensors"
    save_file(tensors, path, metadata={"n_features": "16"})
    assert said in refusal(path)


@pytest.mark.parametrize(
    "train",
    [
        {"dtype": "U8", "shape": [-1, 1], "data_offsets": [0, -1]},
        {"dtype": "U8", "shape": [2, 1], "data_offsets": [-1, 1]},
        {"dtype": "U8", "shape": [2, 1], "data_offsets": [0, 9]},
        {"dtype": "U8", "shape": ["2", 1], "data_offsets": [0, 2]},
        7,
    ],
)
def test_headers_that_lie_are_refused(tmp_path, train):
    path = tmp_path / "a.safetensors"
    header = json.dumps({"__metadata__": {"n_features": "8"}, "train": train}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    assert "train must be packed rows" in refusal(path)


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "a.safetensors"
    write_packed(path, {"train": np.eye(3)})
    before = path.read_bytes()
    for splits, said in (
        ({"train": [np.eye(3), 2 * np.eye(3)]}, "train, block 2, row 1, column 1: found 2.0"),
        ({"train": [np.eye(3), np.eye(4)]}, "train, block 2 has 4 columns, but the first block"),
        ({"train": []}, "train has no rows"),
        ({"valid": np.eye(3)}, "with train among them, not: valid"),
    ):
        with pytest.raises(UsageError, match=said):
            write_packed(path, splits)
    with pytest.raises(UsageError, match=r"a\.npz must end in \.safetensors"):
        write_packed(tmp_path / "a.npz", {"train": np.eye(3)})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
    with pytest.raises(WakesleepError, match="could not be written"):
        write_packed(path / "b.safetensors", {"train": np.eye(3)})


def test_a_mapped_file_keeps_its_splits_and_stands_alone(tmp_path):
    path = tmp_path / "a.safetensors"
    write_packed(path, {"train": np.eye(3)})
    assert refusal_of_use(path, split=(0.5, 0.25, 0.25)).endswith("leave the split fractions out")
    assert refusal_of_use(path, test=path).endswith("must be given alone")


def refusal_of_use(path, **options):
    with pytest.raises(UsageError) as caught:
        load_dataset(path, **options)
    return str(caught.value)
