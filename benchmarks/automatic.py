"""The automatic default beside what people have at hand: a Bernoulli mixture and one NADE.

    python -m benchmarks.automatic --sets digits nltcs mushrooms

For each set, on its own split: the default (`ws.fit(data, minutes=...)`), a mixture of independent
bits by EM whose number of components is chosen on the validation rows, and a fully visible NADE
with the default recipe and early stopping. Test rows are scored once each, the default's with 100
samples where it has latents. Sets that are measured already are kept in the results file and
replaced when they are measured again.
"""

import argparse
import json
import time
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

import wakesleep as ws
from benchmarks.machine import RESULTS, provenance, write_result
from wakesleep.data import Dataset
from wakesleep.training.automatic_fit import independent_columns
from wakesleep.training.events import Chosen, Tried

COMPONENTS = (1, 2, 5, 10, 20, 50, 100, 200)
ROUNDS = 100
SETTLED = 1e-4
SMOOTHING = 0.1
"""Added to a component's ones and zeros of each column."""
SAMPLES = 100
UPDATES = 4000
Floats = npt.NDArray[np.float64]


class BernoulliMixture:
    """Independent bits given a component, by EM from responsibilities drawn at random."""

    def __init__(self, rows: Floats, components: int, seed: int):
        shares = np.random.default_rng(seed).dirichlet(np.full(components, 0.1), len(rows))
        before = -np.inf
        for _ in range(ROUNDS):
            counts = shares.sum(axis=0)
            self.log_weights = np.log(counts + SMOOTHING) - np.log((counts + SMOOTHING).sum())
            means = (shares.T @ rows + SMOOTHING) / (counts + 2 * SMOOTHING)[:, None]
            self.log_odds, self.log_zeros = np.log(means / (1 - means)), np.log1p(-means).sum(1)
            joint = self._joint(rows)
            values = logsumexp(joint, axis=1, keepdims=True)
            shares = np.exp(joint - values)
            if values.mean() - before < SETTLED:
                break
            before = values.mean()

    def _joint(self, rows: Floats) -> Floats:
        return rows @ self.log_odds.T + self.log_zeros + self.log_weights

    def log_prob(self, rows: Floats) -> Floats:
        """Of each row."""
        return logsumexp(self._joint(rows), axis=1)


def bernoulli_mixture(data: Dataset, seed: int) -> dict[str, Any]:
    """Test log-likelihood with the number of components that is best on the validation rows."""
    train, valid, test = (split[:].astype(np.float64) for split in data.splits.values())
    start = time.perf_counter()
    scores: dict[int, float] = {}
    best: BernoulliMixture | None = None
    for components in COMPONENTS:
        if components > len(train) // 2:
            break
        mixture = BernoulliMixture(train, components, seed)
        scores[components] = float(mixture.log_prob(valid).mean())
        if scores[components] == max(scores.values()):
            best = mixture
        elif scores[components] < max(scores.values()) - 0.05 * abs(max(scores.values())):
            break
    assert best is not None
    return {
        "test": float(best.log_prob(test).mean()),
        "components": max(scores, key=lambda count: scores[count]),
        "seconds": time.perf_counter() - start,
    }


def one_nade(data: Dataset, seed: int) -> dict[str, Any]:
    """A fully visible NADE of a width that does well on most sets, trained by itself."""
    start = time.perf_counter()
    recipe = ws.Recipe(epochs=UPDATES // 100, epoch_updates=100, patience=10)
    result = ws.fit("nade(hidden=200)", data, recipe, seed=seed, progress=False)
    seconds = time.perf_counter() - start
    return {"test": test_score(result.model, data)["test"], "seconds": seconds}


def default(data: Dataset, minutes: float, seed: int) -> dict[str, Any]:
    """The automatic default, and what it tried."""
    seen: list[Any] = []
    start, busy = time.perf_counter(), time.process_time()
    result = ws.fit(data, minutes=minutes, seed=seed, observers=[seen.append], progress=True)
    found = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - busy}
    (chosen,) = (event for event in seen if isinstance(event, Chosen))
    tried = [event for event in seen if isinstance(event, Tried)]
    return {
        **test_score(result.model, data),
        "valid": chosen.valid_ll,
        "chosen": chosen.best.model,
        "tried": {f"{one.candidate.name}: {one.candidate.model}": one.valid_ll for one in tried},
        **found,
    }


def test_score(model: Any, data: Dataset) -> dict[str, float]:
    """The mean over test rows, with half of its 95% interval."""
    score = ws.log_likelihood(model, data.test, samples=SAMPLES, key=jax.random.key(1))
    return {"test": score.mean, "confidence": score.confidence}


def measure(name: str, minutes: float, seed: int) -> dict[str, Any]:
    data = ws.load_dataset(name)
    found: dict[str, Any] = {
        "rows": len(data.train),
        "columns": data.features,
        "minutes": minutes,
        "seed": seed,
        "default": default(data, minutes, seed),
        "bernoulli mixture": bernoulli_mixture(data, seed),
        "one NADE": one_nade(data, seed),
        "independent columns, validation": independent_columns(data, seed),
    }
    jax.clear_caches()
    return found


def table(sets: dict[str, dict[str, Any]]) -> str:
    """For docs/automatic.md: test log-likelihoods, and by how much the default is ahead."""
    lines = [
        "| set | the default | Bernoulli mixture | one NADE | lead over the better | seconds |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, found in sets.items():
        ours = found["default"]
        rivals = [found[who]["test"] for who in ("bernoulli mixture", "one NADE")]
        lead = (ours["test"] - max(rivals)) / abs(max(rivals))
        numbers = " | ".join(f"{each:.3f}" for each in (ours["test"], *rivals))
        lines.append(f"| {name} | {numbers} | {lead:+.2%} | {ours['cpu_seconds']:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=["digits"], help="names of `wakesleep data`")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    path = RESULTS / "automatic.json"
    known = json.loads(path.read_text())["sets"] if path.exists() else {}
    for name in given.sets:
        about = provenance()
        found = measure(name, given.minutes, given.seed)
        known[name] = {**found, "commit": about["commit"], "load_before": about["load_before"]}
        write_result("automatic", about | {"sets": dict(sorted(known.items()))})
        ours, mixture, nade = (
            found[who]["test"] for who in ("default", "bernoulli mixture", "one NADE")
        )
        print(f"{name}: default {ours:.3f}, Bernoulli mixture {mixture:.3f}, one NADE {nade:.3f}")


if __name__ == "__main__":
    main()
