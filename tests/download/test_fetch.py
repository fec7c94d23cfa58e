"""Downloads against a real server that stalls, truncates and lies."""

import dataclasses
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.download.server import serving
from wakesleep.cli import main
from wakesleep.data import load_dataset
from wakesleep.data.archives import PACKED_SETS
from wakesleep.download import SOURCES, fetch_dataset
from wakesleep.download.sources import RemoteFile, Source
from wakesleep.download.transfer import Patience
from wakesleep.errors import DataError, UsageError, WakesleepError

SIZES = {"train": 1400, "valid": 600, "test": 1186}
HASTE = Patience(timeout=0.4, attempts=5)


@pytest.fixture(scope="module")
def tables():
    random = np.random.default_rng(0)
    return {name: random.integers(0, 2, (rows, 180), np.uint8) for name, rows in SIZES.items()}


@pytest.fixture(scope="module")
def archive(tables):
    """A file like the dna set's, about 100 kB."""
    file = io.BytesIO()
    np.savez_compressed(file, **{f"{name}_data": bits for name, bits in tables.items()})
    return file.getvalue()


@pytest.fixture
def server(archive):
    with serving({"dna.npz": archive}) as server:
        yield server


@pytest.fixture
def places(archive, monkeypatch):
    """Let the dna set be this archive, at the given addresses."""

    def put(*addresses, content=archive):
        digest = hashlib.sha256(content).hexdigest()
        file = RemoteFile("dna.npz", digest, tuple(f"{one}/dna.npz" for one in addresses))
        known = {"dna": Source("dna", {"all": file})}
        monkeypatch.setattr("wakesleep.download.fetch.SOURCES", known)

    return put


def fetch(folder, **options):
    return fetch_dataset("dna", folder, patience=HASTE, **options)


def is_right(path, tables, monkeypatch):
    monkeypatch.setenv("WAKESLEEP_DATA", str(path.parent))
    data = load_dataset("dna")
    same = [np.array_equal(data.splits[name][:], bits) for name, bits in tables.items()]
    return all(same) and [one.name for one in path.parent.iterdir()] == ["dna.npz"]


@pytest.mark.parametrize("manner", ["good", "redirects", "truncates"])
def test_an_address_that_gives_all_in_the_end_is_enough(
    manner, server, places, tables, tmp_path, monkeypatch
):
    places(server.at(manner))
    assert is_right(fetch(tmp_path), tables, monkeypatch)


BAD = {
    "truncates_and_starts_anew": "the connection ended after",
    "stalls": "nothing came for 0.4 s",
    "silent": "nothing came for 0.4 s",
    "drips": "bytes came per second",
    "other_bytes": "another SHA-256",
    "short_length": "another SHA-256",
    "huge_length": "more than any file here has",
    "other_range": "another part of the file",
    "page": "another SHA-256",
    "absent": "404",
    "broken": "503",
    "redirects_to_a_file": "is not allowed",
    "redirects_to_ftp": "not an http or https address",
    "not_http": "the connection failed",
}


@pytest.mark.parametrize("manner", BAD)
def test_a_bad_address_is_left_for_the_next(manner, server, places, tables, tmp_path, monkeypatch):
    places(server.at(manner), server.at("good"))
    assert is_right(fetch(tmp_path), tables, monkeypatch)
    assert server.asked[0][0] == manner
    assert server.asked[-1][0] == "good"


@pytest.mark.parametrize("manner", BAD)
def test_a_bad_address_alone_is_an_error_that_says_why(manner, server, places, tmp_path):
    places(server.at(manner))
    patience = dataclasses.replace(HASTE, attempts=2)
    with pytest.raises(WakesleepError) as caught:
        fetch_dataset("dna", tmp_path, patience=patience)
    assert BAD[manner] in str(caught.value)
    assert f"127.0.0.1:{server.server_port}" in str(caught.value)
    assert not (tmp_path / "dna.npz").exists()


def test_nothing_listens(places, tmp_path):
    places("http://127.0.0.1:1")
    with pytest.raises(WakesleepError, match="Connection refused"):
        fetch(tmp_path)


def test_a_later_command_goes_on_where_an_earlier_one_stopped(
    server, places, archive, tables, tmp_path, monkeypatch
):
    places(server.at("truncates"))
    with pytest.raises(WakesleepError, match="the same command goes on with it"):
        fetch_dataset("dna", tmp_path, patience=Patience(timeout=5, attempts=1))
    part = (tmp_path / ".fetch" / "dna.npz.part").read_bytes()
    assert 0 < len(part) < len(archive)
    assert archive.startswith(part)
    places(server.at("good"))
    assert is_right(fetch(tmp_path), tables, monkeypatch)
    assert server.asked[-1] == ("good", f"bytes={len(part)}-")


@pytest.mark.parametrize("length", [1000, 10_000_000])
def test_wrong_bytes_from_before_are_thrown_away(
    length, server, places, tables, tmp_path, monkeypatch
):
    (tmp_path / ".fetch").mkdir()
    (tmp_path / ".fetch" / "dna.npz.part").write_bytes(b"x" * length)
    places(server.at("good"))
    assert is_right(fetch(tmp_path), tables, monkeypatch)
    assert server.asked == [("good", f"bytes={length}-"), ("good", None)]


