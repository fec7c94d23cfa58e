"""A minibatch in equal shares, of which every process of a training takes some.

How many shares there are belongs to the recipe: each is computed by itself, and what they give is
added in a fixed order. So the result is the same to the last bit, whichever process computes which
of them. Inside a share the code that is traced sees its rows alone, and draws for them what would
have been drawn for them in the whole minibatch: the number of shares changes no more than how sums
are rounded.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

AXIS = "rows"
"""The mesh's axis along which a minibatch is shared out."""


class _Share(NamedTuple):
    """Share `number` of a minibatch that has `among` of them."""

    number: Int[Array, ""]
    among: int


_SHARE: ContextVar[_Share | None] = ContextVar("share", default=None)


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


def of_all(
    compute: Callable[[PyTree], Found], rows: PyTree, split: Split, step: Int[Array, ""]
) -> Found:
    """What all rows of a minibatch give, from those of this process.

    Args:
        compute: what the rows of one share give.
        rows: this process's shares of the minibatch, one after another.
        split: of the minibatch.
        step: any number that is not negative and that the compiler cannot foretell.
    """
    if split.shares == 1:
        return compute(rows)
    own = split.shares // split.processes
    first = lax.axis_index(AXIS) * own if split.processes > 1 else 0
    cut = jax.tree.map(lambda leaf: leaf.reshape(own, -1, *leaf.shape[1:]), rows)
    restore: list[Callable[[Array], PyTree]] = []

    def flat(i: Int[Array, ""]) -> tuple[Float[Array, " P"], PyTree]:
        share = jax.tree.map(lambda leaf: leaf[i], cut)
        with _within(_Share(first + i, split.shares)):
            means, notes = compute(share)
        joined, back = ravel_pytree(means)
        restore.append(back)
        return joined, notes

    def put(i: Int[Array, ""], stacks: Any) -> Any:
        return jax.tree.map(lambda stack, one: stack.at[i].set(one), stacks, flat(i))

    shapes = jax.eval_shape(flat, jnp.zeros((), jnp.int32))
    stacks = jax.tree.map(lambda one: jnp.zeros((own, *one.shape), one.dtype), shapes)
    # XLA would take a loop of one turn apart if it knew of it, and round otherwise than in a
    # process that has more turns to take.
    turns = own + jnp.minimum(step, 0)
    means, notes = lax.fori_loop(0, turns, put, stacks)
    notes = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), notes)
    return Found(restore[0](_mean(means, split)), gathered(notes, split))


def gathered(tree: PyTree, split: Split) -> PyTree:
    """The rows of all processes, in their order."""
    if split.processes == 1:
        return tree
    return jax.tree.map(lambda leaf: lax.all_gather(leaf, AXIS, tiled=True), tree)


def _mean(stack: Float[Array, "own P"], split: Split) -> Float[Array, " P"]:
    """Over the shares of all processes, added one after another.

    Every process adds a piece of each vector, so that none sends more than a few vectors,
    however many processes there are.
    """
    if split.processes == 1:
        return _in_order(stack)
    own, size = stack.shape
    piece = -(-size // split.processes)
    padded = jnp.pad(stack, ((0, 0), (0, piece * split.processes - size)))
    pieces = padded.reshape(own, split.processes, piece)
    mine = lax.all_to_all(pieces, AXIS, split_axis=1, concat_axis=0, tiled=True)
    return lax.all_gather(_in_order(mine[:, 0]), AXIS, tiled=True)[:size]


def _in_order(stack: Float[Array, "shares P"]) -> Float[Array, " P"]:
    return functools.reduce(operator.add, list(stack)) / len(stack)


@contextmanager
def _within(share: _Share) -> Iterator[None]:
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def inside() -> bool:
    """Whether what is traced sees one share of several."""
    return _SHARE.get() is not None


def places(count: int) -> Int[Array, " B"]:
    """Where `count` things, equally many for every share, stand among those of all shares."""
    share = _SHARE.get()
    return jnp.arange(count) + (share.number * count if share else 0)


def drawn(draw: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...], axis: int = 0) -> Array:
    """What `draw` gives for the rows of a share, which are along `axis` of a shape.

    It is asked for the rows of all shares, of which these are taken.
    """
    share = _SHARE.get()
    if share is None:
        return draw(shape)
    own = shape[axis]
    whole = draw((*shape[:axis], own * share.among, *shape[axis + 1 :]))
    return lax.dynamic_slice_in_dim(whole, share.number * own, own, axis)


def word_places(shape: tuple[int, ...]) -> tuple[Array, int] | None:
    """The places of a shape's words among those of all shares, and how many there are in all.

    None where no share is seen.
    """
    share = _SHARE.get()
    if share is None:
        return None
    count = math.prod(shape)
    start = jnp.asarray(share.number).astype(jnp.uint32) * jnp.uint32(count)
    return start + lax.iota(jnp.uint32, count), count * share.among
