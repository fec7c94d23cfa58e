"""A question: some states of some columns are given. The answer: what the model says of the rest.

Where every given column has one state, the question is a row with missing cells, which `impute`
answers for every model. Where a column may be in several states, rows are drawn by `sample_given`.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.data import MaskedBits
from wakesleep.errors import UsageError, WakesleepError
from wakesleep.explore.subjects import Subject
from wakesleep.inference.given import sample_given
from wakesleep.inference.imputation import impute
from wakesleep.inference.surprise import cell_log_probs
from wakesleep.schema import cell_texts
from wakesleep.schema.encoded import bits_of

SAMPLES = 200
SHOWN = 12
"""Completions."""
DRAWN = 512
"""Rows that distributions are counted in, where a column may be in several states."""
CELL_SAMPLES = 100

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Question:
    """For some columns, by number, the states that are allowed; and a seed for what is drawn."""

    given: dict[int, tuple[int, ...]]
    seed: int

    @classmethod
    def parse(cls, subject: Subject, words: Any) -> "Question":
        """From what a page sent; anything else than a question is refused."""
        if not isinstance(words, dict) or set(words) != {"given", "seed"}:
            raise UsageError("a question has exactly: given, seed")
        states = [len(labels) for labels in subject.labels()]
        seed, given = words["seed"], words["given"]
        if type(seed) is not int or not 0 <= seed < 2**31 or not isinstance(given, dict):
            raise UsageError("a question has a seed from 0 and the states that are given")
        found = {}
        for name, allowed in given.items():
            group = int(name) if name.isascii() and name.isdecimal() else -1
            if not 0 <= group < len(states):
                raise UsageError(f"there is no column {name!r}: there are {len(states)}")
            known = range(states[group])
            if (
                not isinstance(allowed, list)
                or not allowed
                or not all(type(state) is int and state in known for state in allowed)
            ):
                raise UsageError(f"column {group} has the states 0 to {states[group] - 1}")
            # All states are no condition.
            if len(set(allowed)) < states[group]:
                found[group] = tuple(sorted(set(allowed)))
        return cls(found, seed)

    @property
    def single(self) -> bool:
        """Whether every given column has one state."""
        return all(len(states) == 1 for states in self.given.values())


def answer(subject: Subject, question: Question) -> dict[str, Any]:
    """Distributions of every column, completions, and how odd what was given is."""
    if question.single:
        distributions, draws, log_probability = _imputed(subject, question)
        odd = _oddness(subject, question)
    else:
        distributions, draws, log_probability = _drawn(subject, question)
        odd = {}
    return {
        "distributions": [np.round(one, 5).tolist() for one in distributions],
        "completions": _completions(subject, draws, question.seed),
        "log_probability": log_probability if np.isfinite(log_probability) else None,
        "odd": odd,
    }


def _codes(subject: Subject, question: Question) -> npt.NDArray[np.int32]:
    codes = np.full((1, subject.model.groups_count), -1, np.int32)
    for group, states in question.given.items():
        codes[0, group] = states[0]
    return codes


def _states(subject: Subject) -> tuple[int, ...]:
    return tuple(2 if size == 1 else size for size in subject.model.groups)


def _imputed(subject: Subject, question: Question) -> tuple[list[Any], Bits, float]:
    model, codes = subject.model, _codes(subject, question)
    bits = bits_of(codes, _states(subject))
    missing = np.repeat(codes < 0, model.groups, axis=1)
    key = jax.random.key(question.seed)
    if not missing.any():
        raise UsageError("everything is given: take something away to see what the model says")
    found = impute(model, bits, missing, SAMPLES, key=key, draws=SHOWN)
    log_probability = float(found.log_likelihood[0]) if question.given else 0.0
    return _by_group(found.probabilities[0], model.groups), found.draws[0], log_probability


def _by_group(probabilities: npt.NDArray[Any], groups: tuple[int, ...]) -> list[Any]:
    """Units' probabilities as distributions over each group's states."""
    parts = np.split(probabilities.astype(np.float64), np.cumsum(groups)[:-1])
    return [np.array([1 - one[0], one[0]]) if len(one) == 1 else one for one in parts]


def _drawn(subject: Subject, question: Question) -> tuple[list[Any], Bits, float]:
    states = _states(subject)
    allowed = {group: np.isin(np.arange(states[group]), s) for group, s in question.given.items()}
    key = jax.random.key(question.seed)
    found = sample_given(subject.model, allowed, DRAWN, SAMPLES, key=key)
    means = found.draws.mean(axis=0)
    return _by_group(means, subject.model.groups), found.draws[:SHOWN], found.log_probability


def _oddness(subject: Subject, question: Question) -> dict[int, float]:
    """log p of each given cell, given the other given ones; none where there is but one."""
    if len(question.given) < 2 or subject.image() is not None:
        return {}
    codes = _codes(subject, question)
    rows = MaskedBits.pack(bits_of(codes, _states(subject)), codes >= 0, subject.model.groups)
    try:
        values = cell_log_probs(subject.model, rows, CELL_SAMPLES, key=jax.random.key(0))[0]
    except WakesleepError:
        # An RBM cannot sum over missing cells: the answer is good without this.
        return {}
    return {group: float(values[group]) for group in question.given}


def _completions(subject: Subject, draws: Bits, seed: int) -> Any:
    """Rows of the table in words, or rows of bits."""
    if subject.schema is None:
        return draws.tolist()
    frame = subject.schema.decode(draws, seed)
    chosen = [frame[name] for name in subject.schema.names]
    return [list(row) for row in zip(*map(cell_texts, chosen), strict=True)]
