"""EoNADE: one network that predicts any columns from any others, read in several orders.

Uria, Murray & Larochelle, "A deep and tractable density estimator" (ICML 2014).
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from wakesleep.layers.emission import CERTAIN, Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.models.base import Draw
from wakesleep.models.bit_model import BitModel, Visible
from wakesleep.models.eonade_spec import EoNADESpec
from wakesleep.models.masked import Masked
from wakesleep.numerics import affine

TOGETHER = 16
"""Orderings that share a matrix product."""

Order = Int[Array, " G"]
Outputs = tuple[Float[Array, "B m"], Float[Array, "B m"]]


class EoNADE(BitModel):
    """p(x) = (1/M) Σ_o Π_g p(x_o(g) | x_o(<g)), the mean over M orderings o of the groups.

    One network gives every factor: it sees the units of the groups that came before, and which
    groups those are,

        h₁ = relu(a + Σ_seen groups (U_g + Σ_units of g x_i W_i)),  h_l = relu(A_l h_(l−1) + a_l),

    and has the logits V h + b for all others. There is no q: where K samples are asked for, they
    are orderings, and M of them give log p(x) itself. Of a row with missing cells the observed
    ones come first in every ordering, so that p of these is exact too.

    Attributes:
        W: weights of the units, `[D, H]`.
        U: weights that say which groups are seen, `[G, H]`.
        a: biases of the first hidden layer, `[H]`.
        deeper: weights and biases of the other hidden layers.
        V: weights from the last hidden layer to the units, `[D, H]`.
        b: biases of the units, `[D]`.
        emission: how units emit.
        spec: the options it was made with.
    """

    W: Float[Array, "D H"]
    U: Float[Array, "G H"]
    a: Float[Array, " H"]
    deeper: tuple[tuple[Float[Array, "H H"], Float[Array, " H"]], ...]
    V: Float[Array, "D H"]
    b: Float[Array, " D"]
    emission: Emission = eqx.field(static=True)
    spec: EoNADESpec = eqx.field(static=True)

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        features: int,
        init: Initialisation,
        emission: Emission,
        spec: EoNADESpec,
    ) -> "EoNADE":
        """Initial parameters."""
        width, groups = spec.hidden, len(emission.group_sizes or range(features))
        key_W, key_U, key_V, *keys = jax.random.split(key, 2 + spec.layers)
        deeper = tuple((init.weights(k, width, width), jnp.zeros(width)) for k in keys)
        return cls(
            W=init.weights(key_W, width, features).T,
            U=init.weights(key_U, width, groups).T,
            a=jnp.zeros(width),
            deeper=deeper,
            V=init.weights(key_V, features, width),
            b=jnp.zeros(features),
            emission=emission,
            spec=spec,
        )

    @property
    def features(self) -> int:
        """D."""
        return self.b.shape[0]

    @property
    def visible_emission(self) -> Emission:
        """The field."""
        return self.emission

    @property
    def latent_sizes(self) -> tuple[int, ...]:
        """None."""
        return ()

    def exact_samples(self, *, masked: bool) -> int:
        """M."""
        del masked
        return self.spec.orderings

    def draw(self, key: Key[Array, ""], x: Visible, samples: int) -> Draw:
        """log p(x | o) in K orderings, the same for all examples."""
        orders = self.some_orders(key, samples)
        if isinstance(x, Masked):
            return Draw((), (self.log_prob_observed(x, orders),), ())
        return Draw((), (self.log_prob(x, orders),), ())

    def dream(
        self, key: Key[Array, ""], count: int | tuple[int, ...]
    ) -> tuple[Float[Array, "... D"], tuple[()]]:
        """x ~ p(x), each in an ordering of its own."""
        return self._dream(key, count)[0], ()

    def mean_p(self, key: Key[Array, ""], shape: int | tuple[int, ...]) -> Float[Array, "... D"]:
        """The probabilities with which a dream's units were drawn, each given those before it."""
        return self.visible_emission.mean(self._dream(key, shape)[1])

    def log_q(self, h: tuple[()], x: Float[Array, "... D"]) -> Float[Array, "..."]:
        """0: there are no latents."""
        del h
        return jnp.zeros(x.shape[:-1])

    def p_leaves(self) -> PyTree:
        """All are p's."""
        return jax.tree.map(lambda _: True, self)

    def with_visible_mean(self, mean: Float[Array, " D"]) -> "EoNADE":
        """The bias b."""
        return eqx.tree_at(lambda model: model.b, self, self.visible_emission.bias_for(mean))

    def predict(
        self, x: Float[Array, "*#batch D"], seen: Float[Array, "*#batch G"]
    ) -> Float[Array, "*batch D"]:
        """The logits of all units given those of the groups that are seen, in one pass."""
        units = jnp.take(seen, self._numbers, axis=-1)
        return affine(self._hidden(x * units @ self.W + seen @ self.U + self.a), self.V, self.b)

    def log_prob(self, x: Float[Array, "B D"], orders: Int[Array, "K G"]) -> Float[Array, "B K"]:
        """log p(x | o) in each of the orderings."""

        def score(order: Order) -> Float[Array, " B"]:
            return self.visible_emission.log_prob(x, self._walk(order, x)[1])

        if len(orders) <= TOGETHER:
            return jax.vmap(score)(orders).T
        return lax.map(score, orders, batch_size=TOGETHER).T

    def log_prob_observed(self, x: Masked, orders: Int[Array, "K G"]) -> Float[Array, "B K"]:
        """log p of what was observed: in each ordering, the observed groups come first."""

        def score(order: Order) -> Float[Array, " B"]:
            _, logits = self._walk(_observed_first(order, x.observed), x.x)
            certain = CERTAIN * (2 * x.x - 1)
            logits = jnp.where(x.units(self.groups) > 0, logits, certain)
            return self.visible_emission.log_prob(x.x, logits)

        return lax.map(score, orders).T

    def impute(self, key: Key[Array, ""], x: Masked, draws: int) -> Float[Array, "B N D"]:
        """Rows whose missing groups were drawn one after another given the observed ones."""
        key_orders, key_draws = jax.random.split(key)
        orders = self.some_orders(key_orders, draws)

        def one(inputs: tuple[Order, Key[Array, ""]]) -> Float[Array, "B D"]:
            order, draw_key = inputs
            return self.impute_in_order(draw_key, x, order)

        return jnp.moveaxis(lax.map(one, (orders, jax.random.split(key_draws, draws))), 0, 1)

    def impute_in_order(self, key: Key[Array, ""], x: Masked, order: Order) -> Float[Array, "B D"]:
        """A draw of each row's missing groups in one ordering, but for the observed ones first."""
        noise = self.visible_emission.noise(key, x.x.shape)
        return self._walk(_observed_first(order, x.observed), x.x, (x.observed > 0, noise))[0]

    def some_orders(self, key: Key[Array, ""], count: int) -> Int[Array, "K G"]:
        """K of the M orderings at random, none twice before all were there."""
        places = jax.random.permutation(key, self.spec.orderings)[
            np.arange(count) % self.spec.orderings
        ]
        return jnp.asarray(self.spec.orders(self.groups_count))[places]

    def _dream(
        self, key: Key[Array, ""], count: int | tuple[int, ...]
    ) -> tuple[Float[Array, "... D"], Float[Array, "... D"]]:
        """Dreams, and the logits that their units were drawn with."""
        leading = (count,) if isinstance(count, int) else count
        rows = math.prod(leading)
        key_orders, key_noise = jax.random.split(key)
        orders = jnp.asarray(self.spec.orders(self.groups_count))
        chosen = orders[jax.random.randint(key_orders, (rows,), 0, len(orders))]
        noise = self.visible_emission.noise(key_noise, (rows, self.features))
        nothing = jnp.zeros((rows, self.groups_count), bool)
        x, logits = self._walk(chosen, jnp.zeros(noise.shape), (nothing, noise))
        return x.reshape(*leading, -1), logits.reshape(*leading, -1)

    def _walk(
        self,
        order: Order | Int[Array, "B G"],
        x: Float[Array, "B D"],
        drawn: tuple[Bool[Array, "B G"], Float[Array, "B D"]] | None = None,
    ) -> tuple[Float[Array, "B D"], Float[Array, "B D"]]:
        """Group after group, in one ordering for all rows or one for each: x, and its logits.

        `drawn` says which groups of x are given, and has the noise that decides the others; without
        it all are given. A group's units are asked in turn until one is 1, each with a logit that
        knows the groups before it in the ordering.
        """
        places, padded = self._places, jnp.pad
        # Groups narrower than the widest are filled up with a unit that is never 1.
        W, V = (padded(each, ((0, 1), (0, 0)))[places] for each in (self.W, self.V))
        b = padded(self.b, (0, 1))[places]
        inputs = [order.T, _in_order(padded(x, ((0, 0), (0, 1)))[:, places], order)]
        if drawn is not None:
            noise = padded(drawn[1], ((0, 0), (0, 1)), constant_values=jnp.inf)[:, places]
            inputs += [_in_order(drawn[0][..., None], order), _in_order(noise, order)]

        def step(pre: Float[Array, "B H"], inputs: list[Array]) -> tuple[Array, Outputs]:
            g, values, *decided = inputs
            hidden = self._hidden(pre)
            if g.ndim:
                asked = jnp.einsum("bh,bmh->bm", hidden, V[g]) + b[g]
            else:
                asked = hidden @ V[g].T + b[g]
            if decided:
                given, noise = decided
                above = (asked > noise).astype(values.dtype)
                first = above * (jnp.cumsum(above, axis=-1) - above < 0.5)
                values = jnp.where(given, values, lax.stop_gradient(first))
            added = jnp.einsum("bm,bmh->bh", values, W[g]) if g.ndim else values @ W[g]
            return pre + added + self.U[g], (values, asked)

        pre = jnp.broadcast_to(self.a, (x.shape[0], self.a.shape[0]))
        _, outputs = lax.scan(step, pre, inputs)
        back = jnp.argsort(order, axis=-1)
        values, logits = (
            jnp.moveaxis(_in_order(jnp.moveaxis(each, 0, 1), back), 0, 1) for each in outputs
        )
        rows, real = x.shape[0], places.ravel() < self.features
        return values.reshape(rows, -1)[:, real], logits.reshape(rows, -1)[:, real]

    def _hidden(self, pre: Float[Array, "*batch H"]) -> Float[Array, "*batch H"]:
        """The last hidden layer, from the first's pre-activations."""
        hidden = jax.nn.relu(pre)
        for A, a in self.deeper:
            hidden = jax.nn.relu(affine(hidden, A, a))
        return hidden

    @property
    def _numbers(self) -> npt.NDArray[np.intp]:
        """The group of every unit, `[D]`."""
        return np.repeat(np.arange(self.groups_count), self.groups)

    @property
    def _places(self) -> npt.NDArray[np.intp]:
        """The units of every group, filled up with D, `[G, widest]`."""
        sizes = np.array(self.groups)
        places = np.cumsum(sizes)[:, None] - sizes[:, None] + np.arange(sizes.max())
        return np.where(np.arange(sizes.max()) < sizes[:, None], places, self.features)


def _in_order(
    values: Float[Array, "B G m"] | Bool[Array, "B G m"], order: Int[Array, "*B G"]
) -> Float[Array, "G B m"] | Bool[Array, "G B m"]:
    """The groups of every row in this ordering, or in its own, group after group."""
    if order.ndim == 1:
        return jnp.moveaxis(values[:, order], 1, 0)
    return jnp.moveaxis(jnp.take_along_axis(values, order[..., None], axis=1), 1, 0)


def _observed_first(order: Order, observed: Float[Array, "B G"]) -> Int[Array, "B G"]:
    """The ordering for every row, its observed groups before its missing ones."""
    missing_last = jnp.argsort(observed[:, order] <= 0, axis=-1, stable=True)
    return order[missing_last]
