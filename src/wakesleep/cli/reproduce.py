"""`wakesleep reproduce`."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wakesleep.cli.cluster_options import ClusterOptions
from wakesleep.cli.run_options import INTERRUPTED
from wakesleep.errors import UsageError
from wakesleep.options import Minutes
from wakesleep.reproduce.experiments import FIGURES, Experiment, Row, experiment_names
from wakesleep.reproduce.store import Budget, ExperimentStore, OutOfTimeError

if TYPE_CHECKING:
    from wakesleep.training.progress_bar import TrainingProgress


@dataclass
class Reproduce:
    """Reproduce a table or figure of the paper; without a name, list them all.

    Rows that have a result are not run again, and interrupted ones go on where they stopped.

    Example: wakesleep reproduce table1 --row "SBN/SBN 200" --quick
    """

    experiment: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="NAME")] = None
    """A table or figure, or `all`."""
    row: str | None = None
    """Only this row, as in "SBN/NADE 200-200"."""
    minutes: Minutes = None
    """Stop after so long: rows that were begun first, then the cheapest."""
    validation: bool = False
    """Judge rows and the variants they were chosen from on the validation set, not the test set."""
    quick: bool = False
    """A small version on the embedded digits, in its own folders (runs/quick)."""
    runs: Path = Path("runs/reproduce")
    """Where rows are trained."""
    results: Path = Path("results")
    """Where results are written, as EXPERIMENT/ROW.json."""
    docs: Path | None = None
    """Also write results.md and its figures, made from all results, into this folder."""
    quiet: bool = False
    """Say nothing but errors."""
    json: bool = False
    """Print the rows' results as one JSON object."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    def run(self) -> int:
        """List, or run rows and show what came out."""
        store = self._store()
        if self.experiment is None and not self.docs:
            self._list(store)
            return 0
        code = self._reproduce_all(store)
        if self.docs:
            from wakesleep.reproduce.document import write_document

            write_document(store, self.docs)
        return code

    def _store(self) -> ExperimentStore:
        if self.quick:
            return ExperimentStore(Path("runs/quick"), Path("runs/quick/results"), quick=True)
        return ExperimentStore(self.runs, self.results)

    def _names(self) -> list[str]:
        if self.experiment is None:
            return []
        return experiment_names() if self.experiment == "all" else [self.experiment]

    def _reproduce_all(self, store: ExperimentStore) -> int:
        """0 if everything asked for is there now; one budget serves all experiments."""
        from wakesleep.runs.interruption import stop_on_interrupt

        with self.cluster.used(), stop_on_interrupt() as stop:
            budget = Budget(self.minutes, stop)
            experiments = [store.experiment(name) for name in self._names()]
            done = [self._reproduce(store, each, budget) for each in experiments]
            if stop.asked:
                return INTERRUPTED
            return 0 if all(done) else 1

    def _reproduce(self, store: ExperimentStore, experiment: Experiment, budget: Budget) -> bool:
        from wakesleep.reproduce.judging import SUFFIX
        from wakesleep.training.progress_bar import TrainingProgress

        rows = [experiment.row(self.row)] if self.row else list(experiment.rows)
        if self.validation and experiment.kind in FIGURES:
            raise UsageError(f"{experiment.name} is a figure: --validation judges rows of tables")
        states: dict[str, str] = {}
        for row in in_sensible_order(store, rows):
            with TrainingProgress(quiet=self.quiet or self.json, as_json=False) as progress:
                states[row.name] = self._run_row(store, row, budget, progress)
        self._show(store, experiment, rows, states)
        if self.validation:
            return all(store.result_path(row, SUFFIX).exists() for row in rows)
        return all(store.result(row) for row in rows)

    def _run_row(
        self, store: ExperimentStore, row: Row, budget: Budget, progress: "TrainingProgress"
    ) -> str:
        """How it went, in a word or a sentence."""
        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.reproduce.judging import judge_row
        from wakesleep.reproduce.measurements import run_figure_row
        from wakesleep.reproduce.rivals import run_rivals
        from wakesleep.reproduce.running import run_row
        from wakesleep.training.divergence import DivergenceError

        try:
            if row.rivals and not self.validation:
                budget.check()
                run_rivals(store, row)
            if not self.validation and store.result(row):
                return "done before"
            self._say(f"{row.experiment}: {row.name}")
            budget.check()
            with EvaluationProgress("evaluating", quiet=self.quiet or self.json) as bar:
                if self.validation:
                    judged = judge_row(store, row, budget, (progress,), bar)
                    return _sentence(judged["validation"])
                if row.source:
                    run_figure_row(store, row, budget, (progress,), bar)
                else:
                    run_row(store, row, budget, (progress,), bar)
        except OutOfTimeError:
            return "not finished" if store.run_path(row).exists() else "not begun"
        except (UsageError, DivergenceError) as error:
            if self.quiet:
                print(f"{row.name}: {error}", file=sys.stderr)
            return str(error)
        return "done"

    def _show(
        self,
        store: ExperimentStore,
        experiment: Experiment,
        rows: list[Row],
        states: dict[str, str],
    ) -> None:
        results = {row.name: store.result(row) for row in rows}
        if self.json:
            print(json.dumps({experiment.name: results, "states": states}))
        elif not self.quiet:
            _print_table(experiment, results, states)

    def _list(self, store: ExperimentStore) -> None:
        from rich.console import Console
        from rich.table import Table

        table = Table("name", "rows", "done", "what it is")
        listing = {}
        for name in experiment_names():
            experiment = store.experiment(name)
            done = sum(store.result(row) is not None for row in experiment.rows)
            listing[name] = {"rows": [row.name for row in experiment.rows], "done": done}
            table.add_row(name, str(len(experiment.rows)), str(done), experiment.title)
        if self.json:
            print(json.dumps(listing))
        else:
            Console().print(table)

    def _say(self, sentence: str) -> None:
        if not (self.quiet or self.json):
            print(sentence, file=sys.stderr, flush=True)


def in_sensible_order(store: ExperimentStore, rows: list[Row]) -> list[Row]:
    """Begun rows first, so that work gets finished; then the cheapest, so that many are."""
    return sorted(rows, key=lambda row: (not store.run_path(row).exists(), row.minutes))


def _print_table(experiment: Experiment, results: dict[str, Any], states: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("row", "paper", "ours", "±", "difference", "state", title=experiment.title)
    for name, result in results.items():
        numbers = ["", "", "", ""]
        if result and "nll" in result:
            paper = result["paper_nll"]
            difference = "" if paper is None else f"{result['nll'] - paper:+.2f}"
            known = "" if paper is None else f"{paper:.2f}"
            numbers = [known, f"{result['nll']:.2f}", f"{result['interval']:.2f}", difference]
        table.add_row(name, *numbers, states[name])
    Console().print(table)


def _sentence(scores: dict[str, Any]) -> str:
    """The validation log-likelihoods of a row and its variants."""
    return "; ".join(f"{name}: {score['mean']:.3f}" for name, score in scores.items())
