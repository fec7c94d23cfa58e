"""The sequential hot loops of the autoregressive layers."""

from wakesleep.kernels.ar_sbn import ar_sbn_sample
from wakesleep.kernels.nade import nade_logits, nade_sample

__all__ = ["ar_sbn_sample", "nade_logits", "nade_sample"]
