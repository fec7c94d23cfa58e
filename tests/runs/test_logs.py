"""Logs for people: written at best effort, whole, bounded, and never at a training's cost."""

import struct
import warnings

import pytest
from tensorboardX.crc32c import crc32c
from tensorboardX.proto.event_pb2 import Event

from tests.runs.runs import BARE, EVERY_EPOCH, SHORT, assert_same_run
from wakesleep.errors import DataError
from wakesleep.runs import tensorboard_log
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import RunOptions, resume_run, start_run


def events(path):
    """The events of a file, each of whose two checksums is looked at."""
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        body = content[12 : 12 + length]
        for part, place in ((content[:8], 8), (body, 12 + length)):
            checksum = crc32c(part) & 0xFFFFFFFF
            masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
            assert struct.unpack("<I", content[place : place + 4]) == (masked,)
        found.append(Event.FromString(body))
        content = content[16 + length :]
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("logs") / "whole"
    start_run(run, SHORT, EVERY_EPOCH)
    return run


def test_tensorboard_has_every_number_of_every_epoch(whole):
    (path,) = (whole / "tensorboard").iterdir()
    first, start, *scalars = events(path)
    assert first.file_version == "brain.Event:2"
    assert start.step == 1
    seen = {(event.step, event.summary.value[0].tag) for event in scalars}
    for record in RunFolder(whole).records():
        assert (record["epoch"], "valid_ll") in seen
        assert (record["epoch"], "kl/layer_1") in seen
    assert len(seen) == len(scalars)


def test_a_log_that_cannot_be_written_costs_one_warning(whole, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "tensorboard").write_text("a file in the way")
    (run / "samples").write_text("another")
    options = RunOptions(pictures_every=1, checkpoint_interval=0, diagnostics=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start_run(run, SHORT, options)
    said = [str(one.message) for one in caught]
    assert [text.split(" (")[0] for text in said] == [
        "no more TensorBoard events are written",
        "no more pictures of samples are written",
    ]
    assert_same_run(run, whole)


def test_files_of_events_rotate(whole, monkeypatch, tmp_path):
    monkeypatch.setattr(tensorboard_log, "LARGEST_FILE", 100)
    monkeypatch.setattr(tensorboard_log, "KEEP", 2)
    run = tmp_path / "run"
    start_run(run, SHORT, BARE)
    resume_run(run, BARE, extend=2)
    kept = sorted((run / "tensorboard").iterdir())
    assert len(kept) == 2
    assert events(kept[-1])[-1].step == 5


@pytest.mark.parametrize("line", ["not json", "[1]", '{"epoch": "one"}', "[" * 100_000, "\udcff"])
def test_a_damaged_history_is_one_sentence(line, tmp_path):
    folder = RunFolder(tmp_path)
    text = '{"epoch": 1}\n' + line + "\n"
    folder.metrics_path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=r"metrics\.jsonl"):
        folder.records()


def test_a_history_cut_short_is_read_up_to_its_last_whole_line(tmp_path):
    folder = RunFolder(tmp_path)
    folder.metrics_path.write_text('{"epoch": 1}\n{"epo')
    assert folder.records() == [{"epoch": 1}]
