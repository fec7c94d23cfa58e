"""What `wakesleep train` says beside its progress, on standard error."""

import sys
from pathlib import Path


def tell_what_is_not_written() -> None:
    """That there will be no TensorBoard events, where what writes them is not installed."""
    from wakesleep.runs.observers import TensorBoardLogger

    if not TensorBoardLogger.installed():
        note = "no TensorBoard events: pip install 'wakesleep[tensorboard]' has them written"
        print(note, file=sys.stderr)


def tell_gains(path: Path, valid_ll: float) -> None:
    """How far a table's validation likelihood is from what is simpler, in the table's units."""
    from wakesleep.runs.folder import RunFolder
    from wakesleep.runs.yardstick import read_yardstick
    from wakesleep.runs.yardstick_words import gain_sentences

    made = read_yardstick(RunFolder(path))
    if made is None or not made.valid:
        return
    ours = valid_ll + made.valid["log_measure"]
    print(f"in the table's units {ours:.3f} nats", file=sys.stderr)
    for sentence in gain_sentences(ours, made.valid, len(made.typical)):
        print(sentence, file=sys.stderr)


def score_words(valid_ll: float | None) -> str:
    """A candidate's score for a person."""
    return "diverged" if valid_ll is None else f"{valid_ll:.3f}"
