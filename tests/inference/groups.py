"""Machines with groups of one, three and two visible units, and all of their rows."""

import itertools

import jax
import numpy as np

import wakesleep as ws
from tests.oracle import exact_log_joint, sharpen

GROUPS = (1, 3, 2)
STATES = (2, 3, 2)
_UNITS = ([[0], [1]], np.eye(3), np.eye(2))
EVERY = np.array([np.concatenate(row) for row in itertools.product(*_UNITS)])
"""All twelve rows, `[12, 6]`."""


def group_machine(text, scale=0.7, seed=11):
    """Parameters so even that weights are, too; several texts joined by & make a mixture."""
    if "&" in text:
        parts = [
            group_machine(part.strip(), scale, seed + i) for i, part in enumerate(text.split("&"))
        ]
        return ws.Mixture(parts, np.log([0.3, 0.7]))
    key = jax.random.key(seed)
    masked = "/" in text
    model = ws.build(text, features=6, key=key, groups=GROUPS, masked=masked)
    return sharpen(model, key, scale=scale)


def states_of(rows):
    """The states of the groups, `[N, G]`."""
    rows = np.asarray(rows)
    return np.stack([rows[:, 0], rows[:, 1:4].argmax(1), rows[:, 4:].argmax(1)], axis=1).astype(int)


def _signed(logits, rows):
    """Terms of a group's rule: each unit is asked until one is 1; the last is not."""
    terms = -np.logaddexp(0, -(2 * rows - 1) * logits)
    asked = np.ones(rows.shape, bool)
    for start, size in ((1, 3), (4, 2)):
        for unit in range(start, start + size):
            asked[..., unit] = (rows[..., start:unit].sum(-1) == 0) & (unit < start + size - 1)
    return np.where(asked, terms, 0).sum(-1)


def log_probs(machine):
    """log p of all rows, by listing the latents: the oracle's logits under the rule of groups."""
    from tests.oracle import all_latents, layer_logits

    if isinstance(machine, ws.Mixture):
        shares = np.exp(np.asarray(machine.log_weights, np.float64))
        parts = [np.exp(log_probs(each)) for each in machine.components]
        return np.log(np.stack(parts, axis=1) @ shares)
    rows = EVERY[:, None]
    if not machine.latent_sizes:
        return _signed(np.asarray(layer_logits(machine.p[0], EVERY, np.zeros((1, 0)))), EVERY)
    h = [np.asarray(layer, np.float64) for layer in all_latents(machine)]
    logits = layer_logits(machine.p[0], rows, h[0][None])
    # The oracle scores rows as bits; what it adds for the latents alone is the difference.
    as_bits = -np.logaddexp(0, -(2 * rows - 1) * logits).sum(-1)
    prior = exact_log_joint(machine, EVERY) - as_bits
    return np.logaddexp.reduce(prior + _signed(logits, np.broadcast_to(rows, logits.shape)), axis=1)
