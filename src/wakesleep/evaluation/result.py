"""What an evaluation finds: numbers per example, and the set's mean with its interval."""

import csv
import io
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from wakesleep.atomic import write_atomically
from wakesleep.data.numpy_files import BROKEN, check_archive
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.evaluation.tail import UNRELIABLE
from wakesleep.inference.normaliser import Normaliser

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class LogLikelihood:
    """log p(x) of every example of a set, in nats, and how far it may be off.

    `log p̂` is low on average: its logarithm lowers the mean of p̂ by half its relative
    variance, to leading order, and by more where the weights' tail is heavy (`growth.py`).
    Nothing here is corrected for that; `bias` is the estimate, and the intervals are widened
    by it.

    Attributes:
        records: one line per example, `[N]`, of type `RECORD`.
        method: "importance", "combined" or "exact".
        normaliser: log Z of an undirected top, from both sides; None where p is normalised. Its
            middle is subtracted from every value, and its error is part of the intervals.
    """

    records: Records
    method: str
    normaliser: Normaliser | None = None

    def __len__(self) -> int:
        return len(self.records)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """log p̂(x), `[N]`."""
        return self.records["value"]

    @property
    def standard_errors(self) -> npt.NDArray[np.float64]:
        """The Monte-Carlo standard error of each value (delta method, with half a standard
        error of the variance estimate itself on top), `[N]`; nan for K = 1."""
        return self.records["standard_error"]

    @property
    def biases(self) -> npt.NDArray[np.float64]:
        """The estimated bias of each value, never above 0, `[N]`; nan for K = 1."""
        return self.records["bias"]

    @property
    def bounds(self) -> npt.NDArray[np.float64]:
        """The single-sample variational bound of each example, `[N]`."""
        return self.records["bound"]

    @property
    def effective_samples(self) -> npt.NDArray[np.float64]:
        """(Σ ω)² / Σ ω² of each example, `[N]`; nan where nothing was sampled.

        Of the SMC runs where the value is made of those.
        """
        return self.records["effective_samples"]

    @property
    def pareto_k(self) -> npt.NDArray[np.float64]:
        """The tail shape of each example's weights, `[N]`; nan where no tail can be fitted."""
        return self.records["pareto_k"]

    @property
    def samples(self) -> npt.NDArray[np.int64]:
        """How many samples were drawn for each example, `[N]`; 0 for the exact method."""
        return self.records["samples"]

    @property
    def runs(self) -> npt.NDArray[np.int64]:
        """The SMC runs that each value is made of, `[N]`; 0 where q's samples made it."""
        return self.records["runs"]

    @property
    def unreliable(self) -> npt.NDArray[np.bool_]:
        """Which examples have a Pareto k above 0.7: their standard errors are too small, and their
        bias is judged by its growth with K."""
        return self.pareto_k > UNRELIABLE

    @property
    def mean(self) -> float:
        """The mean of log p̂(x) over the set: minus the NLL of the paper's tables."""
        return float(self.values.mean())

    @property
    def bound(self) -> float:
        """The mean of the single-sample variational bound."""
        return float(self.bounds.mean())

    @property
    def bias(self) -> float:
        """The estimated bias of the mean, never above 0."""
        return float(self.biases.mean())

    @property
    def monte_carlo_error(self) -> float:
        """Half width of the 95% interval for the mean of log p(x) over these very examples.

        Noise and bias are added: averaging over examples shrinks only the noise, and not the
        error of log Z, which all examples share.
        """
        return self._noise - self.bias + self._shared_error

    @property
    def test_set_error(self) -> float:
        """Half width of the 95% interval for the mean over all data, were log p(x) exact.

        The spread of the values less their Monte-Carlo noise; nan for a single example.
        """
        if len(self) == 1:
            return float("nan")
        noise = np.square(self.standard_errors).mean()
        spread = np.maximum(self.values.var(ddof=1) - noise, 0.0)
        return _quantile(len(self) - 1) * float(np.sqrt(spread / len(self)))

    @property
    def confidence(self) -> float:
        """Half width of the 95% interval for the mean over all data, both errors together."""
        return float(np.hypot(self.test_set_error, self._noise)) - self.bias + self._shared_error

    @property
    def _noise(self) -> float:
        return _quantile(np.inf) * float(np.sqrt(np.square(self.standard_errors).sum())) / len(self)

    @property
    def _shared_error(self) -> float:
        return self.normaliser.half_width if self.normaliser else 0.0

    def take(self, indices: npt.ArrayLike) -> "LogLikelihood":
        """The result for some of the examples."""
        return replace(self, records=self.records[np.asarray(indices)])

    def normalised(self, normaliser: Normaliser) -> "LogLikelihood":
        """The result of an unnormalised p, with log Z taken off."""
        shifted = self.shifted(np.full(len(self), -normaliser.value))
        return replace(shifted, normaliser=normaliser)

    def shifted(self, amounts: npt.NDArray[np.float64]) -> "LogLikelihood":
        """The result with something added to each value, `[N]`: the measure of a table's units."""
        records = self.records.copy()
        records["value"] += amounts
        records["bound"] += amounts
        return replace(self, records=records)

    def to_dict(self) -> dict[str, Any]:
        """The set's numbers as plain values for JSON; None stands for nan."""
        numbers = {
            "mean": self.mean,
            "confidence": self.confidence,
            "test_set_error": self.test_set_error,
            "monte_carlo_error": self.monte_carlo_error,
            "bias": self.bias,
            "bound": self.bound,
            "samples_per_example": float(self.samples.mean()),
            "median_effective_samples": _median(self.effective_samples[self.runs == 0]),
            "largest_pareto_k": _largest(self.pareto_k),
        }
        return {
            "method": self.method,
            "unit": "nats",
            "level": LEVEL,
            "examples": len(self),
            **{name: None if np.isnan(value) else value for name, value in numbers.items()},
            "unreliable_examples": int(self.unreliable.sum()),
            "annealed_examples": int((self.runs > 0).sum()),
            **({"log_normaliser": asdict(self.normaliser)} if self.normaliser else {}),
        }

    def save(self, path: str | Path, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Write the numbers per example, as .npz (which `load` reads) or .csv.

        A .csv has each example's number, or the `rows` that they have in a person's file.
        """
        target = Path(path)
        if target.suffix == ".npz":
            write_atomically(target, self._npz())
        elif target.suffix == ".csv":
            write_atomically(target, self._csv(rows).encode())
        else:
            raise UsageError(f"{target} must end in .npz or .csv")

    @classmethod
    def load(cls, path: str | Path) -> "LogLikelihood":
        """Read what `save` wrote as .npz."""
        try:
            check_archive(Path(path))
            with np.load(path, allow_pickle=False) as archive:
                # Version 0.1 knew no SMC runs, and kept no number of them.
                kept = [name for name in RECORD.names or () if name != "runs" or name in archive]
                columns = {name: archive[name] for name in kept}
                method = str(archive["method"])
                sides = archive["normaliser"].tolist() if "normaliser" in archive else None
                records = np.zeros(len(columns["value"]), RECORD)
                for name, column in columns.items():
                    records[name] = column
        except (*BROKEN, TypeError) as error:
            raise DataError(f"{path} is no saved evaluation: {error}") from error
        if sides is None:
            return cls(records, method)
        lower, upper, lower_error, upper_error, exact = sides
        return cls(records, method, Normaliser(lower, upper, lower_error, upper_error, bool(exact)))

    def _npz(self) -> bytes:
        columns = {name: self.records[name] for name in RECORD.names or ()}
        if self.normaliser:
            columns["normaliser"] = np.array(astuple(self.normaliser), np.float64)
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, method=np.array(self.method), **columns)
        return file.getvalue()

    def _csv(self, rows: npt.NDArray[np.int64] | None) -> str:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        numbers = range(1, len(self) + 1) if rows is None else rows.tolist()
        writer.writerow(["example" if rows is None else "row", *(RECORD.names or ())])
        numbered = zip(numbers, self.records.tolist(), strict=True)
        writer.writerows([number, *row] for number, row in numbered)
        return file.getvalue()


def _quantile(degrees: float | int) -> float:
    """Student's: half the width of the interval, in standard errors."""
    return float(stdtrit(degrees, (1 + LEVEL) / 2))


def _median(values: npt.NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _largest(values: npt.NDArray[np.float64]) -> float:
    """The maximum of what is not nan."""
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else float("nan")