def test_progress_is_told_of_every_piece(server, places, archive, tmp_path):
    places(server.at("good"))
    told = []
    fetch(tmp_path, progress=lambda *piece: told.append(piece))
    assert told[-1] == ("dna.npz", len(archive), len(archive))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_an_unchecked_file_is_never_downloaded(server, tmp_path):
    with pytest.raises(UsageError, match=r"--sha256 rcv1\.npz=DIGEST"):
        fetch_dataset("rcv1", tmp_path, mirrors=[server.at("good")])
    with pytest.raises(UsageError, match=r"--sha256 connect4\.test\.data=DIGEST"):
        fetch_dataset("connect4", tmp_path, mirrors=[server.at("good")])
    assert server.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_stated_checksum_counts_where_none_is_known_and_only_there(server, places, tmp_path):
    places(server.at("good"))
    with pytest.raises(UsageError, match="is known to be"):
        fetch(tmp_path, sha256={"dna.npz": "0" * 64})
    with pytest.raises(UsageError, match="64 hexadecimal"):
        fetch(tmp_path, sha256={"dna.npz": "abc"})
    with pytest.raises(UsageError, match="has no file 'other'"):
        fetch(tmp_path, sha256={"other": "0" * 64})
    assert server.asked == []


def test_right_bytes_of_the_wrong_size_are_not_written(places, tmp_path):
    file = io.BytesIO()
    np.savez(file, **{f"{name}_data": np.eye(180, dtype=np.uint8) for name in SIZES})
    content = file.getvalue()
    with serving({"dna.npz": content}) as server:
        places(server.at("good"), content=content)
        with pytest.raises(DataError, match="180 x 180 bits in train, but it must be 1400 x 180"):
            fetch(tmp_path)
    assert not (tmp_path / "dna.npz").exists()


def test_what_stood_there_stays_when_a_fetch_fails(server, places, tmp_path):
    (tmp_path / "dna.npz").write_bytes(b"old")
    places(server.at("other_bytes"))
    with pytest.raises(WakesleepError):
        fetch(tmp_path)
    assert (tmp_path / "dna.npz").read_bytes() == b"old"


def original(name, split, folder):
    """The text file a packed set was made of."""
    with np.load(Path(folder) / f"{name}.npz") as packed:
        bits = np.unpackbits(packed[split], axis=1, count=int(packed["n_features"]))
    return b"".join(b",".join(b"%d" % bit for bit in row) + b"\n" for row in bits.tolist())


@pytest.mark.parametrize("name", ["mushrooms", "nltcs"])
def test_the_command_makes_the_real_sets_of_their_original_files(
    name, tmp_path, monkeypatch, capsys
):
    """The registered checksums are those of the original files, so no word here is ours."""
    folder = os.environ.get("WAKESLEEP_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        pytest.skip(f"no {name}.npz in WAKESLEEP_DATA")
    before = load_dataset(name)
    files = {file.name: original(name, s, folder) for s, file in SOURCES[name].files.items()}
    with serving(files) as server:
        words = ["data", "fetch", name, "--out", str(tmp_path), "--mirror", server.at("good")]
        assert main(words) == 0
        assert len(server.asked) == 3
        assert main(words) == 0
        assert "--overwrite" in capsys.readouterr().out
        assert len(server.asked) == 3
    monkeypatch.setenv("WAKESLEEP_DATA", str(tmp_path))
    after = load_dataset(name)
    for split, table in before.splits.items():
        assert np.array_equal(table[:], after.splits[split][:])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "wakesleep data fetch NAME"),
        (["web"], "'web' cannot be fetched"),
        (["dna", "--sha256", "abc"], "FILE=DIGEST"),
        (["dna", "--timeout", "0"], "more than 0"),
    ],
)
def test_errors_of_the_command_are_one_sentence(words, said, capsys, tmp_path):
    assert main(["data", "fetch", *words, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_command_needs_a_folder(capsys, monkeypatch):
    monkeypatch.delenv("WAKESLEEP_DATA", raising=False)
    assert main(["data", "fetch", "dna"]) == 2
    assert "--out FOLDER" in capsys.readouterr().err


def test_every_source_is_a_known_set_with_well_formed_addresses():
    known = {one.name for one in PACKED_SETS}
    for name, source in SOURCES.items():
        assert name in known
        for file in source.files.values():
            assert file.sha256 is None or len(file.sha256) == 64
            assert file.addresses
            assert all(address.endswith(f"/{file.name}") for address in file.addresses)


def test_nothing_else_uses_the_network():
    """Only the downloader, and processes that train together, import what opens connections."""
    root = Path(sys.modules["wakesleep"].__file__).parent
    users = {
        path.relative_to(root).parts[0]
        for path in root.rglob("*.py")
        if any(name in path.read_text() for name in ("urllib.request", "http.client", "socket"))
    }
    assert users == {"download", "processes"}
    code = "import wakesleep.cli, sys; sys.exit('urllib.request' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
