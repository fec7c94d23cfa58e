"""Latent models: the contract, Helmholtz machines, mixtures, and models given as JAX functions."""

from wakesleep.models.base import Draw, LatentModel, by_network
from wakesleep.models.function_model import FunctionModel
from wakesleep.models.generation import sample, sample_means
from wakesleep.models.helmholtz import HelmholtzMachine, Latents, Visible
from wakesleep.models.masked import Masked
from wakesleep.models.mixture import BitModel, Mixture
from wakesleep.models.table_model import TableModel

__all__ = [
    "BitModel",
    "Draw",
    "FunctionModel",
    "HelmholtzMachine",
    "LatentModel",
    "Latents",
    "Masked",
    "Mixture",
    "TableModel",
    "Visible",
    "by_network",
    "sample",
    "sample_means",
]
