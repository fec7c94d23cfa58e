"""Work on a Dask cluster: the same bits, no finished part twice, a lost worker's part again."""

import os
import signal

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep import pools
from wakesleep.cli import main
from wakesleep.data import PackedBits
from wakesleep.errors import UsageError
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import HelmholtzMachine

ROWS, SAMPLES = 12, 700

pytestmark = [
    # Of Dask's own making, as it starts and stops its processes.
    pytest.mark.filterwarnings("default")
]


@pytest.fixture(scope="module")
def model():
    return ws.build("nade/sbn 3-6", features=9, key=jax.random.key(0))


@pytest.fixture(scope="module")
def rows():
    bits = np.random.default_rng(1).integers(0, 2, (ROWS, 9), dtype=np.uint8)
    return PackedBits.pack(bits)


class StoppedError(Exception):
    pass


def test_results_are_the_same_bits_and_nothing_finished_is_done_again(model, rows, tmp_path):
    key, kept = jax.random.key(3), tmp_path / "partial"
    expected = ws.log_likelihood(model, rows, SAMPLES, key=key)
    scores = infer_rows(model, rows, 20, key).log_likelihood
    reached, again = [], []

    def stop_halfway(done, total):
        reached.append(done)
        if done >= total // 2:
            raise StoppedError

    with pools.working_on(workers=1):
        with pytest.raises(StoppedError):
            ws.log_likelihood(model, rows, SAMPLES, key=key, checkpoint=kept, progress=stop_halfway)
        found = ws.log_likelihood(
            model,
            rows,
            SAMPLES,
            key=key,
            checkpoint=kept,
            progress=lambda done, total: again.append(done),
        )
        np.testing.assert_array_equal(infer_rows(model, rows, 20, key).log_likelihood, scores)
    np.testing.assert_array_equal(found.values, expected.values)
    assert len(reached) + len(again) == ROWS
    assert again[0] == reached[-1] + 1


def test_a_cluster_that_is_not_there_or_not_meant_is_refused(tmp_path, capsys):
    with pytest.raises(UsageError, match="give one of the two"), pools.working_on("tcp://x:1", 2):
        pass
    assert main(["train", "digits", "--model", "sbn/sbn 5", "--workers", "2"]) == 2
    assert "give several learning rates" in capsys.readouterr().err


def die_once(common, part):
    """Kills its worker at the first try, which the file takes note of."""
    folder, number = common, part
    marker = folder / str(number)
    if number == 2 and not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


@pytest.mark.slow
def test_the_part_of_a_killed_worker_is_done_again(tmp_path):
    with pools.working_on(workers=2):
        pool = pools.current()
        found = dict(pool.each(die_once, tmp_path, ((n, n) for n in range(6))))
    assert found == {n: n * n for n in range(6)}
    assert (tmp_path / "2").exists()


@pytest.mark.slow
def test_learning_rates_chosen_side_by_side_are_chosen_as_one_after_another(tmp_path):
    words = ["train", "digits", "--model", "sbn/sbn 5-10", "--epochs", "3", "--quiet"]
    rates = ["--learning-rate", "0.001,0.01,0.03", "--no-diagnostics"]
    assert main([*words, *rates, "--out", str(tmp_path / "one")]) == 0
    assert main([*words, *rates, "--out", str(tmp_path / "many"), "--workers", "2"]) == 0
    one, many = (ws.load_run(tmp_path / name) for name in ("one", "many"))
    assert (tmp_path / "one" / "choice.json").read_text() == (
        tmp_path / "many" / "choice.json"
    ).read_text()
    assert isinstance(one.model, HelmholtzMachine)
    for a, b in zip(jax.tree.leaves(one.model), jax.tree.leaves(many.model), strict=True):
        np.testing.assert_array_equal(a, b)
    evaluation = ["evaluate", "--samples", "50", "--quiet", "--json", "--out"]
    main([*evaluation, str(tmp_path / "1.npz"), str(tmp_path / "one")])
    main([*evaluation, str(tmp_path / "2.npz"), str(tmp_path / "one"), "--workers", "2"])
    with np.load(tmp_path / "1.npz") as alone, np.load(tmp_path / "2.npz") as shared:
        for name in alone:
            np.testing.assert_array_equal(alone[name], shared[name])
