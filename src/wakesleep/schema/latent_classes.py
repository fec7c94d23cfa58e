"""A mixture of independent columns, fitted by EM. No JAX here.

Each row belongs to one of C classes, and given its class its columns are independent: latent class
analysis, what people reach for when independent columns are too little. It is a yardstick for
tables, and a part of the automatic default.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError

Floats = npt.NDArray[np.float64]

CLASSES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of classes that are tried, until validation rows were better off with fewer twice."""
SHRINKAGE = (0.5, 2.0, 10.0)
"""Rows of the whole table that each class is given beforehand; validation rows choose."""
ROWS = 5000
"""The most training rows that are looked at, evenly spaced."""
WORTH_IT = 1e-3
"""The share of the log-likelihood that more classes must gain."""
ITERATIONS = 100
SETTLED = 1e-5
"""The share of the log-likelihood that a round of EM must gain to be followed by another."""
MOST_WORK = 8_000_000
"""Rows times columns times classes above which no more classes are tried: some ten seconds of EM.
No clock is read, so that the same rows give the same classes."""
SMOOTHING = 0.5
"""Added to each state's count in the whole table."""
MOST_DISTINCT = 64
"""Distinct rows above which none has a class of its own."""
BLOCK = 4096


class Search(NamedTuple):
    """How much is tried to find the number of classes; see the constants of the same names."""

    counts: tuple[int, ...] = CLASSES
    shrinkage: tuple[float, ...] = SHRINKAGE
    rows: float = ROWS
    most_work: float = MOST_WORK
    worth_it: float = WORTH_IT


