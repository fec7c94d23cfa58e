"""The page of the docs about tables, from the JSON files alone.

python -m benchmarks.tables --summary
"""

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.tables.summary import NO_RIVALS, OURS, best_rival, verdict

Summary = dict[str, Any]
DOCS = Path(__file__).parents[2] / "docs"
NAME = "benchmarks-tables.md"
TITLES = {
    "likelihood": "Held-out log-likelihood, nats per row",
    "imputation": "Imputation of 20% removed cells",
    "outliers": "Outliers, AUROC",
    "features": "Features for a logistic regression, AUC",
    "synthetic": "Synthetic rows",
}
WHAT = {
    "likelihood": "Higher is better. In each table's own units: probabilities for levels, whole "
    "numbers and atoms, densities for reals. `wine`, `breast_cancer` and `iris` are without their "
    "class, and without atoms, so that scikit-learn's GaussianMixture (full covariances) can score "
    "them. `mixture` is EM with categorical leaves and Gaussian or binned ones, whichever, and as "
    "many components as, validation rows prefer; on `titanic` and `chile-encoded` that is latent "
    "classes. SPFlow is LearnSPN with its defaults. `nade/sbn 10` is a model of ours that one has "
    "to name, with 100 epochs of the default recipe.",
    "imputation": "Cells are removed at random from training and test rows alike; the test's are "
    "judged. `accuracy` of levels: higher is better. `error` of numbers: the mean absolute error "
    "over the mean absolute deviation from the median; lower is better. `rms`: the root mean "
    "squared error over the standard deviation; ours imputes medians, which `error` asks for and "
    "`rms` does not. A column counts as `within` if our mean is in the interval of the best rival.",
    "outliers": "One class of each table is the inliers: benign (breast_cancer, biopsy), classes 0 "
    "and 1 (wine), the digit 1 (digits), setosa and versicolor (iris); no method sees the class. "
    "Ours is the oddity that `wakesleep score` gives, the mean of minus the log-likelihood and of "
    "what typical columns say; what the first alone gives is beside it. `contaminated`: 7% of the "
    "training rows are outliers.",
    "features": "The model never sees the class; a logistic regression sees what `transform` "
    "gives, which is what the model expects of each column and each latent, or one-hot columns, "
    "or as many of their principal components as hold 95% of the variance. Which latents of a "
    "mixture are features was chosen on the first three of these splits (docs/automatic.md). "
    "Beside ours are `sbn/sbn 10`, whose columns are independent given its latents, by 1,500 "
    "updates (its size was chosen on splits that are not among these), and what the posterior "
    "means of the latents give without the columns.",
    "synthetic": "`two-sample`: 1 - (2 max(AUC, 1/2) - 1) for the cross-validated AUC of boosted "
    "trees that tell drawn rows from held-out real ones; 1 is indistinguishable. `learned`: AUC "
    "on real test rows of boosted trees trained on drawn rows. `real rows` is what real training "
    "rows give in both.",
}


def write_page(folder: Path, docs: Path) -> None:
    """Of the parts that have a file."""
    found = {
        name: json.loads((folder / f"{name}.json").read_text())
        for name in TITLES
        if (folder / f"{name}.json").exists()
    }
    if found:
        (docs / NAME).write_text(page(found))


def page(found: dict[str, Summary]) -> str:
    lines = [*INTRODUCTION, ""]
    missing = [name for name in TITLES if name not in found]
    if missing:
        lines += [f"Not measured yet: {', '.join(missing)}.", ""]
    for name, summary in found.items():
        lines += [f"## {TITLES[name]}", "", WHAT[name], "", *standing(name, summary), ""]
        lines += imputation_table(summary) if name == "imputation" else full_table(summary)
        lines += ["", provenance_line(summary), ""]
    return "\n".join(lines)


INTRODUCTION = (
    "# People's tables",
    "",
    "Written by `python -m benchmarks.tables` from `results/benchmarks/tables/*.json`, where each",
    "number of each split is. Real tables from packages of PyPI, our automatic default beside what",
    "people have at hand, on the same rows: 70% for training, 10% for choices, 20% held out. A",
    "number is the mean over splits ± half of the 95% interval (Student's t); with one split there",
    "is none. **Bold** is the best of a line. Where ours is not, that is a loss, and stands here.",
)


