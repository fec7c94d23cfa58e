"""The other half of `make fuzz`: mutations by libFuzzer, led by the lines of ours that they reach.

    python -m tests.fuzz.by_coverage [--inputs 2000] [--seed 1] [--targets npy csv ...]

Atheris ends the process that it fuzzes in, so every target has one of its own. A find stops its
target; the input is kept in a file whose name begins with `find-`.
"""

import argparse
import gc
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

import atheris

from tests.fuzz.__main__ import BYTES, SECONDS, seeds
from tests.fuzz.targets import TARGETS, Fuzzer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    given = parser.parse_args()
    if len(given.targets) == 1:
        fuzz(given.targets[0], given.inputs, given.seed)
    failed = []
    for target in given.targets:
        options = ["--inputs", str(given.inputs), "--seed", str(given.seed), "--targets", target]
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.by_coverage", *options])
        failed += [target] if done.returncode else []
        print(f"{target}: {'a find' if done.returncode else 'no find'}", flush=True)
    return 1 if failed else 0


def fuzz(target: str, inputs: int, seed: int) -> None:
    """Never comes back: the process ends with 0, or with libFuzzer's code at the first find."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        corpus, fuzzer = Path(folder, "corpus"), Fuzzer(Path(folder))
        corpus.mkdir()
        for number, content in enumerate(seeds(target)):
            (corpus / str(number)).write_bytes(content)
            assert fuzzer(target, content), f"a good input of {target} is refused"
        instrument_ours()
        limits = [f"-timeout={SECONDS}", f"-malloc_limit_mb={BYTES >> 20}", "-rss_limit_mb=0"]
        counts = [f"-runs={inputs}", f"-seed={seed}", "-print_final_stats=1"]
        places = [f"-artifact_prefix=find-{target}-", str(corpus)]

        def attack(content: bytes) -> None:
            # What it returns would tell libFuzzer whether to keep the input.
            fuzzer(target, content)

        atheris.Setup([sys.argv[0], *counts, *limits, *places], attack)
        atheris.Fuzz()


def instrument_ours() -> None:
    """Count the branches of every function of the package, which the good inputs have imported.

    Atheris's hook on imports does not see those of an editable installation.
    """
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and (found.__module__ or "").startswith(
            "wakesleep."
        ):
            atheris.instrument_func(found)


if __name__ == "__main__":
    sys.exit(main())
