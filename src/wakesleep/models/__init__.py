"""Latent models: the contract, the Helmholtz machine, and models given as JAX functions."""

from wakesleep.models.base import Draw, LatentModel, by_network
from wakesleep.models.function_model import FunctionModel
from wakesleep.models.helmholtz import HelmholtzMachine, Latents, Visible, sample, sample_means
from wakesleep.models.masked import Masked
from wakesleep.models.table_model import TableModel

__all__ = [
    "Draw",
    "FunctionModel",
    "HelmholtzMachine",
    "LatentModel",
    "Latents",
    "Masked",
    "TableModel",
    "Visible",
    "by_network",
    "sample",
    "sample_means",
]
