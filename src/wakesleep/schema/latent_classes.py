"""A second yardstick for tables: a mixture of independent columns, fitted by EM. No JAX here.

Each row belongs to one of C classes, and given its class its columns are independent: latent class
analysis, what people reach for when independent columns are too little.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError

Floats = npt.NDArray[np.float64]

CLASSES = (2, 4, 8, 16, 32)
"""Numbers of classes that are tried, until validation rows are better off with fewer."""
ROWS = 5000
"""The most training rows that are looked at, evenly spaced."""
ITERATIONS = 60
MOST_WORK = 8_000_000
"""Rows times columns times classes above which no more classes are tried: some ten seconds of EM.
No clock is read, so that the same rows give the same classes."""
PSEUDO_COUNT = 0.1
"""Added to each state's count in each class."""
BLOCK = 4096


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
    ) -> "LatentClasses":
        """Fit states `[N, G]` of training rows (-1 is a missing cell), classes by held-out rows.

        Without rows that were held out, a fifth of the training rows is.
        """
        rng = np.random.default_rng(seed)
        rows = codes[np.unique(np.linspace(0, len(codes) - 1, min(ROWS, len(codes))).astype(int))]
        rest = held_out[:ROWS] if held_out is not None else np.zeros((0, len(states)))
        if not len(rest):
            order = rng.permutation(len(rows))
            rows, rest = rows[order[len(rows) // 5 :]], rows[order[: len(rows) // 5]]
            rest = rest if len(rest) else rows
        best, best_score = None, -np.inf
        for count in CLASSES:
            if best is not None and rows.size * count > MOST_WORK:
                break
            made = _fit(rows, states, min(count, len(rows)), rng)
            score = made.log_prob(rest).mean()
            if best is not None and (score <= best_score or count > len(rows)):
                break
            best, best_score = made, score
        assert best is not None
        return best

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


def _fit(
    codes: npt.NDArray[Any], states: tuple[int, ...], classes: int, rng: np.random.Generator
) -> LatentClasses:
    """EM from random memberships, until a step gains little."""
    memberships = rng.dirichlet(np.full(classes, 0.5), len(codes))
    last = -np.inf
    for _ in range(ITERATIONS):
        made = _maximise(codes, states, memberships)
        joint = made._joint(codes)
        log_prob = np.logaddexp.reduce(joint, axis=1)
        if log_prob.mean() - last < 1e-4 * max(1.0, abs(last)):
            break
        last = log_prob.mean()
        memberships = np.exp(joint - log_prob[:, None])
    return made


def _maximise(
    codes: npt.NDArray[Any], states: tuple[int, ...], memberships: Floats
) -> LatentClasses:
    """Shares and frequencies, each row counted in every class as far as it belongs there."""
    shares = memberships.sum(0) + 1
    tables = []
    for group, count in enumerate(states):
        seen = codes[:, group] >= 0
        # One product in place of a loop over classes.
        one_hot = (codes[seen, group][:, None] == np.arange(count)).astype(np.float64)
        counts = one_hot.T @ memberships[seen] + PSEUDO_COUNT
        tables.append(np.log(counts) - np.log(counts.sum(0)))
    return LatentClasses(np.log(shares / shares.sum()), np.concatenate(tables), states)
