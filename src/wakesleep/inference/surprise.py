"""`cell_log_probs`: how likely is each cell of a row, given the row's others?

With everything that is not observed (latents and missing cells) in h, and h ~ p(h | x),

    p(x_−g) / p(x) = E[ Σ_s p(x with s in place of x_g, h) / p(x, h) ],

so that one set of weighted draws serves all cells of a row, and −log of the mean is
log p(x_g | x_−g). Where the units are independent given h the sum is 1 / p(x_g | h); elsewhere the
row is scored with every state of every group. The mean of draws is low where a cell is so odd
that its row's posterior has not seen what the others alone would say.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.inference.blocks import Progress
from wakesleep.inference.each_row import OfOne, map_rows
from wakesleep.inference.normaliser import undirected_top
from wakesleep.inference.population import parents_of
from wakesleep.inference.posterior import infer_rows, needed_samples
from wakesleep.inference.resampling import systematic, take
from wakesleep.inference.responsibilities import components_in_turn, responsibilities
from wakesleep.inference.rows import checked_rows
from wakesleep.models import BitModel, EoNADE, HelmholtzMachine, LatentModel, Masked, Mixture

SCORED = 16
"""Draws that an autoregressive layer scores with every state, resampled from all of them."""


def cell_log_probs(
    model: LatentModel,
    rows: Any,
    samples: int = 200,
    *,
    key: Key[Array, ""],
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """log p(cell | the other observed cells of its row) of every group of every row, `[N, G]`.

    nan for missing cells. It is a log-probability of states: in a table's units the cell's
    `Schema.log_measure` is added. A row's numbers depend on that row alone. Exact without latents
    and missing cells.

    Args:
        model: a Helmholtz machine, or a mixture of them.
        rows: `[N, D]` of 0 and 1, or `MaskedBits`.
        samples: K, latents drawn from q for each row.
        key: the randomness.
        progress: called with the numbers of rows done and in all.

    >>> import jax, numpy as np, wakesleep as ws
    >>> model = ws.build("nade(hidden=2)", features=1, key=jax.random.key(0))
    >>> values = cell_log_probs(model, [[0], [1]], key=jax.random.key(1))
    >>> values.shape, np.exp(values).sum().round(3).item()
    ((2, 1), 1.0)
    """
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if isinstance(model, Mixture):
        return _of_mixture(model, checked_rows(model, rows), samples, key, progress)
    if not isinstance(model, HelmholtzMachine | EoNADE):
        raise UsageError("cell_log_probs is for Helmholtz machines, mixtures and EoNADEs alone")
    table: Any = checked_rows(model, rows)
    assert isinstance(table, PackedBits | MaskedBits)

    def surprise(part: PackedBits | MaskedBits) -> OfOne:
        if isinstance(model, EoNADE):
            return _predicted
        if undirected_top(model) and not model.latent_sizes:
            return _scored
        return _Surprise(needed_samples(model, part, samples))

    values = np.asarray(map_rows(surprise, model, table, key, progress), np.float64)
    if isinstance(table, MaskedBits):
        values[table.observed[:] == 0] = np.nan
    return values


def _of_mixture(
    model: Mixture, rows: Any, samples: int, key: Key[Array, ""], progress: Progress | None
) -> npt.NDArray[np.float64]:
    """From each component's p_c(x) and p_c(x_g | x_−g), whose ratio is p_c(x_−g)."""
    turns = components_in_turn(model, key, progress)
    cells = [
        cell_log_probs(each, rows, samples, key=own, progress=told) for each, own, told in turns
    ]
    whole = [infer_rows(each, rows, samples, own).log_likelihood for each, own, _ in turns]
    total, _ = responsibilities(model, np.stack(whole, axis=1))
    missing = np.isnan(cells[0])
    # [C, N, G]: each component's log p of the row without the cell.
    without = np.stack(whole)[..., None] - np.where(missing, 0.0, np.stack(cells))
    others = [responsibilities(model, without[..., g].T)[0] for g in range(model.groups_count)]
    return np.where(missing, np.nan, total[:, None] - np.stack(others, axis=1))


