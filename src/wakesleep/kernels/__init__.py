"""The sequential hot loops of the autoregressive layers.

Each is there twice: compiled for CPUs (`csrc/`) and in pure JAX, for other devices and as the
definition the compiled one is held to. `status()` tells which is in use.
"""

from wakesleep.kernels.ar_sbn import ar_sbn_sample
from wakesleep.kernels.nade import nade_logits, nade_sample
from wakesleep.kernels.native import Status, status

__all__ = ["Status", "ar_sbn_sample", "nade_logits", "nade_sample", "status"]
