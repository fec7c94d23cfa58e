import subprocess
import sys

import numpy as np
import pytest

from wakesleep.data import DATASETS, load_dataset, load_mnist_grey
from wakesleep.data.archives import absence
from wakesleep.errors import DataError, UsageError

# Mean of the training bits, and test NLL of independent Bernoullis fitted with +1/+2.
KNOWN = {
    "binarized_mnist": (0.13056, 205.79),
    "caltech101_silhouettes": (0.55105, 380.05),
    "adult": (0.11273, 25.77),
    "connect4": (0.33333, 35.34),
    "dna": (0.25375, 100.39),
    "mushrooms": (0.18750, 34.23),
    "nips": (0.36780, 294.80),
    "ocr_letters": (0.21970, 63.74),
    "web": (0.03889, 39.77),
}


def needs(name):
    reason = absence(name)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("name", KNOWN)
def test_the_bits_are_the_published_ones(name):
    needs(name)
    mean, nll = KNOWN[name]
    data = load_dataset(name)
    # Half a unit in the fifth digit, and a little: nips has .367805.
    assert data.train.mean().mean() == pytest.approx(mean, abs=5.1e-6)
    p, ones = data.train.smoothed_mean(), data.test.mean()
    assert -(ones * np.log(p) + (1 - ones) * np.log1p(-p)).sum() == pytest.approx(nll, abs=5e-3)


def test_silhouettes_stand_upright():
    """Most objects are more alike left and right than top and bottom."""
    needs("caltech101_silhouettes")
    data = load_dataset("caltech101_silhouettes")
    images = data.images(data.train[:])
    left_right = (images != images[:, :, ::-1]).mean()
    top_bottom = (images != images[:, ::-1, :]).mean()
    assert left_right < 0.9 * top_bottom


def test_silhouettes_lie_on_a_background_of_ones():
    needs("caltech101_silhouettes")
    data = load_dataset("caltech101_silhouettes")
    assert data.inverted
    assert data.images(data.train.mean())[:, 0].min() > 0.9


def test_the_web_set_is_labelled_a_reconstruction():
    assert "reconstruction" in DATASETS["web"].description
    needs("web")
    assert "reconstruction" in load_dataset("web").binarisation


def test_binarized_mnist_takes_little_memory():
    needs("binarized_mnist")
    program = """
from pathlib import Path
from wakesleep.data import load_dataset

def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024

before = resident()
data = load_dataset("binarized_mnist")
data.train.mean()
print(resident() - before)
"""
    run = [sys.executable, "-c", program]
    grown = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert float(grown) < 60


def test_grey_mnist():
    needs("mnist_grey")
    grey, labels = load_mnist_grey("test")
    assert grey.shape == (10_000, 784)
    assert grey.max() == 255
    assert labels[:5].tolist() == [7, 2, 1, 0, 4]


def test_an_unknown_split_of_grey_mnist():
    with pytest.raises(UsageError) as caught:
        load_mnist_grey("dev")
    assert str(caught.value) == "unknown split 'dev'; valid: train, valid, test"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WAKESLEEP_DATA", str(tmp_path))
    return tmp_path


def save_dna(folder, rows=1400, features=180):
    tables = {
        name: np.packbits(np.zeros((count, features), np.uint8), axis=1)
        for name, count in (("train", rows), ("valid", 600), ("test", 1186))
    }
    np.savez(folder / "dna.npz", **tables, n_features=features)


def refusal(name="dna"):
    with pytest.raises(DataError) as caught:
        load_dataset(name)
    return str(caught.value)


def test_a_file_of_the_right_sizes_is_read(folder):
    save_dna(folder)
    assert DATASETS["dna"].present()
    assert load_dataset("dna").train.shape == (1400, 180)


def test_no_folder(monkeypatch):
    monkeypatch.delenv("WAKESLEEP_DATA", raising=False)
    assert refusal() == (
        "data set 'dna': no data here: WAKESLEEP_DATA is not set, "
        "and it must name the folder that holds dna.npz"
    )


def test_no_file(folder):
    assert not DATASETS["rcv1"].present()
    assert refusal("rcv1") == (
        f"data set 'rcv1': no data here: there is no file {folder / 'rcv1.npz'}, "
        "and WAKESLEEP_DATA must name the folder that holds rcv1.npz"
    )


def test_a_file_of_another_size(folder):
    save_dna(folder, rows=1600)
    path = folder / "dna.npz"
    assert refusal() == f"{path}: train is 1600 x 180, but in data set 'dna' it is 1400 x 180"
    save_dna(folder, features=181)
    assert refusal() == f"{path}: train is 1400 x 181, but in data set 'dna' it is 1400 x 180"


def test_a_file_without_the_splits(folder):
    np.savez(folder / "dna.npz", train=np.eye(3))
    assert refusal() == f"{folder / 'dna.npz'} must hold the arrays train, valid and test"


def test_a_truncated_file(folder):
    save_dna(folder)
    path = folder / "dna.npz"
    path.write_bytes(path.read_bytes()[:-100])
    assert refusal() == (
        f"{path} cannot be read: it is not a NumPy file, or a truncated or corrupt one"
    )


def test_grey_mnist_of_another_kind(folder):
    np.savez(folder / "mnist_grey.npz", test=np.eye(3), test_labels=np.arange(3))
    with pytest.raises(DataError) as caught:
        load_mnist_grey("test")
    assert str(caught.value) == (
        f"{folder / 'mnist_grey.npz'} must hold uint8 images of 784 pixels with a label each"
    )