@dataclass(frozen=True)
class _Surprise:
    """Of one example, `[1, ...]`."""

    samples: int

    def __call__(self, model: BitModel, x: Any, key: Key[Array, ""]) -> Float[Array, " G"]:
        assert isinstance(model, HelmholtzMachine)
        masked = isinstance(x, Masked)
        bits = x.x if masked else x
        key_draw, key_choose = jax.random.split(key)
        h, terms = model.sample_q_with_terms(key_draw, x, self.samples)
        log_q = sum(terms, start=jnp.zeros((1, self.samples)))
        layer = model.visible
        pre = layer.preactivations(parents_of(h))
        full = jnp.broadcast_to(bits[:, None], (1, self.samples, model.features))
        seen = x.units(model.groups)[:, None] > 0 if masked else jnp.ones_like(full, bool)
        drawn_key = jax.random.fold_in(key_draw, len(model.q))
        full, logits = layer.draw_unobserved(drawn_key, full, seen, pre)
        above = (*h[1:], jnp.zeros(0))
        log_p = layer.log_prob_observed(full, logits, seen)
        for p, value, parents in zip(model.p[1:], h, above, strict=False):
            log_p = log_p + p.log_prob(value, parents)
        log_weights = log_p - log_q
        if not layer.factorial and self.samples > SCORED:
            chosen = systematic(key_choose, log_weights)[:, :: -(-self.samples // SCORED)]
            h, full = take((h, full), chosen)
            log_weights = jnp.zeros(chosen.shape)
        if layer.factorial:
            log_ratios = -_own_log_probs(model, full, logits)
        else:
            log_ratios = _log_ratios(model, full, h)
        shares = jax.nn.log_softmax(log_weights, axis=-1)
        return -jax.nn.logsumexp(shares[0, :, None] + log_ratios[0], axis=0)


def _predicted(model: BitModel, x: Any, key: Key[Array, ""]) -> Float[Array, " G"]:
    """By an EoNADE: each cell from all others in one pass, as it imputes."""
    del key
    assert isinstance(model, EoNADE)
    bits = x.x if isinstance(x, Masked) else x
    seen = x.observed if isinstance(x, Masked) else jnp.ones((1, model.groups_count))

    def own(group: Array) -> Float[Array, ""]:
        logits = model.predict(bits, seen.at[:, group].set(0))
        return _own_log_probs(model, bits[:, None], logits[:, None])[0, 0, group]

    return lax.map(own, jnp.arange(model.groups_count))


def _scored(model: BitModel, x: Any, key: Key[Array, ""]) -> Float[Array, " G"]:
    """By a plain RBM: from the row's score with every state of every cell; log Z cancels."""
    del key
    assert isinstance(model, HelmholtzMachine)
    if isinstance(x, Masked):
        raise UsageError(
            "a plain RBM cannot sum over missing cells: put a layer below it, as in 'dbn 50-20', "
            "or make missing a level (--missing level)"
        )
    return -_log_ratios(model, x[:, None], ())[0, 0]


def _own_log_probs(
    model: BitModel, x: Float[Array, "1 K D"], logits: Float[Array, "1 K D"]
) -> Float[Array, "1 K G"]:
    """log p(x_g | h) of every group, for units that are independent given h."""
    sizes = np.asarray(model.groups)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    starts = (np.cumsum(sizes) - sizes)[numbers]
    last = (np.arange(len(numbers)) == starts + sizes[numbers] - 1) & (sizes[numbers] > 1)
    earlier = jnp.cumsum(x, axis=-1) - x
    asked = (earlier - jnp.take(earlier, starts, axis=-1) < 0.5) & ~last
    terms = jnp.where(asked, jax.nn.log_sigmoid((2 * x - 1) * logits), 0.0)
    return _group_sums(terms, numbers, len(sizes))


def _group_sums(
    values: Float[Array, "*batch D"], numbers: npt.NDArray[np.intp], count: int
) -> Float[Array, "*batch G"]:
    """Sums over the units of each group."""
    sums = jax.ops.segment_sum(jnp.moveaxis(values, -1, 0), jnp.asarray(numbers), count)
    return jnp.moveaxis(sums, 0, -1)


def _log_ratios(
    model: HelmholtzMachine, x: Float[Array, "1 K D"], h: tuple[Float[Array, "..."], ...]
) -> Float[Array, "1 K G"]:
    """log Σ_s p(x with s for x_g | h) / p(x | h) of every group, one state after another."""
    layer, groups = model.p[0], model.groups
    pre = layer.preactivations(parents_of(h))
    own = layer.log_prob_given(x, pre)
    numbers = np.repeat(np.arange(len(groups)), groups)
    single = np.asarray(groups)[numbers] == 1
    members = jnp.asarray(numbers[:, None] == numbers[None])

    def score(_: None, unit: tuple[Array, Array, Array]) -> tuple[None, Array]:
        i, group, alone = unit
        # A bit's other state is the flipped one; a level takes the place of the whole group.
        value = jnp.where(alone, 1 - x[..., i], 1.0)
        other = jnp.where(group, 0.0, x)
        other = other.at[..., i].set(value)
        return None, layer.log_prob_given(other, pre) - own

    units = jnp.arange(len(numbers)), members, jnp.asarray(single)
    _, gains = lax.scan(score, None, units)
    numbers_, count = jnp.asarray(numbers), len(groups)
    # Of a bit the state that it has is not among the scored ones: its ratio is one.
    top = jnp.maximum(jax.ops.segment_max(gains, numbers_, count), 0.0)
    total = jax.ops.segment_sum(jnp.exp(gains - top[numbers_]), numbers_, count)
    bits = (np.asarray(groups) == 1)[:, None, None]
    return jnp.moveaxis(jnp.log(total + bits * jnp.exp(-top)) + top, 0, -1)
