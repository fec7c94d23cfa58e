"""Validation log-likelihoods of the automatic default's sparse regressions, set by set.

    python -m benchmarks.sparse [SET ...]

Each column order by itself, and all of them mixed alike, beside the validation log-likelihood of
latent classes: to compare with the trained models of docs/automatic.md. Sets with more rows than
the default tries them for are asked too: that is where the limit comes from.
"""

import argparse
import sys
import time
from typing import Any

import jax
import numpy as np

from benchmarks.machine import provenance, write_result
from wakesleep.data import as_bits, load_dataset
from wakesleep.inference.posterior import infer_rows
from wakesleep.training.class_model import fit_classes
from wakesleep.training.sparse_model import MOST_ROWS, ORDERS, fit_sparse

SETS = ("dna", "dna_debd", "mushrooms", "adult", "nltcs", "plants")


def row(name: str) -> dict[str, Any]:
    data = load_dataset(name)
    began = time.process_time()
    mixture = fit_sparse(data)
    seconds = time.process_time() - began
    valid = as_bits(data.valid)
    members = [*mixture.components, mixture, fit_classes(data)]
    values = [infer_rows(each, valid, 1, jax.random.key(0)).log_likelihood for each in members]
    *orders, mixed, classes = (float(each.mean()) for each in values)
    return {
        "set": name,
        "rows": len(data.train),
        "tried by the default": len(data.train) <= MOST_ROWS,
        "orders": dict(zip(map(str, ORDERS), orders, strict=True)),
        "mixed alike": mixed,
        "latent classes": classes,
        "weights that are not zero": float(np.mean(np.asarray(mixture.components[0].p[0].S) != 0)),
        "processor-seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    about, rows = provenance(), []
    for name in parser.parse_args().sets:
        rows.append(row(name))
        print(rows[-1], file=sys.stderr, flush=True)
    write_result("sparse", {**about, "rows": rows})


if __name__ == "__main__":
    main()
