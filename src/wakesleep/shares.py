"""A minibatch in equal shares, of which every process of a training takes some.

How many shares there are belongs to the recipe: each is computed by itself, and what they give is
added in a fixed order. So the result is the same to the last bit, whichever process computes which
of them. Inside a share the code that is traced sees its rows alone, and draws for them what would
have been drawn for them in the whole minibatch: the number of shares changes no more than how sums
are rounded.
"""

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Int, PyTree

AXIS = "rows"
"""The mesh's axis along which a minibatch is shared out."""


class Share(NamedTuple):
    """Share `number` of a minibatch that has `among` of them."""

    number: Array | int = 0
    among: int = 1


_WHOLE = Share()
_SHARE: ContextVar[Share] = ContextVar("share", default=_WHOLE)


class Split(NamedTuple):
    """How many shares a minibatch has, and how many processes take equally many of them."""

    shares: int = 1
    processes: int = 1


class Found(NamedTuple):
    """What rows give.

    Attributes:
        means: floats that are means over the rows.
        notes: arrays with the rows in front.
    """

    means: PyTree
    notes: PyTree


def of_all(compute: Callable[[PyTree], Found], rows: PyTree, split: Split) -> Found:
    """What all rows of a minibatch give, from those of this process.

    Args:
        compute: what the rows of one share give.
        rows: this process's shares of the minibatch, one after another.
        split: of the minibatch.
    """
    if split.shares == 1:
        return compute(rows)
    own = split.shares // split.processes
    first = lax.axis_index(AXIS) * own if split.processes > 1 else 0
    cut = jax.tree.map(lambda leaf: leaf.reshape(own, -1, *leaf.shape[1:]), rows)
    shares = [
        _by_itself(
            compute, jax.tree.map(lambda leaf, i=i: leaf[i], cut), Share(first + i, split.shares)
        )
        for i in range(own)
    ]
    means = _mean([share.means for share in shares], split)
    notes = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(share.notes for share in shares))
    return lax.optimization_barrier(Found(means, _gathered(notes, split)))


def _by_itself(compute: Callable[[PyTree], Found], rows: PyTree, share: Share) -> Found:
    """What one share gives.

    The barriers keep XLA from joining it with what comes before and after, which would round
    otherwise than in a process that has other shares to compute.
    """
    number, rows = lax.optimization_barrier((jnp.asarray(share.number), rows))
    with _within(share._replace(number=number)):
        return lax.optimization_barrier(compute(rows))


def _gathered(tree: PyTree, split: Split) -> PyTree:
    """The rows of all processes, in their order."""
    if split.processes == 1:
        return tree
    return jax.tree.map(lambda leaf: lax.all_gather(leaf, AXIS, tiled=True), tree)


def _mean(trees: list[PyTree], split: Split) -> PyTree:
    """Over the shares of all processes, added one after another.

    Every process adds a piece of each vector, so that none sends more than a few vectors,
    however many processes there are.
    """
    if split.processes == 1:
        return jax.tree.map(lambda *leaves: _in_order(leaves), *trees)
    restore = ravel_pytree(trees[0])[1]
    stack = jnp.stack([ravel_pytree(tree)[0] for tree in trees])
    own, size = stack.shape
    piece = -(-size // split.processes)
    padded = jnp.pad(stack, ((0, 0), (0, piece * split.processes - size)))
    pieces = padded.reshape(own, split.processes, piece)
    mine = lax.all_to_all(pieces, AXIS, split_axis=1, concat_axis=0, tiled=True)
    return restore(lax.all_gather(_in_order(mine[:, 0]), AXIS, tiled=True)[:size])


def _in_order(parts: Sequence[Array] | Array) -> Array:
    return functools.reduce(operator.add, list(parts)) / len(parts)


@contextmanager
def _within(share: Share) -> Iterator[None]:
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def here() -> Share:
    """The share that what is traced sees: the only one, unless there are several."""
    return _SHARE.get()


def places(count: int) -> Int[Array, " B"]:
    """Where `count` things, equally many for every share, stand among those of all shares."""
    return jnp.arange(count) + here().number * count


def drawn(draw: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...], axis: int = 0) -> Array:
    """What `draw` gives for the rows of a share, which are along `axis` of a shape.

    It is asked for the rows of all shares, of which these are taken.
    """
    share = here()
    if share.among == 1:
        return draw(shape)
    return portion(draw((*shape[:axis], shape[axis] * share.among, *shape[axis + 1 :])), axis)


def portion(whole: Array, axis: int = 0) -> Array:
    """What is this share's of something that is there for all of them, along `axis`."""
    share = here()
    if share.among == 1:
        return whole
    own = whole.shape[axis] // share.among
    return lax.dynamic_slice_in_dim(whole, share.number * own, own, axis)
