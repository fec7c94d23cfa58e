"""What is known of rows: units that are fixed, and groups of which some states are allowed.

A group with allowed states S is drawn from p(x_g | x_<g, h) within S, and its evidence is
p(x_g ∈ S | x_<g, h). A state may also be allowed in part, by a share between 0 and 1: a bin of
numbers that a range cuts. A fixed unit's evidence is its probability, and an unknown one has none.
The product of all evidence makes the draws stand for p(x, h | what is known).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.errors import UsageError
from wakesleep.layers import Layer, Preactivations

Allowed = Mapping[int, npt.ArrayLike]
"""For some groups, by number: how much of each state is allowed, from 0 to 1; a mask will do. A
group of one unit has the states 0 and 1, one of m > 1 units has m."""


class PartialGroup(eqx.Module):
    """A group of which some states are allowed.

    Attributes:
        log_shares: of each state, `[S]`; −∞ where it is not allowed.
        start: its first unit.
        size: its units.
    """

    log_shares: Float[Array, " S"]
    start: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @property
    def slice(self) -> slice:
        """Where its units are."""
        return slice(self.start, self.start + self.size)

    def log_allowed(self, logits: Float[Array, "*batch D"]) -> Float[Array, "*batch S"]:
        """log (p(state) · share) of each state, given all units' logits."""
        return group_log_probs(logits[..., self.slice]) + self.log_shares

    def units(self, state: Int[Array, "*batch"]) -> Float[Array, "*batch size"]:
        """A state as the group's units."""
        if self.size == 1:
            return state[..., None].astype(jnp.float32)
        return jax.nn.one_hot(state, self.size)


def group_log_probs(logits: Float[Array, "*batch size"]) -> Float[Array, "*batch S"]:
    """log p of each state of one group, given its units' logits while none of them is 1.

    See `layers/groups.py`.
    """
    no = jax.nn.log_sigmoid(-logits)
    if logits.shape[-1] == 1:
        return jnp.concatenate([no, jax.nn.log_sigmoid(logits)], axis=-1)
    before = jnp.cumsum(no, axis=-1) - no
    last = jnp.arange(logits.shape[-1]) == logits.shape[-1] - 1
    return before + jnp.where(last, 0.0, jax.nn.log_sigmoid(logits))


class Conditions(eqx.Module):
    """What is known of B rows, the same for all K particles of a row.

    Attributes:
        template: what fixed units are.
        fixed: which units are, whole groups of them.
        partial: groups of which some states are allowed, in order; the same for every row.
    """

    template: Float[Array, "B 1 D"]
    fixed: Bool[Array, "B 1 D"]
    partial: tuple[PartialGroup, ...] = ()

    def draw(
        self, layer: Layer, key: Key[Array, ""], pre: Preactivations, samples: int
    ) -> tuple[Float[Array, "B K D"], Float[Array, "B K D"], Float[Array, "B K"]]:
        """K rows for each from the layer's own conditionals, every unit's logit, and log evidence.

        One pass over the units, and one more for each group with several allowed states, in the
        layer's order: its own logits are known when all before it is drawn. The noise is the same
        in every pass, so what stands before the group stays.
        """
        key_units, key_groups = jax.random.split(key)
        shape = (self.template.shape[0], samples, self.template.shape[-1])
        template, fixed = jnp.broadcast_to(self.template, shape), self.fixed
        for group in self.partial:
            # A group's logits are asked for while none of its units is 1.
            fixed = fixed.at[..., group.slice].set(True)
        x, logits = layer.draw_unobserved(key_units, template, fixed, pre)
        log_evidence = jnp.zeros(shape[:2])
        for number, group in enumerate(
            sorted(self.partial, key=lambda one: layer.place(one.start))
        ):
            log_allowed = group.log_allowed(logits)
            log_evidence = log_evidence + jax.nn.logsumexp(log_allowed, axis=-1)
            state = jax.random.categorical(jax.random.fold_in(key_groups, number), log_allowed)
            template = template.at[..., group.slice].set(group.units(state))
            x, logits = layer.draw_unobserved(key_units, template, fixed, pre)
        return x, logits, log_evidence + layer.log_prob_observed(x, logits, self.fixed)

    def log_evidence(
        self, layer: Layer, x: Float[Array, "B K D"], pre: Preactivations
    ) -> Float[Array, "B K"]:
        """The logarithm of what the known groups add to the weight of rows that are there."""
        total = layer.log_prob_observed(x, layer.logits(x, pre), self.fixed)
        for group in self.partial:
            logits = layer.logits(x.at[..., group.slice].set(0.0), pre)
            total = total + jax.nn.logsumexp(group.log_allowed(logits), axis=-1)
        return total


def observed(x: Float[Array, "B D"], missing: Bool[Array, "B D"]) -> Conditions:
    """Rows whose units are fixed but for those that are missing."""
    return Conditions(jnp.where(missing, 0.0, x)[:, None], ~missing[:, None])


def allowing(groups: Sequence[int], allowed: Allowed) -> tuple[Conditions, float]:
    """One row of which some states are allowed; and the log share of groups with a single one.

    Those are fixed units, whose evidence knows of no share.
    """
    starts = np.cumsum((0, *groups))
    template = np.zeros(starts[-1], np.float32)
    fixed = np.zeros(starts[-1], bool)
    partial: list[PartialGroup] = []
    log_share = 0.0
    for group, one in partial_groups(groups, allowed).items():
        start, size = one.start, one.size
        shares = np.asarray(allowed[group], np.float64)
        possible = np.flatnonzero(shares)
        if len(possible) > 1:
            partial.append(one)
            continue
        fixed[start : start + size] = True
        if size > 1 or possible[0]:
            template[start + (possible[0] if size > 1 else 0)] = 1
        log_share += float(np.log(shares[possible[0]]))
    row = Conditions(jnp.asarray(template)[None, None], jnp.asarray(fixed)[None, None])
    return eqx.tree_at(lambda c: c.partial, row, tuple(partial)), log_share


def partial_groups(groups: Sequence[int], allowed: Allowed) -> dict[int, PartialGroup]:
    """The groups of which some states are allowed, or one, by number."""
    starts = np.cumsum((0, *groups))
    found = {}
    for group in sorted(allowed):
        shares = _checked_shares(allowed[group], group, groups[group])
        with np.errstate(divide="ignore"):
            log_shares = jnp.asarray(np.log(shares), jnp.float32)
        found[group] = PartialGroup(log_shares, int(starts[group]), groups[group])
    return found


def _checked_shares(shares: Any, group: int, size: int) -> npt.NDArray[np.float64]:
    values = np.asarray(shares, np.float64)
    states = 2 if size == 1 else size
    if values.shape != (states,):
        raise UsageError(
            f"group {group} has {states} states, but {values.size} shares of them were given"
        )
    if not (values >= 0).all() or not (values <= 1).all() or not values.any():
        raise UsageError(
            f"the shares of group {group}'s states must be from 0 to 1, and not all of them 0"
        )
    return values
