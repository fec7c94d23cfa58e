"""What is fuzzed: every reader of files and strings, each beside a second reader of its own.

A target takes bytes. It may refuse them with a `WakesleepError` of one sentence; what it accepts
must be what the second reader reads; anything else is a find.
"""

import ast
import io
import struct
import zipfile
from pathlib import Path

import numpy as np

from wakesleep.architecture import parse
from wakesleep.data import load_dataset
from wakesleep.errors import WakesleepError
from wakesleep.recipe_files import load_recipe
from wakesleep.runs.config import read_config
from wakesleep.runs.folder import RunFolder
from wakesleep.schema import read_frame
from wakesleep.storage import load_model

LONGEST_SENTENCE = 5000


class Fuzzer:
    """Writes bytes where a reader looks for them, and reads them in two ways."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, target: str, content: bytes) -> bool:
        """Whether the input was accepted."""
        path = self.folder / NAMES.get(target, f"input.{target}")
        try:
            if target == "architecture":
                text = content.decode(errors="replace")
                assert parse(text) == parse(text)
                return True
            path.write_bytes(content)
            READERS.get(target, same_bits)(path, content)
        except WakesleepError as error:
            sentence = str(error)
            assert 0 < len(sentence) < LONGEST_SENTENCE, f"{len(sentence)} characters"
            return False
        return True


def same_bits(path, content):
    """A table of 0 and 1."""
    found = load_dataset(path, split=None)
    if found.table is not None:
        return
    second = SECOND[path.suffix](content)
    if second is not None:
        np.testing.assert_array_equal(found.train[:], second)


def npy_array(content):
    """An array by the format's own description."""
    length, start = ("<H", 10) if content[6] == 1 else ("<I", 12)
    (size,) = struct.unpack(length, content[8:start])
    header = ast.literal_eval(content[start : start + size].decode("latin1").strip())
    kind, order = np.dtype(header["descr"]), "F" if header["fortran_order"] else "C"
    count = int(np.prod(header["shape"]))
    flat = np.frombuffer(content, kind, count, start + size)
    return flat.reshape(header["shape"], order=order)


def npz_array(content):
    """The only array of an archive; of several, which are splits, nothing is said here."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        return npy_array(archive.read(names[0])) if len(names) == 1 else None


def is_number(cell):
    try:
        float(cell.strip().strip("\"'"))
    except ValueError:
        return False
    return True


def text_bits(separator):
    def read(content):
        whole = content.decode("utf-8-sig", errors="replace").split("\n")
        # A byte order mark is taken away wherever a line begins with it.
        lines = [line.removeprefix("\ufeff").strip(" \r") for line in whole]
        lines = [line for line in lines if line and line.split(separator)]
        if separator and not any(is_number(cell) for cell in lines[0].split(separator)):
            lines = lines[1:]
        cells = [[cell.strip().strip("\"'") for cell in line.split(separator)] for line in lines]
        return np.array(cells, float)

    return read


SECOND = {
    ".npy": npy_array,
    ".npz": npz_array,
    ".csv": text_bits(","),
    ".tsv": text_bits("\t"),
    ".amat": text_bits(None),
}


def same_cells(path, content):
    """A table with a header, of which plain lines can be cut at their commas."""
    frame = read_frame(path)
    text = content.decode("utf-8-sig")
    # Quotes, other ends of lines and other delimiters: there a plain reader would be the wrong one.
    if set(text) & set('"\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029;\t|'):
        return
    rows = [line.split(",") for line in text.split("\n") if line.strip(" \t")]
    assert len(frame) == len(rows) - 1
    for place, cells in enumerate(frame.cells):
        if cells.storage != "text" or place >= len(rows[0]):
            continue
        for value, missing, row in zip(cells.values, cells.missing, rows[1:], strict=True):
            assert missing or value.strip() == row[place].strip()


def same_columns(path, content):
    """A Parquet file, read by another library."""
    import polars

    frame = read_frame(path)
    try:
        second = polars.read_parquet(io.BytesIO(content))
    except (polars.exceptions.PolarsError, BaseException) as error:
        if isinstance(error, KeyboardInterrupt | TimeoutError):
            raise
        # The other library is the stricter one here: there is nothing to compare with.
        return
    assert len(frame) == second.height
    for cells in frame.cells:
        if cells.storage in ("whole", "real"):
            other = second[cells.name].to_numpy().astype(float)
            kept = ~cells.missing
            np.testing.assert_array_equal(cells.values[kept].astype(float), other[kept])


def models(path, content):
    """A model file."""
    load_model(path)


def configs(path, content):
    """A run's config.toml: what is read is written as it was."""
    config = read_config(path)
    path.write_text(config.to_toml(), encoding="utf-8")
    assert read_config(path) == config


def recipes(path, content):
    """A recipe's TOML."""
    load_recipe(path).expand()


def histories(path, content):
    """metrics.jsonl."""
    assert all("epoch" in record for record in RunFolder(path.parent).records())


NAMES = {
    "table": "input.csv",
    "config": "config.toml",
    "recipe": "recipe.toml",
    "metrics": "metrics.jsonl",
    "model": "input.safetensors",
    "packed": "packed.safetensors",
}
READERS = {
    "table": same_cells,
    "parquet": same_columns,
    "model": models,
    "config": configs,
    "recipe": recipes,
    "metrics": histories,
    "packed": lambda path, content: load_dataset(path),
}
TARGETS = (
    *("npy", "npz", "csv", "tsv", "amat", "parquet"),
    *("table", "packed", "model", "config", "recipe", "architecture", "metrics"),
)
