"""Latent models: the contract, Helmholtz machines, mixtures, EoNADE, and models of functions."""

from wakesleep.models.base import Draw, LatentModel, by_network
from wakesleep.models.bit_model import BitModel, Visible
from wakesleep.models.eonade import EoNADE
from wakesleep.models.eonade_spec import EoNADESpec
from wakesleep.models.function_model import FunctionModel
from wakesleep.models.generation import sample_bits, sample_means
from wakesleep.models.helmholtz import HelmholtzMachine, Latents
from wakesleep.models.masked import Masked
from wakesleep.models.mixture import Mixture
from wakesleep.models.table_model import TableModel

__all__ = [
    "BitModel",
    "Draw",
    "EoNADE",
    "EoNADESpec",
    "FunctionModel",
    "HelmholtzMachine",
    "LatentModel",
    "Latents",
    "Masked",
    "Mixture",
    "TableModel",
    "Visible",
    "by_network",
    "sample_bits",
    "sample_means",
]
