"""Models of one's own: any p(x, h) and q(h | x) given as JAX functions of one example.

    log_p(theta, x, h)          log p(x, h)
    log_q(phi, h, x)            log q(h | x)
    sample_q(phi, x, key)       h ~ q(h | x)
    sample_p(theta, key)        (x, h) ~ p(x, h); without it there are no dreams

x and h are arrays or trees of arrays: continuous, categorical, of any shape. Minibatches and
samples are this module's business.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.errors import UsageError
from wakesleep.models.base import Draw, LatentModel


class Functions(NamedTuple):
    """What a model's author wrote, each a function of one example."""

    log_p: Callable[..., Any]
    log_q: Callable[..., Any]
    sample_q: Callable[..., Any]
    sample_p: Callable[..., Any] | None


class FunctionModel(LatentModel):
    """A generative model and an inference model, as functions and their parameters.

    Attributes:
        theta: p's parameters, any tree of arrays.
        phi: q's.
        functions: `log_p`, `log_q`, `sample_q` and `sample_p`, which may be None.
    """

    theta: Any
    phi: Any
    functions: Functions = eqx.field(static=True)

    def __init__(
        self,
        theta: Any,
        phi: Any,
        log_p: Callable[..., Any],
        log_q: Callable[..., Any],
        sample_q: Callable[..., Any],
        sample_p: Callable[..., Any] | None = None,
    ):
        """Take the parameters, which become arrays, and the functions as they are.

        Args:
            theta: p's parameters, any tree of arrays or numbers.
            phi: q's.
            log_p: `(theta, x, h) -> scalar`.
            log_q: `(phi, h, x) -> scalar`.
            sample_q: `(phi, x, key) -> h`. No gradient flows through what it returns.
            sample_p: `(theta, key) -> (x, h)`, or None.
        """
        self.theta = jax.tree.map(jnp.asarray, theta)
        self.phi = jax.tree.map(jnp.asarray, phi)
        self.functions = Functions(log_p, log_q, sample_q, sample_p)

    def draw(self, key: Key[Array, ""], x: Any, samples: int) -> Draw:
        """K latents of q for each example; `h`'s leading dimensions are B and K."""
        keys = jax.random.split(key, (count_examples(x), samples))

        def one(x: Any, key: Key[Array, ""]) -> tuple[Any, Any, Any]:
            h = lax.stop_gradient(self.functions.sample_q(self.phi, x, key))
            log_p = self.functions.log_p(self.theta, x, h)
            return h, log_p, self.functions.log_q(self.phi, h, x)

        h, log_p, log_q = jax.vmap(jax.vmap(one, in_axes=(None, 0)))(x, keys)
        _check_scalars(log_p, log_q, keys.shape)
        return Draw(h, (log_p,), (log_q,))

    def dream(self, key: Key[Array, ""], count: int) -> tuple[Any, Any]:
        """(x, h) ~ p(x, h), `count` of them; refused where there is no `sample_p`."""
        sample_p = self.functions.sample_p
        if sample_p is None:
            raise UsageError(
                "this model was given no sample_p, so it cannot dream: "
                "set the estimator's sleep_q to 0"
            )
        return jax.vmap(lambda each: sample_p(self.theta, each))(jax.random.split(key, count))

    def log_q(self, h: Any, x: Any) -> Float[Array, " N"]:
        """log q(h | x) of pairs `[N, ...]`."""
        return jax.vmap(lambda h, x: self.functions.log_q(self.phi, h, x))(h, x)

    def log_joint(self, x: Any, h: Any) -> Float[Array, " N"]:
        """log p(x, h) of pairs `[N, ...]`."""
        return jax.vmap(lambda x, h: self.functions.log_p(self.theta, x, h))(x, h)

    def p_leaves(self) -> PyTree:
        """True at theta's leaves, False at phi's."""
        marks = jax.tree.map(lambda _: True, self.theta), jax.tree.map(lambda _: False, self.phi)
        return eqx.tree_at(lambda model: (model.theta, model.phi), self, marks)


def count_examples(x: Any) -> int:
    """The first dimension of a tree of arrays, the same for all of them."""
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(x)]
    counts = {shape[0] if shape else 0 for shape in shapes}
    if len(counts) != 1 or 0 in counts:
        raise UsageError(
            "x must be a minibatch: one or more arrays whose first dimension counts the examples"
        )
    return counts.pop()


def _check_scalars(log_p: Array, log_q: Array, shape: tuple[int, ...]) -> None:
    for name, value in (("log_p", log_p), ("log_q", log_q)):
        if jnp.shape(value) != shape:
            extra = jnp.shape(value)[2:]
            raise UsageError(
                f"{name} must give one number for one example and one h, not shape {extra}"
            )
