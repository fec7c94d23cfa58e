"""`make fuzz`: many mutated inputs to every reader; finds are printed and kept.

    python -m tests.fuzz [--inputs 100000] [--seed 0] [--targets npy csv ...]

An input is a find if it gives a traceback, takes over 10 s or 2 GB, or is read as something else
than a second reader reads.
"""

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Fuzzer

CORPUS = Path(__file__).parent / "corpus"
SECONDS, BYTES = 10, 2 << 30


def seeds(target: str) -> list[bytes]:
    """The good inputs of a target."""
    return [path.read_bytes() for path in sorted(CORPUS.glob(f"{target}-*"))]


def too_long(*_: object) -> None:
    raise TimeoutError(f"over {SECONDS} s")


def attack(fuzzer: Fuzzer, target: str, content: bytes) -> str | None:
    """What was accepted or refused, or None; prints a find and keeps it."""
    signal.alarm(SECONDS)
    try:
        return "accepted" if fuzzer(target, content) else "refused"
    except (Exception, MemoryError):
        signal.alarm(0)
        name = f"find-{target}-{hash(content) & 0xFFFFFFFF:08x}"
        Path(name).write_bytes(content)
        print(f"{name}: {traceback.format_exc(limit=-3)}", flush=True)
        return None
    finally:
        signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder))
        for target in given.targets:
            for content in seeds(target):
                assert fuzzer(target, content), f"a good input of {target} is refused"
        return by_seed(fuzzer, given)


def by_seed(fuzzer: Fuzzer, given: argparse.Namespace) -> int:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, resource.RLIM_INFINITY))
    dice, counts, began = random.Random(given.seed), Counter(), time.monotonic()
    corpus = {target: seeds(target) for target in given.targets}
    everything = [content for each in corpus.values() for content in each]
    for number in range(given.inputs):
        target = given.targets[number % len(given.targets)]
        content = mutated(dice.choice(corpus[target]), everything, dice)
        counts[attack(fuzzer, target, content) or "finds"] += 1
        if (number + 1) % 10_000 == 0:
            print(number + 1, dict(counts), f"{time.monotonic() - began:.0f} s", flush=True)
    print(dict(counts), f"{time.monotonic() - began:.0f} s")
    return 1 if counts["finds"] else 0


if __name__ == "__main__":
    sys.exit(main())
