"""Our defaults on people's tables, beside what they have at hand.

    python -m benchmarks.tables [--part likelihood ...] [--tables titanic ...] [--splits 5]

Each number is kept in results/benchmarks/tables/measured.jsonl as it arrives: started again, the
benchmark goes on where it was. At the end, or with --summary at any time, a JSON file is written
for each part, with intervals over the splits, and docs/benchmarks-tables.md from these.
"""

import argparse
import time
import traceback
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.tables.job import Job, NotApplicableError
from benchmarks.tables.page import DOCS, write_page
from benchmarks.tables.record import Key, Row, Store
from benchmarks.tables.sources import SOURCES
from benchmarks.tables.summary import NAMED, OURS, write_summaries
from wakesleep import provenance

PARTS = ("likelihood", "imputation", "outliers", "features", "synthetic")
FOLDER = Path(__file__).parents[2] / "results" / "benchmarks" / "tables"


def part_of(name: str) -> ModuleType:
    """A file of this folder, loaded when something is measured: a summary needs no JAX."""
    return import_module(f"benchmarks.tables.{name}")


def keys(options: argparse.Namespace) -> Iterator[Key]:
    """What is asked for; split after split, so that what is there early is there for all tables."""
    for split in range(options.splits):
        for name in options.part or PARTS:
            part = part_of(name)
            for table in part.TABLES:
                if table in (options.tables or part.TABLES):
                    for method in part.METHODS:
                        if method in (options.methods or part.METHODS):
                            yield Key(name, table, split, method)


def measure(key: Key, minutes: float) -> Row:
    """A line for the file: the numbers, or why there are none."""
    source = SOURCES[key.table]
    job = Job(key.table, source.load(), source.target, key.split, key.method, minutes)
    row: Row = {**key._asdict(), "rows": len(job.frame)}
    began = time.monotonic()
    try:
        row["values"] = part_of(key.part).measure(job)
    except NotApplicableError as error:
        row["not_asked"] = str(error)
    row["seconds"] = round(time.monotonic() - began, 2)
    row["commit"] = _commit()
    if key.method in (OURS, NAMED):
        row["minutes"] = minutes
        # Each table has shapes of its own: what was compiled for them is of no more use.
        import_module("jax").clear_caches()
    return row


@cache
def _commit() -> str:
    """Of the code that was imported, whatever is changed while it runs."""
    return provenance.commit()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, help="all by default")
    parser.add_argument("--tables", nargs="+", choices=tuple(SOURCES), help="all by default")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="all by default")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=2.0, help="for one training of ours")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the results")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    parser.add_argument("--summary", action="store_true", help="measure nothing more")
    return parser.parse_args()


def main() -> None:
    options = parse()
    _commit()
    store = Store(options.folder / "measured.jsonl")
    failed = 0 if options.summary else measure_all(options, store)
    write_summaries(store.rows(), options.folder)
    write_page(options.folder, options.docs)
    if failed:
        raise SystemExit(f"{failed} measurements failed; start again to try them again")


def measure_all(options: argparse.Namespace, store: Store) -> int:
    """Measure what is not there yet; how many could not be."""
    done, failed = store.done(), 0
    for key in keys(options):
        if key in done:
            continue
        try:
            row = measure(key, options.minutes)
        except Exception:
            # One peer that fails on one table must not cost a night: it is said, and tried again.
            traceback.print_exc()
            failed += 1
            continue
        store.add(row)
        print(*key, row.get("values") or row["not_asked"], f"{row['seconds']} s", flush=True)
    return failed


if __name__ == "__main__":
    main()
