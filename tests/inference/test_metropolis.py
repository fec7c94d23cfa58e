"""The rule leaves a distribution as it is, worked out over all states and all proposals."""

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.inference.metropolis import metropolis

TARGET = np.array([0.5, 0.2, 0.05, 0.25])
# Not symmetric, so that the way back must be in the ratio: PROPOSE[i, j] from state i to j.
PROPOSE = np.array(
    [[0.1, 0.6, 0.2, 0.1], [0.3, 0.3, 0.3, 0.1], [0.2, 0.2, 0.1, 0.5], [0.7, 0.1, 0.1, 0.1]]
)
LOG_RATIO = np.log(TARGET[None] * PROPOSE.T / (TARGET[:, None] * PROPOSE))
GRID = 20_000


def transition(log_ratio):
    """P(from state i to j), the uniform draw averaged over a fine grid."""
    grid = jnp.log((jnp.arange(GRID) + 0.5) / GRID)
    current, proposed = (jnp.asarray(a) for a in np.indices((4, 4)))
    shape = (GRID, 4, 4)
    states, _ = metropolis(
        jnp.broadcast_to(grid[:, None, None], shape),
        jnp.broadcast_to(jnp.asarray(log_ratio, jnp.float32), shape),
        jnp.broadcast_to(proposed, shape),
        jnp.broadcast_to(current, shape),
    )
    arrived = np.asarray(jax.nn.one_hot(states, 4).mean(0), np.float64)
    return np.einsum("ij,ijk->ik", PROPOSE, arrived)


def test_the_target_is_left_as_it_is():
    moves = transition(LOG_RATIO)
    np.testing.assert_allclose(moves.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(TARGET @ moves, TARGET, atol=2 / GRID)
    # Detailed balance, which is more.
    flow = TARGET[:, None] * moves
    np.testing.assert_allclose(flow, flow.T, atol=2 / GRID)
    assert moves[0, 0] < 0.9


def test_a_ratio_without_the_way_back_would_show():
    wrong = transition(np.log(TARGET[None] / TARGET[:, None]))
    assert np.abs(TARGET @ wrong - TARGET).max() > 0.01


def test_all_leaves_of_a_particle_move_together(key):
    current = {"x": jnp.zeros((3, 4, 2)), "score": jnp.zeros((3, 4)), "none": None}
    proposed = {"x": jnp.ones((3, 4, 2)), "score": jnp.ones((3, 4)), "none": None}
    log_uniform = jnp.log(jax.random.uniform(key, (3, 4)))
    states, accepted = metropolis(log_uniform, jnp.full((3, 4), jnp.log(0.5)), proposed, current)
    assert 0 < accepted.sum() < 12
    np.testing.assert_array_equal(states["score"], accepted)
    np.testing.assert_array_equal(states["x"], np.repeat(accepted[..., None], 2, -1))


def test_impossible_states_are_refused_and_certain_ones_taken():
    log_ratio = jnp.array([-jnp.inf, 0.0, jnp.inf])
    states, accepted = metropolis(jnp.full(3, -1e-7), log_ratio, jnp.ones(3), jnp.zeros(3))
    assert accepted.tolist() == [False, True, True]
    assert states.tolist() == [0, 1, 1]
