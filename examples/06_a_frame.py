"""A frame of names, numbers and gaps: score it, fill its gaps, draw more of it.

Usage: python examples/06_a_frame.py

The frame is made up here, so that it is known what depends on what: members are older, and
northerners walk more. Cells are then removed, and the model is asked for them.
"""

import numpy as np
import pandas as pd

from wakesleep.sklearn import HelmholtzMachineDensity


def made_up(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    member = rng.random(rows) < 0.5
    north = rng.random(rows) < 0.5
    return pd.DataFrame(
        {
            "region": np.where(north, "north", "south"),
            "member": np.where(member, "yes", "no"),
            "age": np.where(member, rng.integers(50, 80, rows), rng.integers(20, 50, rows)),
            "km": (np.where(north, 8, 2) + rng.normal(0, 1, rows)).round(2),
        }
    )


def main() -> None:
    train, test = made_up(600, seed=0), made_up(200, seed=1)
    density = HelmholtzMachineDensity("sbn/sbn 8", max_iter=200, random_state=0).fit(train)
    print(f"held-out log-likelihood {density.score(test):.2f} nats")

    gaps = test.assign(member=None)
    found = density.impute(gaps)
    print(f"member, from the other columns: {(found.member == test.member).mean():.2f} are right")
    print(density.sample(3).to_string(index=False))


if __name__ == "__main__":
    main()
