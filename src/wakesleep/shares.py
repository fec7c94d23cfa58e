"""A minibatch whose rows are shared out among processes, seen from inside the compiled step.

Within `sharing` the code that is traced sees the rows of one process. What it draws for them are
the rows that a single process would have drawn, so that a result does not depend on the number of
processes; means over rows are means over all of them. Outside of it everything here does nothing.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Int, PyTree

AXIS = "rows"
"""The mesh's axis along which a minibatch is shared out."""

_PROCESSES: ContextVar[int] = ContextVar("processes", default=1)


@contextmanager
def sharing(processes: int) -> Iterator[None]:
    """Within this block rows are those of one of so many processes."""
    token = _PROCESSES.set(processes)
    try:
        yield
    finally:
        _PROCESSES.reset(token)


def processes() -> int:
    """How many share the rows; 1 where they are not shared out."""
    return _PROCESSES.get()


def not_shared() -> AbstractContextManager[None]:
    """Within this block arrays are whole: what every process has, and treats in the same way."""
    return sharing(1)


def places(count: int) -> Int[Array, " B"]:
    """Where a process's `count` rows stand among those of all processes."""
    if processes() == 1:
        return jnp.arange(count)
    return lax.axis_index(AXIS) * count + jnp.arange(count)


def drawn(draw: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...], axis: int = 0) -> Array:
    """What `draw` gives for the rows of a process, which are along `axis` of a shape.

    It is asked for the rows of all processes, of which these are taken.
    """
    if processes() == 1:
        return draw(shape)
    whole = draw((*shape[:axis], shape[axis] * processes(), *shape[axis + 1 :]))
    return lax.dynamic_slice_in_dim(whole, lax.axis_index(AXIS) * shape[axis], shape[axis], axis)


def word_places(shape: tuple[int, ...]) -> tuple[Array, int] | None:
    """The places of a shape's words among those of all processes, and how many there are in all.

    None where rows are not shared out.
    """
    if processes() == 1:
        return None
    count = math.prod(shape)
    start = lax.axis_index(AXIS).astype(jnp.uint32) * jnp.uint32(count)
    return start + lax.iota(jnp.uint32, count), count * processes()


def mean(tree: PyTree) -> PyTree:
    """The mean over processes of a tree of arrays, in one message.

    Of means over equal shares it is the mean over all rows.
    """
    if processes() == 1:
        return tree
    flat, restore = ravel_pytree(tree)
    return restore(lax.pmean(flat, AXIS))


def gathered(tree: PyTree) -> PyTree:
    """The rows of all processes, in their order."""
    if processes() == 1:
        return tree
    return jax.tree.map(lambda leaf: lax.all_gather(leaf, AXIS, tiled=True), tree)
