"""What is measured: tasks, architectures, batches, numbers of samples, and how cost grows."""

import itertools
from dataclasses import asdict, dataclass
from typing import Any

from wakesleep.training.work import evaluation_flops, step_flops

FEATURES = 784
EVALUATED = 200
"""Examples in an evaluation."""
TILE = 1024
"""Rows (examples times samples) that a peer evaluates at a time; wakesleep chooses its own."""

ARCHITECTURES = (
    "sbn/sbn 200",
    "sbn/sbn 200-200-200",
    "sbn/sbn 10-100-200-300-400",
    "sbn/nade 200-200-200",
    "nade/nade 200",
)
SIZES = ((25, 5), (100, 5), (25, 50), (100, 50))
"""Batch and K of training steps, cheapest first: a slow peer's later ones are foretold."""

BASE = ("sbn/sbn 200-200-200", 25, 5)


@dataclass(frozen=True)
class Case:
    """One thing to measure. `axis` names what grows, in the cases about growth."""

    task: str
    architecture: str
    batch: int
    samples: int
    axis: str = ""

    def __str__(self) -> str:
        return f"{self.task} {self.architecture} batch={self.batch} K={self.samples}"

    @property
    def what(self) -> tuple[str, str, int, int]:
        """What is run, apart from why."""
        return self.task, self.architecture, self.batch, self.samples

    @property
    def rows(self) -> int:
        """Latent vectors drawn in one call: cost is nearly proportional to them."""
        dreams = self.batch if self.task == "step" else 0
        return self.batch * self.samples + dreams

    @property
    def is_sbn(self) -> bool:
        return self.architecture.startswith("sbn/sbn")

    @property
    def flops(self) -> int:
        """The arithmetic of one call."""
        count = step_flops if self.task == "step" else evaluation_flops
        return count(self.architecture, FEATURES, self.batch, self.samples)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def tile_count(case: Case) -> int:
    """Tiles of an evaluation; they are of equal size, so that a compiled one is compiled once."""
    return -(-case.batch * case.samples // TILE)


def comparison() -> list[Case]:
    """Every architecture, batch and K."""
    return [
        case
        for architecture in ARCHITECTURES
        for case in (
            *(Case("step", architecture, batch, samples) for batch, samples in SIZES),
            *(Case("evaluation", architecture, EVALUATED, samples) for samples in (5, 50)),
        )
    ]


def quick() -> list[Case]:
    """One case of every kind."""
    steps = [Case("step", architecture, 25, 5) for architecture in ARCHITECTURES[1::2]]
    return [*steps, Case("evaluation", ARCHITECTURES[1], EVALUATED, 5)]


def growth() -> list[Case]:
    """Training steps around the base case, along four axes; most are in `comparison` too."""
    architecture, batch, samples = BASE
    deeper = ["-".join(["200"] * depth) for depth in (1, 3, 5)]
    wider = ["-".join([str(width)] * 3) for width in (100, 200, 400)]
    return list(
        itertools.chain(
            (Case("step", architecture, batch, k, "K") for k in (5, 20, 50)),
            (Case("step", architecture, size, samples, "batch") for size in (25, 100, 400)),
            (Case("step", f"sbn/sbn {sizes}", batch, samples, "depth") for sizes in deeper),
            (Case("step", f"sbn/sbn {sizes}", batch, samples, "width") for sizes in wider),
        )
    )
