"""The hot loops: autoregressive layers', those over bits, products with bits, an optimiser's step.

Each is there twice: compiled for CPUs (`csrc/`) and in pure JAX, for other devices and as the
definition the compiled one is held to (an optimiser's step: as Optax's chain, in
`wakesleep.training.optimisers`). `status()` tells which is in use.
"""

from wakesleep.kernels.affine import affine_update
from wakesleep.kernels.ar_sbn import ar_sbn_sample
from wakesleep.kernels.bernoulli import bernoulli_log_prob, bernoulli_sample, logistic_noise
from wakesleep.kernels.bit_products import bit_affine
from wakesleep.kernels.nade import nade_logits, nade_sample
from wakesleep.kernels.native import Status, status

__all__ = [
    "Status",
    "affine_update",
    "ar_sbn_sample",
    "bernoulli_log_prob",
    "bernoulli_sample",
    "bit_affine",
    "logistic_noise",
    "nade_logits",
    "nade_sample",
    "status",
]
