"""What is asked of every model of the arena, and what it costs. No JAX here."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int8]
"""Bits `[N, D]`; -1 is a column that is not known."""
Values = npt.NDArray[np.float64]

ROWS = 200
"""Test rows that are asked about, evenly spaced."""
WARM_UP = 4
"""Rows that are scored before a clock is read: what is compiled is compiled then."""
SEED = 0


@dataclass(frozen=True)
class Scorer:
    """A model that can be asked.

    Attributes:
        log_prob: of the known bits of rows, `[N]`; exact, or from below.
        upper: the same from above; None where `log_prob` is exact.
        about: what it is, for the record.
    """

    log_prob: Callable[[Codes], Values]
    upper: Callable[[Codes], Values] | None = None
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Questions:
    """Rows to be asked about, a random half of the columns of each, and one column of the others.

    Attributes:
        rows: all bits.
        half: of which half is known.
        column: the one that is asked for, given that half.
    """

    rows: Codes
    half: Codes
    column: npt.NDArray[np.intp]

    @classmethod
    def of(cls, bits: Codes) -> "Questions":
        """The same for every model."""
        rows = bits[np.unique(np.linspace(0, len(bits) - 1, min(ROWS, len(bits))).astype(int))]
        order = np.random.default_rng(SEED).random(rows.shape).argsort(axis=1)
        known = order < rows.shape[1] // 2
        hidden = [np.flatnonzero(~line) for line in known]
        # Column by column in turn, so that all are asked for about as often.
        column = np.array([line[i % len(line)] for i, line in enumerate(hidden)])
        return cls(rows, np.where(known, rows, -1).astype(np.int8), column)

    def with_column(self, state: int) -> Codes:
        """The half, and the column that is asked for in this state."""
        codes = self.half.copy()
        codes[np.arange(len(codes)), self.column] = state
        return codes

    def answers(self) -> npt.NDArray[np.int8]:
        """What the column is."""
        return self.rows[np.arange(len(self.rows)), self.column]


def ask(scorer: Scorer, questions: Questions) -> dict[str, Any]:
    """Means over the rows in nats, and processor-seconds for 1,000 rows.

    Of the clock's seconds, others on the same cores would have their share.
    """
    count = len(questions.rows)
    found: dict[str, Any] = {"rows": count, **scorer.about}

    def timed(name: str, work: Callable[[], Values]) -> Values:
        began = time.process_time()
        values = work()
        found[f"{name} seconds"] = 1000 * (time.process_time() - began) / count
        found[name] = float(values.mean())
        return values

    for codes in (questions.rows, questions.half):
        scorer.log_prob(codes[:WARM_UP])
    timed("log-likelihood", lambda: scorer.log_prob(questions.rows))
    timed("marginal", lambda: scorer.log_prob(questions.half))
    timed("conditional", lambda: conditional(scorer, questions))
    if scorer.upper is not None:
        timed("log-likelihood, upper", lambda: scorer.upper(questions.rows))
        timed("marginal, upper", lambda: scorer.upper(questions.half))
    return found


def conditional(scorer: Scorer, questions: Questions) -> Values:
    """log p(column | half): both states of the column are scored, and one is chosen."""
    both = np.stack([scorer.log_prob(questions.with_column(state)) for state in (0, 1)], axis=1)
    chosen = np.take_along_axis(both, questions.answers()[:, None].astype(int), axis=1)[:, 0]
    return chosen - np.logaddexp(both[:, 0], both[:, 1])
