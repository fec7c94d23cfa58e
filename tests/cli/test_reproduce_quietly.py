"""`wakesleep reproduce --quiet` says nothing but errors, and these it says."""

from wakesleep.cli.reproduce import Reproduce
from wakesleep.errors import UsageError
from wakesleep.reproduce import running


def test_a_row_that_cannot_be_run_is_named_with_the_reason(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise UsageError("the folder holds a run of another recipe")

    monkeypatch.setattr(running, "run_row", refuse)
    command = Reproduce("table1", "SBN/SBN 200", runs=tmp_path, results=tmp_path, quiet=True)
    assert command.run() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "SBN/SBN 200: the folder holds a run of another recipe\n"
