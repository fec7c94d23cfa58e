"""Reweighted Wake-Sleep, the paper's Algorithm 1; classic wake-sleep is its K = 1 case."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Estimator, Info
from wakesleep.model import HelmholtzMachine
from wakesleep.recipe import Recipe

Model = TypeVar("Model")


class Reweighted(Estimator):
    """Three maximum-likelihood updates with weighted samples, each with a weight of its own.

    - wake-p (eq. 3): Σ_k ω̃_k ∂/∂θ log p(x, h_k)
    - wake-q (eq. 4): Σ_k ω̃_k ∂/∂φ log q(h_k | x)
    - sleep-q (eq. 5): ∂/∂φ log q(h | x) on dreams (x, h) ~ p

    The weights ω̃ and the samples are constants of the gradient. A weight of zero switches an
    update off and its work with it; all three of q's may be off (the paper's control).

    Attributes:
        samples: K, the number of latents drawn per example.
        wake_p: weight of the wake update of p.
        wake_q: weight of the wake update of q; 0 for classic wake-sleep.
        sleep_q: weight of the sleep update of q.
        dreams: dreams per example of the minibatch.
    """

    samples: int = eqx.field(static=True, default=5)
    wake_p: float | int = eqx.field(static=True, default=1.0)
    wake_q: float | int = eqx.field(static=True, default=1.0)
    sleep_q: float | int = eqx.field(static=True, default=1.0)
    dreams: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        if self.samples < 1:
            raise UsageError(f"samples must be 1 or more, not {self.samples}")
        if self.dreams < 1:
            raise UsageError(
                f"dreams must be 1 or more, not {self.dreams}; sleep_q=0 switches dreaming off"
            )

    @classmethod
    def from_recipe(cls, phase: Recipe) -> "Reweighted":
        """q's two updates are weighted relative to the larger of their rates, which is q's own."""
        return cls(
            samples=phase.samples,
            wake_p=1.0 if phase.rate_p else 0.0,
            wake_q=phase.rate_wake_q / (phase.rate_q or 1.0),
            sleep_q=phase.rate_sleep_q / (phase.rate_q or 1.0),
            dreams=phase.dreams,
        )

    def __call__(
        self, model: HelmholtzMachine, x: Float[Array, "B D"], key: Key[Array, ""]
    ) -> tuple[HelmholtzMachine, Info]:
        """Gradients of minus the weighted log-probabilities, averaged over the batch."""

        def wake(model: HelmholtzMachine, wake_key: Key[Array, ""]) -> importance.Draw:
            return importance.draw(model, x, self.samples, wake_key)

        def sleep(model: HelmholtzMachine, sleep_key: Key[Array, ""]) -> Float[Array, " N"]:
            dream, h = lax.stop_gradient(model.sample_p(sleep_key, x.shape[0] * self.dreams))
            # Without latents log q is a plain 0.
            return jnp.broadcast_to(model.log_q(h, dream), dream.shape[:-1])

        return self.gradients(model, wake, sleep, key)

    def gradients(
        self,
        model: Model,
        wake: Callable[[Model, Key[Array, ""]], importance.Draw],
        sleep: Callable[[Model, Key[Array, ""]], Float[Array, " N"]],
        key: Key[Array, ""],
    ) -> tuple[Model, Info]:
        """The same for any model that can be drawn from.

        Args:
            model: what is differentiated.
            wake: K scored samples of q for each example.
            sleep: log q(h | x) of dreams (x, h) ~ p; not asked for where sleep_q is 0.
            key: the randomness.
        """
        wake_key, sleep_key = jax.random.split(key)

        def surrogate(model: Model) -> tuple[Float[Array, ""], Info]:
            drawn = wake(model, wake_key)
            objective = self._wake(drawn)
            if self.sleep_q:
                # A mean: more dreams sharpen this gradient and do not outweigh wake-q's.
                objective += self.sleep_q * sleep(model, sleep_key).mean()
            return -objective, summarise(drawn)

        return eqx.filter_grad(surrogate, has_aux=True)(model)

    def _wake(self, drawn: importance.Draw) -> Float[Array, ""]:
        weights = importance.normalise(lax.stop_gradient(drawn.log_weights))
        objective = jnp.zeros(())
        if self.wake_p:
            objective += self.wake_p * (weights * drawn.log_p).sum(-1).mean()
        if self.wake_q:
            objective += self.wake_q * (weights * drawn.log_q).sum(-1).mean()
        return objective


def summarise(drawn: importance.Draw) -> Info:
    """What a person plots of a minibatch's samples; no gradient flows through it."""
    drawn = lax.stop_gradient(drawn)
    log_weights = drawn.log_weights
    # A model of one's own scores h as a whole: it has no layers to tell apart.
    latent_terms = zip(drawn.log_q_terms, drawn.log_p_terms[1:], strict=False)
    return Info(
        log_likelihood=importance.log_likelihood_estimate(log_weights).mean(),
        bound=importance.variational_bound(log_weights).mean(),
        effective_samples=importance.effective_sample_size(log_weights).mean(),
        largest_weight=importance.normalise(log_weights).max(-1).mean(),
        kl=tuple((q - p).mean() for q, p in latent_terms),
    )