QUICK = Search()


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """A mixture whose components have independent columns.

    Attributes:
        log_shares: of the classes, `[C]`.
        log_probabilities: of every state of all groups, one group behind the other, in each
            class, `[S, C]`.
        states: how many each group has.
    """

    log_shares: Floats
    log_probabilities: Floats
    states: tuple[int, ...]

    @classmethod
    def fit(
        cls,
        codes: npt.NDArray[Any],
        states: tuple[int, ...],
        held_out: npt.NDArray[Any] | None = None,
        seed: int = 0,
        search: Search = QUICK,
    ) -> "LatentClasses":
        """Fit states `[N, G]` of training rows (-1 is a missing cell), classes by held-out rows.

        Without rows that were held out, a fifth of the training rows is.
        """
        rng = np.random.default_rng(seed)
        most = int(min(search.rows, len(codes)))
        rows = codes[np.unique(np.linspace(0, len(codes) - 1, most).astype(int))]
        rest = held_out[:ROWS] if held_out is not None else np.zeros((0, len(states)))
        if not len(rest):
            order = rng.permutation(len(rows))
            rows, rest = rows[order[len(rows) // 5 :]], rows[order[: len(rows) // 5]]
            rest = rest if len(rest) else rows
        table = _Rows(rows, states)
        found = [_best_count(table, rest, search, each, rng) for each in search.shrinkage]
        # The first of equals.
        return max(found, key=lambda one: one[0])[1]

    @classmethod
    def of_distinct_rows(
        cls, codes: npt.NDArray[Any], states: tuple[int, ...]
    ) -> "LatentClasses | None":
        """A class for each of the distinct rows; None where they are many, or have gaps.

        A contingency table has few distinct rows and many of each: their frequencies are hard to
        beat. Half a row of the whole table in each class lets rows that nobody saw be possible.
        """
        if (codes < 0).any():
            return None
        distinct, which = np.unique(codes, axis=0, return_inverse=True)
        if not 0 < len(distinct) <= MOST_DISTINCT:
            return None
        memberships = np.eye(len(distinct))[which.reshape(-1)]
        return _maximised(_Rows(codes, states), memberships, SHRINKAGE[0])

    @property
    def classes(self) -> int:
        """C, how many there are."""
        return len(self.log_shares)

    def log_prob(self, codes: npt.NDArray[Any]) -> Floats:
        """The log-probability of each row's observed states, `[N]`."""
        parts = [
            np.logaddexp.reduce(self._joint(codes[start : start + BLOCK]), axis=1)
            for start in range(0, len(codes), BLOCK)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _joint(self, codes: npt.NDArray[Any]) -> Floats:
        """log p(row, class), `[N, C]`."""
        joint = np.tile(self.log_shares, (len(codes), 1))
        for group, start in enumerate(_starts(self.states)):
            seen = codes[:, group] >= 0
            joint[seen] += self.log_probabilities[start + codes[seen, group].astype(int)]
        return joint

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "shares": self.log_shares.tolist(),
            "probabilities": self.log_probabilities.tolist(),
            "states": list(self.states),
        }

    @classmethod
    def from_dict(cls, values: Any, where: str) -> "LatentClasses":
        """What `to_dict` gave."""
        try:
            shares = np.asarray(values["shares"], np.float64)
            tables = np.asarray(values["probabilities"], np.float64)
            return cls(shares, tables.reshape(-1, len(shares)), tuple(values["states"]))
        except (TypeError, ValueError, KeyError) as error:
            raise DataError(f"{where} has no latent classes ({error})") from None


def _starts(states: tuple[int, ...]) -> npt.NDArray[np.intp]:
    return np.cumsum((0, *states))[:-1].astype(np.intp)


class _Rows:
    """Training rows as EM needs them: one-hot, sparse, and the frequencies of the whole table."""

    def __init__(self, codes: npt.NDArray[Any], states: tuple[int, ...]):
        # Loaded by those who fit: `--help` does not wait for it.
        from scipy import sparse

        seen = codes >= 0
        places = (codes + _starts(states))[seen]
        ends = np.concatenate([[0], seen.sum(1).cumsum()])
        shape = (len(codes), sum(states))
        self.one_hot = sparse.csr_array((np.ones(len(places)), places, ends), shape=shape)
        self.states, self.size = states, codes.size
        self.frequencies = self.shares(self.one_hot.sum(axis=0)[:, None] + SMOOTHING)

    def __len__(self) -> int:
        return int(self.one_hot.shape[0])

    def shares(self, counts: Floats) -> Floats:
        """Of each state in its group, `[S, C]`."""
        totals = np.add.reduceat(counts, _starts(self.states), axis=0)
        return np.asarray(counts / np.repeat(totals, self.states, axis=0))


def _best_count(
    rows: _Rows,
    rest: npt.NDArray[Any],
    search: Search,
    shrinkage: float,
    rng: np.random.Generator,
) -> tuple[float, LatentClasses]:
    """The classes that are best on the rest of the rows, and their score there."""
    best, best_score, worse = None, -np.inf, 0
    for count in search.counts:
        much = rows.size * count > search.most_work or count > len(rows)
        if best is not None and (much or worse == 2):
            break
        made = _fit(rows, count, shrinkage, rng)
        score = float(made.log_prob(rest).mean())
        if best is None or score > best_score + search.worth_it * abs(best_score):
            best, best_score, worse = made, score, 0
        else:
            worse += 1
    assert best is not None
    return best_score, best


def _fit(rows: _Rows, classes: int, shrinkage: float, rng: np.random.Generator) -> LatentClasses:
    """EM from random memberships, until a step gains little."""
    memberships = rng.dirichlet(np.full(classes, 0.5), len(rows))
    last = -np.inf
    for _ in range(ITERATIONS):
        made = _maximised(rows, memberships, shrinkage)
        joint = rows.one_hot @ made.log_probabilities + made.log_shares
        log_prob = np.logaddexp.reduce(joint, axis=1)
        if log_prob.mean() - last < SETTLED * max(1.0, abs(last)):
            break
        last = log_prob.mean()
        memberships = np.exp(joint - log_prob[:, None])
    return made


def _maximised(rows: _Rows, memberships: Floats, shrinkage: float) -> LatentClasses:
    """The classes that rows with these memberships `[N, C]` make."""
    shares = memberships.sum(0) + 1
    # A class of few rows is like the whole table: that many rows of it are added.
    counts = rows.one_hot.T @ memberships + shrinkage * rows.frequencies
    return LatentClasses(np.log(shares / shares.sum()), np.log(rows.shares(counts)), rows.states)
