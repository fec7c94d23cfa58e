"""Deep directed generative models with binary latent variables, by Reweighted Wake-Sleep.

    >>> import jax, wakesleep as ws
    >>> model = ws.build("sbn/nade 5-10", features=64, key=jax.random.key(0))
    >>> ws.sample(model, 3, key=1).shape
    (3, 64)

Names are imported on first use, so that `wakesleep --help` answers without loading JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

from wakesleep.processes.threads import never_one_thread

if TYPE_CHECKING:
    from wakesleep.architecture import build as build
    from wakesleep.architecture import describe as describe
    from wakesleep.data import DATASETS as DATASETS
    from wakesleep.data import Dataset as Dataset
    from wakesleep.data import array_dataset as array_dataset
    from wakesleep.data import load_dataset as load_dataset
    from wakesleep.errors import DataError as DataError
    from wakesleep.errors import UsageError as UsageError
    from wakesleep.errors import WakesleepError as WakesleepError
    from wakesleep.estimators import ESTIMATORS as ESTIMATORS
    from wakesleep.estimators import Estimator as Estimator
    from wakesleep.estimators import Reweighted as Reweighted
    from wakesleep.evaluation import log_likelihood as log_likelihood
    from wakesleep.inference.imputation import Imputation as Imputation
    from wakesleep.inference.imputation import impute as impute
    from wakesleep.inference.mixing import mix as mix
    from wakesleep.inference.normaliser import Normaliser as Normaliser
    from wakesleep.inference.normaliser import log_normaliser as log_normaliser
    from wakesleep.inference.sample_rows import sample as sample
    from wakesleep.layers import LAYERS as LAYERS
    from wakesleep.layers import Layer as Layer
    from wakesleep.models import FunctionModel as FunctionModel
    from wakesleep.models import HelmholtzMachine as HelmholtzMachine
    from wakesleep.models import LatentModel as LatentModel
    from wakesleep.models import Mixture as Mixture
    from wakesleep.models import TableModel as TableModel
    from wakesleep.pretrained import load_pretrained as load_pretrained
    from wakesleep.runs.loading import load_run as load_run
    from wakesleep.runs.start import RunOptions as RunOptions
    from wakesleep.runs.start import fit_run as fit_run
    from wakesleep.storage import load_model as load_model
    from wakesleep.storage import save_model as save_model
    from wakesleep.training import Recipe as Recipe
    from wakesleep.training import fit as fit
    from wakesleep.training import initial_model as initial_model

_HOMES = {
    "wakesleep.architecture": ("build", "describe"),
    "wakesleep.data": ("DATASETS", "Dataset", "array_dataset", "load_dataset"),
    "wakesleep.errors": ("DataError", "UsageError", "WakesleepError"),
    "wakesleep.estimators": ("ESTIMATORS", "Estimator", "Reweighted"),
    "wakesleep.evaluation": ("log_likelihood",),
    "wakesleep.inference.imputation": ("Imputation", "impute"),
    "wakesleep.inference.mixing": ("mix",),
    "wakesleep.inference.normaliser": ("Normaliser", "log_normaliser"),
    "wakesleep.inference.sample_rows": ("sample",),
    "wakesleep.layers": ("LAYERS", "Layer"),
    "wakesleep.models": (
        "FunctionModel",
        "HelmholtzMachine",
        "LatentModel",
        "Mixture",
        "TableModel",
    ),
    "wakesleep.pretrained": ("load_pretrained",),
    "wakesleep.runs.loading": ("load_run",),
    "wakesleep.runs.start": ("RunOptions", "fit_run"),
    "wakesleep.storage": ("load_model", "save_model"),
    "wakesleep.training": ("Recipe", "fit", "initial_model"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.2.0"
__all__ = sorted(_HOME_OF)

# Before JAX computes anything: a model is the same, bit for bit, on one core and from every door.
never_one_thread()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'wakesleep' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
