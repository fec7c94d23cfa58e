"""What a machine of one layer says of a table's rows, from its logits alone."""

import numpy as np


def independent_log_prob(bias, groups, bits):
    """Σ log p(state) `[N]`: each unit of a group is asked until one is 1; the last is not asked."""
    p = 1 / (1 + np.exp(-np.asarray(bias, np.float64)))
    total, start = np.zeros(len(bits)), 0
    for size in groups:
        own, part = p[start : start + size], np.asarray(bits)[:, start : start + size]
        before = np.concatenate([[1.0], np.cumprod(1 - own)])[:size]
        states = before * np.where(np.arange(size) == size - 1, 1.0, own)
        chosen = np.where(part[:, 0] == 1, own[0], 1 - own[0]) if size == 1 else part @ states
        total += np.log(chosen)
        start += size
    return total