def standing(name: str, summary: Summary) -> list[str]:
    """One line per kind of number: how often ours is best, and the mean over tables."""
    measured = [name for name, table in summary["tables"].items() if _has_ours(table)]
    missing = [name for name in summary["tables"] if name not in measured]
    kinds: dict[str, list[tuple[str, Any]]] = {}
    for table in summary["tables"].values():
        for metric, found in table["metrics"].items():
            if OURS in found and best_rival(metric, found):
                kinds.setdefault(metric.split(":")[0], []).append((metric, found))
    lines = []
    for kind, entries in kinds.items():
        verdicts = [verdict(metric, found) for metric, found in entries]
        counts = [f"{verdicts.count('best')} of {len(verdicts)}"]
        if name == "imputation":
            near = verdicts.count("best") + verdicts.count("within")
            counts.append(f"best or within the best rival's interval in {near}")
        text = f"- `{kind}`: ours is best in {', '.join(counts)}"
        if name not in ("likelihood", "imputation"):
            text += f"; means over the tables: {_means(entries)}"
        lines.append(text + ".")
    if missing:
        lines.append(f"- Ours has not been measured yet on {', '.join(missing)}.")
    return lines


def _has_ours(table: Summary) -> bool:
    return any(OURS in found for found in table["metrics"].values())


def _means(entries: list[tuple[str, Any]]) -> str:
    """Of those who have all tables; then of each who has some, beside ours on the same ones."""
    methods = dict.fromkeys(name for _, found in entries for name in found)
    everywhere = [name for name in methods if all(name in found for _, found in entries)]
    texts = [", ".join(_mean(name, entries) for name in everywhere)]
    for name in methods:
        own = [entry for entry in entries if name in entry[1]]
        if name not in (*everywhere, *NO_RIVALS):
            both = f"{_mean(OURS, own)}, {_mean(name, own)}"
            texts.append(f"on {len(own)} that {name} was given: {both}")
    return "; ".join(texts)


def _mean(name: str, entries: list[tuple[str, Any]]) -> str:
    return f"{name} {statistics.fmean(found[name]['mean'] for _, found in entries):.3f}"


def full_table(summary: Summary) -> list[str]:
    """A line per table and number, a column per method."""
    methods = _methods(summary)
    lines = [
        "| table | rows | splits | | " + " | ".join(methods) + " |",
        "|---|--:|--:|---|" + "--:|" * len(methods),
    ]
    for name, table in summary["tables"].items():
        for metric, found in table["metrics"].items():
            front = [name, str(table["rows"]), str(len(table["splits"])), metric]
            lines.append("| " + " | ".join([*front, *cells(metric, found, methods)]) + " |")
    return lines


def imputation_table(summary: Summary) -> list[str]:
    """The mean over each table's columns of a kind; every column is in the JSON file."""
    methods = _methods(summary)
    lines = [
        "| table | splits | | columns | best | within | " + " | ".join(methods) + " |",
        "|---|--:|---|--:|--:|--:|" + "--:|" * len(methods),
    ]
    for name, table in summary["tables"].items():
        for kind in ("accuracy", "error", "rms"):
            own = {m: f for m, f in table["metrics"].items() if m.startswith(kind)}
            if _has_ours(table):
                own = {metric: found for metric, found in own.items() if OURS in found}
            if not own:
                continue
            verdicts = [verdict(metric, found) for metric, found in own.items()]
            means = {
                method: {"mean": statistics.fmean(f[method]["mean"] for f in own.values())}
                for method in methods
                if all(method in f for f in own.values())
            }
            front = [name, str(len(table["splits"])), kind, str(len(own))]
            counts = [str(verdicts.count(word)) for word in ("best", "within")]
            front += counts if _has_ours(table) else ["—", "—"]
            lines.append("| " + " | ".join([*front, *cells(kind, means, methods)]) + " |")
    return lines


def _methods(summary: Summary) -> list[str]:
    seen: dict[str, None] = {}
    for table in summary["tables"].values():
        for found in table["metrics"].values():
            seen |= dict.fromkeys(found)
    return list(seen)


def cells(metric: str, found: dict[str, Any], methods: list[str]) -> list[str]:
    """Each method's number, the best one bold; a dash where a method cannot be asked."""
    rival = best_rival(metric, found)
    best = OURS if verdict(metric, found) == "best" else rival
    texts = []
    for name in methods:
        if name not in found:
            texts.append("—")
            continue
        half = found[name].get("half_width")
        text = f"{found[name]['mean']:.3f}" + (f" ± {half:.3f}" if half is not None else "")
        if "splits" in found[name]:
            text += f" ({found[name]['splits']} splits)"
        texts.append(f"**{text}**" if name == best and name not in NO_RIVALS else text)
    return texts


def provenance_line(summary: Summary) -> str:
    minutes = ", ".join(f"{value:g}" for value in summary["minutes"])
    ours = f"ours with `--minutes {minutes}`, " if minutes else ""
    return (
        f"`{summary['command']}`, {ours}"
        f"seeds the numbers of the splits, commits {', '.join(summary['commits'])}, on "
        f"{summary['cores']} cores of {summary['cpu']}, which had other work to do; "
        f"Python {summary['python']}, JAX {summary['jax']}."
    )
