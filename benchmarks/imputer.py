"""Would a table's user gain by an EoNADE as imputer? Beside the automatic default.

    python -m benchmarks.imputer --splits 2

An EoNADE predicts any columns from any others, so that it imputes without weights or moves. The
cells are those of `python -m benchmarks.tables --part imputation`, and the default's numbers are
the ones of that file, split by split: an EoNADE alone is trained here.
"""

import argparse
import statistics
from typing import Any

import jax

from benchmarks.machine import provenance, write_result
from benchmarks.tables.__main__ import FOLDER
from benchmarks.tables.imputation import TABLES, measure_ours
from benchmarks.tables.job import Job
from benchmarks.tables.ours import EONADE
from benchmarks.tables.record import Key, Store, key_of
from benchmarks.tables.sources import SOURCES
from benchmarks.tables.summary import OURS, better

METRICS = ("accuracy", "error")


def compare(table: str, split: int, default: dict[str, Any]) -> dict[str, Any]:
    """Each column's number by both."""
    source = SOURCES[table]
    job = Job(table, source.load(), source.target, split, OURS, minutes=0)
    found = measure_ours(job, EONADE)
    jax.clear_caches()
    columns = [name for name in found if name in default and name.startswith(METRICS)]
    return {name: {"eonade": found[name], "default": default[name]} for name in columns}


def summary(tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means over all columns, and on how many the EoNADE is better."""
    columns = [pair for table in tables.values() for pair in table.items()]
    said = {}
    for metric in METRICS:
        own = [(name, pair) for name, pair in columns if name.startswith(metric)]
        if not own:
            continue
        ahead = [better(metric, pair["eonade"], pair["default"]) for name, pair in own]
        means = {
            who: statistics.fmean(pair[who] for _, pair in own) for who in ("eonade", "default")
        }
        said[metric] = {"columns": len(own), "eonade_better": sum(ahead), **means}
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=1)
    given = parser.parse_args()
    about = provenance()
    measured = {key_of(row): row for row in Store(FOLDER / "measured.jsonl").rows()}
    found: dict[str, dict[str, Any]] = {}
    for split in range(given.splits):
        for table in TABLES:
            row = measured.get(Key("imputation", table, split, OURS))
            if row is None or "values" not in row:
                print(f"{table}, split {split}: the default was not measured")
                continue
            found[f"{table}, split {split}"] = compare(table, split, row["values"])
            print(table, split, summary(found), flush=True)
            write_result("imputer", about | {"means": summary(found), "tables": found})


if __name__ == "__main__":
    main()
