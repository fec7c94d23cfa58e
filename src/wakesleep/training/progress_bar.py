"""Progress of training: a bar on a terminal, plain lines elsewhere, JSON, or nothing."""

import json
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wakesleep.bar import Bar
from wakesleep.training.events import (
    Chosen,
    EpochDone,
    EpochRecord,
    Event,
    PretrainingEpoch,
    Started,
    Stepped,
    Tried,
)


class TrainingProgress(Bar):
    """An observer of `fit`: a bar on a terminal, a line per epoch elsewhere.

    Of an automatic choice there is a line per candidate; `epoch_lines=False` leaves it at those.
    """

    def __init__(self, *, quiet: bool, as_json: bool, epoch_lines: bool = True):
        self.as_json = as_json
        self.quiet = quiet
        console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            disable=quiet or as_json or not console.is_terminal,
        )
        self.lines = epoch_lines and not (quiet or as_json or console.is_terminal)
        self.task = self.bar.add_task("training", total=None, numbers="")

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Started):
            self.bar.update(self.task, total=event.epochs, completed=event.epochs_done)
        elif isinstance(event, Stepped):
            done = event.epoch + event.steps_done / event.steps
            self.bar.update(self.task, completed=done, description=f"epoch {event.epoch + 1}")
        elif isinstance(event, EpochDone):
            self._epoch(event.record)
        elif isinstance(event, PretrainingEpoch):
            self._pretraining(event)
        elif isinstance(event, Tried | Chosen):
            self._say(event)

    def _say(self, event: Tried | Chosen) -> None:
        if self.as_json:
            print(json.dumps(choice_record(event)), flush=True)
        elif not self.quiet:
            self.bar.console.print(
                choice_line(event), highlight=False, markup=False, soft_wrap=True
            )

    def _pretraining(self, event: PretrainingEpoch) -> None:
        where = f"pretraining layer {event.layer} of {event.layers}, epoch {event.record.epoch}"
        self.bar.update(self.task, description=where, numbers=numbers(event.record))
        if self.as_json:
            place = {"pretraining": event.layer, "layers": event.layers}
            print(json.dumps({**place, **event.record.to_dict()}), flush=True)
        elif self.lines:
            print(f"{where}  {numbers(event.record)}", file=sys.stderr, flush=True)

    def _epoch(self, record: EpochRecord) -> None:
        self.bar.update(self.task, completed=record.epoch, numbers=numbers(record))
        if self.as_json:
            print(json.dumps(record.to_dict()), flush=True)
        elif self.lines:
            print(f"epoch {record.epoch}  {numbers(record)}", file=sys.stderr, flush=True)


def choice_line(event: Tried | Chosen) -> str:
    """A candidate's result, or the choice, in a sentence."""
    if isinstance(event, Tried):
        recipe = event.candidate.recipe
        score = "diverged" if event.valid_ll is None else f"validation LL {event.valid_ll:.3f}"
        smoothed = ", smoothed rows" if recipe.smoothing else ""
        held_back = f"weight decay {recipe.weight_decay:g}{smoothed}"
        return f"tried {event.candidate.model}, {held_back}: {score}"
    return (
        f"chosen: {_taken(event)}, validation LL {event.valid_ll:.3f} nats "
        f"(independent columns {event.independent:.3f})"
    )


def _taken(event: Chosen) -> str:
    classes = f"{event.classes} latent class{'es' if event.classes > 1 else ''}"
    if not event.components:
        return classes
    models = [event.best.model]
    if event.components > 1:
        models.append(f"{event.components - 1} more")
    if event.classes:
        models.append(classes)
    return models[0] if len(models) == 1 else f"{', '.join(models[:-1])} and {models[-1]}, mixed"


def choice_record(event: Tried | Chosen) -> dict[str, object]:
    """The same as plain values."""
    if isinstance(event, Tried):
        return {
            "tried": event.candidate.name,
            "model": event.candidate.model,
            "weight_decay": event.candidate.recipe.weight_decay,
            "valid_ll": event.valid_ll,
        }
    return {
        "chosen": event.best.name,
        "model": event.best.model,
        "components": event.components,
        "latent_classes": event.classes,
        "valid_ll": event.valid_ll,
        "independent_columns": event.independent,
    }


def numbers(record: EpochRecord) -> str:
    """One epoch's numbers, short."""
    valid = max(
        (v for v in (record.valid_ll, record.valid_ll_average) if v is not None), default=None
    )
    parts = [f"train LL {record.train_ll:.2f}"]
    if valid is not None:
        parts.append(f"valid LL {valid:.2f}{'*' if record.best else ''}")
    parts += [
        f"ESS {record.effective_samples:.2f}",
        f"{record.seconds:.1f} s",
        f"{record.examples_per_second:,.0f} examples/s",
    ]
    return "  ".join(parts)
