"""A density model of a CSV of one's own, and whether it is worth having.

Usage: python examples/01_your_own_csv.py [FILE.csv]

Without a file it makes one: shopping baskets, a row each, a column per item. The model's test
log-likelihood stands beside that of independent columns: the difference is what the model knows
about how columns go together.
"""

import sys
from pathlib import Path

import jax
import numpy as np

import wakesleep as ws

ITEMS = ["bread", "butter", "jam", "pasta", "tomatoes", "cheese", "beer", "crisps", "nappies"]
OCCASIONS = {"breakfast": [0, 1, 2], "dinner": [3, 4, 5], "evening": [6, 7, 5]}


def make_baskets(path: Path, rows: int = 3000) -> None:
    """Baskets bought for one or more occasions, and a little at random."""
    random = np.random.default_rng(0)
    chances = np.full((rows, len(ITEMS)), 0.05)
    for items in OCCASIONS.values():
        chosen = random.random(rows) < 0.4
        chances[np.ix_(chosen, items)] = 0.8
    baskets = (random.random(chances.shape) < chances).astype(int)
    np.savetxt(path, baskets, fmt="%d", delimiter=",", header=",".join(ITEMS), comments="")


def independent_log_likelihood(data: ws.Dataset) -> float:
    """What a model of each column alone reaches on the test set, in nats per row."""
    p, x = data.train.smoothed_mean(), np.asarray(data.test)
    return float((x * np.log(p) + (1 - x) * np.log1p(-p)).sum(1).mean())


def main() -> None:
    """Train, judge, and draw new rows."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("baskets.csv")
    if len(sys.argv) == 1:
        make_baskets(path)
    data = ws.load_dataset(path)
    model = ws.build("sbn/sbn 5-10", features=data.features, key=jax.random.key(0))
    trained = ws.fit(model, data, ws.Recipe(epochs=30), seed=0).model

    score = ws.log_likelihood(trained, data.test, samples=1_000, key=jax.random.key(1))
    print(f"independent columns  {independent_log_likelihood(data):7.3f} nats per row")
    print(f"the model            {score.mean:7.3f} ± {score.confidence:.3f} nats per row")

    strangest = np.argsort(score.values)[:3]
    print("the least likely test rows:", *data.test[strangest], sep="\n  ")
    print("new rows:", *ws.sample(trained, 3, key=jax.random.key(2)), sep="\n  ")


if __name__ == "__main__":
    main()
