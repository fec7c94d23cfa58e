"""What `wakesleep train` says beside its progress, on standard error, and what it calls a run."""

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wakesleep.errors import UsageError

if TYPE_CHECKING:
    from wakesleep.cli.train import Train

GO_WITH_RESUME = {"resume", "extend", "moved", "quiet", "json", "machines", "cluster"} | {
    "checkpoint_every",
    "pictures_every",
    "diagnostics",
}


def refuse_changes(command: "Train") -> None:
    """A resumed run is trained as it was begun: other options would be passed over in silence."""
    usual = type(command)()
    for option in dataclasses.fields(command):
        name = option.name
        if name not in GO_WITH_RESUME and getattr(command, name) != getattr(usual, name):
            said = {"data": "DATA", "table": "what columns are"}
            words = said.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(
                f"{words} cannot change with --resume: {command.resume} goes on as it was begun; "
                "for another training leave --resume out"
            )


def tell_what_is_not_written(*, quiet: bool) -> None:
    """That there will be no TensorBoard events, where what writes them is not installed."""
    from wakesleep.runs.tensorboard_log import TensorBoardLogger

    if not (quiet or TensorBoardLogger.installed()):
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


def score_words(scores: Mapping[float, float | None]) -> str:
    """What each learning rate came to, for a person."""
    words = {rate: "diverged" if one is None else f"{one:.3f}" for rate, one in scores.items()}
    return ", ".join(f"{rate:g}: {words[rate]}" for rate in sorted(words))


def default_folder(data: str, model: str, seed: int) -> Path:
    """Where a run is kept that was given no folder."""
    name = f"{Path(data).stem}-{model}-seed{seed}"
    return Path("runs") / "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
