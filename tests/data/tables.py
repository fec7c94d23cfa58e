"""Binary tables for property tests, and every way to write one to a file."""

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
from hypothesis.extra import numpy as npst
from scipy import sparse

tables = npst.arrays(
    np.uint8,
    st.tuples(st.integers(1, 12), st.integers(1, 20)),
    elements=st.integers(0, 1),
)


def write_text(path: Path, cells: list[list[str]], separator: str) -> None:
    path.write_text("".join(separator.join(row) + "\n" for row in cells))


def as_text(bits: np.ndarray) -> list[list[str]]:
    return [[str(bit) for bit in row] for row in bits]


SEPARATORS = {".csv": ",", ".tsv": "\t", ".data": ",", ".amat": " "}


def _text(extension):
    return lambda path, bits: write_text(path, as_text(bits), SEPARATORS[extension])


def _sparse(kind):
    return lambda path, bits: sparse.save_npz(path, getattr(sparse, kind)(bits))


def _packed(path, bits):
    np.savez(path, train=np.packbits(bits, axis=1), n_features=bits.shape[1])


def _headed_csv(path, bits):
    names = [f"question {i}" for i in range(bits.shape[1])]
    write_text(path, [names, *as_text(bits)], ",")


def _floats_with_spaces(path, bits):
    np.savetxt(path, bits, delimiter=" , ", newline="\r\n\r\n")


WRITERS = {
    "plain csv": (".csv", _text(".csv")),
    "csv with a header": (".csv", _headed_csv),
    "csv of floats, spaces and blank lines": (".csv", _floats_with_spaces),
    "tsv": (".tsv", _text(".tsv")),
    "data": (".data", _text(".data")),
    "amat": (".amat", _text(".amat")),
    "amat of floats": (".amat", np.savetxt),
    "npy of bytes": (".npy", np.save),
    "npy of booleans": (".npy", lambda path, bits: np.save(path, bits.astype(bool))),
    "npy of floats, by columns": (
        ".npy",
        lambda path, bits: np.save(path, np.asfortranarray(bits.astype(np.float32))),
    ),
    "npz of one array": (".npz", lambda path, bits: np.savez_compressed(path, whatever=bits)),
    "packed npz": (".npz", _packed),
    "sparse csr": (".npz", _sparse("csr_matrix")),
    "sparse csc": (".npz", _sparse("csc_array")),
    "sparse coo": (".npz", _sparse("coo_array")),
}
