"""What an installed package must be able to do at least, without the sources beside it.

python tests/smoke.py            # any kernels
python tests/smoke.py native     # the compiled ones, or fail
python tests/smoke.py reference  # as built without a compiler: the pure-JAX ones
"""

import sys
import tempfile
from pathlib import Path

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.kernels import status


def smoke(folder: Path, expected: str | None) -> None:
    in_use, reason = status()
    print(f"wakesleep {ws.__version__}, {in_use} kernels ({reason})")
    assert expected in (None, in_use), f"{in_use} kernels where {expected} ones were expected"
    run, rows, scores = (str(folder / name) for name in ("run", "rows.csv", "scores.csv"))
    words = ["train", "penguins", "--model", "sbn/sbn 8", "--epochs", "3"]
    assert main([*words, "--quiet", "--out", run]) == 0
    assert main(["sample", run, "--count", "20", "--out", rows]) == 0
    assert main(["score", run, rows, "--out", scores]) == 0
    assert len(Path(scores).read_text(encoding="utf-8").splitlines()) == 21
    # Without wakesleep[report] this is a sentence and exit code 2, never a traceback.
    print("report:", main(["report", run, "--quiet"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        smoke(Path(folder), sys.argv[1] if len(sys.argv) > 1 else None)
