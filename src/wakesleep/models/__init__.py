"""Latent models: the contract, the Helmholtz machine, EoNADE, and models given as functions."""

from wakesleep.models.base import Draw, LatentModel, by_network
from wakesleep.models.bit_model import BitModel, Visible, sample, sample_means
from wakesleep.models.eonade import EoNADE
from wakesleep.models.eonade_spec import EoNADESpec
from wakesleep.models.function_model import FunctionModel
from wakesleep.models.helmholtz import HelmholtzMachine, Latents
from wakesleep.models.masked import Masked

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
    "Visible",
    "by_network",
    "sample",
    "sample_means",
]
