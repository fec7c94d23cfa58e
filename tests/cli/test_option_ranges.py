"""Every option is checked against its declared range before any work, and a wrong one exits 2."""

import warnings

import pytest

from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.runs.start import RunOptions

OWN = ("train", "digits", "--model", "sbn/sbn 2")
HUGE = "99999999999999999999999999"

WRONG = {
    "memory must be more than 0 and at most 1e+06, not -inf": "evaluate run --memory -inf",
    "memory must be more than 0 and at most 1e+06, not nan": "evaluate run --memory nan",
    "samples must be at most 1000000000, not 999": f"evaluate run --samples {HUGE}",
    "samples must be 1 or more, not 0": "evaluate run --samples 0",
    "tolerance must be more than 0, not nan": "evaluate run --tolerance nan",
    "seed must be 0 or more, not -1": "evaluate run --seed -1",
    "seed must be at most 4294967295, not 4294967296": "evaluate run --seed 4294967296",
    "minutes must be more than 0, not nan": "train digits --minutes nan",
    "minutes must be more than 0, not inf": "reproduce table3 --minutes inf",
    "split_seed must be 0 or more, not -3": "data pack digits out.npz --split-seed -3",
    "timeout must be more than 0 and at most 86400, not nan": "data fetch adult --timeout nan",
    "count must be 1 or more, not 0": "sample run --count 0",
    "draws must be at most": f"impute run --draws {HUGE}",
    "replicates must be 1 or more, not -2": "bootstrap run --replicates -2",
    "odd_cells must be 0 or more, not -2": "score run file.csv --odd-cells -2",
}


def refusal(words, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("wakesleep: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(("said", "line"), WRONG.items())
def test_a_value_out_of_range_is_a_usage_error(said, line, capsys):
    assert said in refusal(line.split(), capsys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--seed", "-1"), "seed must be 0 or more, not -1"),
        (("--epochs", HUGE), "epochs must be at most 1000000000"),
        (("--samples", HUGE), "samples must be at most 1000000000"),
        (("--checkpoint-every", "nan"), "checkpoint_every must be 0 or more, not nan"),
        (("--pictures-every", "-1"), "pictures_every must be 0 or more"),
        (("--split", "nan", "0", "1"), "split must be three numbers of 0 or more"),
        (("--test", "y" * 5000), "test must have at most 4096 characters"),
        (("--model", "z" * 100_000), "unknown layer kind"),
    ],
)
def test_training_begins_with_its_options(options, said, capsys, tmp_path):
    out = tmp_path / "run"
    error = refusal([*OWN, *options, "--out", str(out)], capsys)
    assert said in error
    assert len(error) < 2200
    assert not out.exists()


def test_an_endless_name_is_refused_with_its_beginning(capsys, tmp_path):
    for words in (["train", "x" * 5000], [*OWN, "--out", "y" * 5000], ["report", "z" * 5000]):
        assert len(refusal(words, capsys)) < 2200


def test_a_file_is_no_run_folder(capsys, tmp_path):
    (tmp_path / "file").write_text("somebody's")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        for more in ((), ("--learning-rate", "0.1,0.2")):
            error = refusal([*OWN, *more, "--out", str(out)], capsys)
            assert f"{tmp_path / 'file'} is a file" in error
        assert "is a file" in refusal(["train", "digits", "--out", str(out)], capsys)
    assert (tmp_path / "file").read_text() == "somebody's"


@pytest.mark.parametrize("mirror", ["http://[", "ftp://host", "http://", "http://host:port", "x"])
def test_a_mirror_is_an_address(mirror, capsys, tmp_path):
    words = ["data", "fetch", "adult", "--mirror", mirror, "--out", str(tmp_path / "data")]
    assert f"mirror must be an http or https address, not '{mirror}'" in refusal(words, capsys)
    assert not (tmp_path / "data").exists()


def test_the_library_refuses_the_same():
    for make in (
        lambda: RunConfig(seed=-1),
        lambda: DataConfig(split_seed=2**32),
        lambda: DataConfig(columns=["a"]),
        lambda: RunEvaluation(memory=float("nan")),
        lambda: RunOptions(checkpoint_interval=float("inf")),
        lambda: Recipe(epochs=10**10),
    ):
        with pytest.raises(UsageError):
            make()


def test_a_failure_of_the_system_is_one_sentence(capsys, monkeypatch):
    def fail(error):
        def run(self):
            raise error

        monkeypatch.setattr("wakesleep.cli.info.Info.run", run)
        return main(["info"]), capsys.readouterr().err

    assert fail(OSError(28, "No space left on device", "a/b")) == (
        1,
        "wakesleep: a/b: No space left on device\n",
    )
    assert fail(MemoryError("8 GB")) == (
        1,
        "wakesleep: there is not enough memory for this (8 GB)\n",
    )

    def warn(self):
        warnings.warn("no more pictures are written", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("wakesleep.cli.info.Info.run", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["info"]) == 0
    assert capsys.readouterr().err == "wakesleep: no more pictures are written\n"
