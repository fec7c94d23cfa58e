"""Ours, a Chow-Liu tree and a circuit of SPFlow on the DEBD sets: what each says, and how fast.

    wakesleep reproduce debd
    python -m benchmarks.arena [--sets nltcs ...] [--methods ours ...]

Each line is kept in results/benchmarks/arena/measured.jsonl as it arrives: started again, the
benchmark goes on where it was. At the end, or with --summary at any time, docs/benchmarks-arena.md
is written from it.
"""

import argparse
import traceback
from importlib import import_module
from pathlib import Path

from benchmarks.arena.page import write_page
from benchmarks.arena.queries import Questions, ask
from benchmarks.arena.scorers import METHODS, SETS
from benchmarks.machine import RESULTS
from benchmarks.tables.job import NotApplicableError
from benchmarks.tables.record import Key, Row, Store
from wakesleep import provenance
from wakesleep.data import load_dataset
from wakesleep.reproduce.rivals import bits_of

PART = "arena"
DOCS = Path(__file__).parents[2] / "docs"


def measure(key: Key, runs: Path) -> Row:
    """A line for the file: the numbers, or why there are none."""
    row = SETS[key.table]
    data = load_dataset(row.data)
    line: Row = {**key._asdict(), "commit": provenance.commit(), **provenance.machine()}
    try:
        scorer = METHODS[key.method](row, data, runs)
        line["values"] = ask(scorer, Questions.of(bits_of(data.test)))
    except NotApplicableError as error:
        line["not_asked"] = str(error)
    except RecursionError:
        line["not_asked"] = "it nests deeper than Python goes"
    # Each set has shapes of its own: what was compiled for them is of no more use.
    import_module("jax").clear_caches()
    return line


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=tuple(SETS))
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--runs", type=Path, default=Path("runs/reproduce"), help="of reproduce")
    parser.add_argument("--folder", type=Path, default=RESULTS / "arena", help="of the results")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    parser.add_argument("--summary", action="store_true", help="measure nothing more")
    return parser.parse_args()


def main() -> None:
    options = parse()
    store = Store(options.folder / "measured.jsonl")
    failed = 0 if options.summary else measure_all(options, store)
    write_page(store, options.docs)
    if failed:
        raise SystemExit(f"{failed} measurements failed; start again to try them again")


def measure_all(options: argparse.Namespace, store: Store) -> int:
    """Measure what is not there yet; how many could not be."""
    asked = [Key(PART, name, 0, method) for name in options.sets for method in options.methods]
    failed = 0
    for key in asked:
        if key in store.done():
            continue
        try:
            line = measure(key, options.runs)
        except Exception:
            # One peer that fails on one set must not cost a night: it is said, and tried again.
            traceback.print_exc()
            failed += 1
            continue
        store.add(line)
        print(key.table, key.method, line.get("values") or line["not_asked"], flush=True)
    return failed


if __name__ == "__main__":
    main()
