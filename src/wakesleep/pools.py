"""Work on other processes and machines by Dask: blocks of rows, or candidates, as tasks.

Within `working_on` evaluations, scores and choices among candidates send their parts to a Dask
cluster. A part says all that its result depends on, its randomness too, so that the result is the
same whoever computes it. Dask does a part again whose worker was lost.
"""

import copyreg
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
import numpy as np

from wakesleep.errors import UsageError, WakesleepError
from wakesleep.extras import need

IN_FLIGHT = 4
"""Parts that are sent to each worker before it has done one."""
SECONDS_TO_CONNECT = 20
HERE = "127.0.0.1:0"
"""Any free port that only this machine sees."""

_POOL: ContextVar["Pool | None"] = ContextVar("pool", default=None)


class Pool:
    """A Dask cluster, by its client."""

    def __init__(self, client: Any):
        self._client = client

    def each(
        self,
        function: Callable[..., Any],
        common: Any,
        parts: Iterable[tuple[int, Any]],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Generator[tuple[int, Any], None, None]:
        """(number, function(common, part)) as they are done; nothing more once asked to stop.

        Args:
            function: of a module, by whose name a worker finds it.
            common: sent once to each worker that needs it.
            parts: with their numbers.
            should_stop: asked every second.
        """
        from distributed import TimeoutError, wait

        coming = iter(parts)
        # A task and not scattered data: it is made again where a worker is lost that had it.
        shared = self._client.submit(_given, common, pure=False)
        running: dict[Any, int] = {}

        def start() -> None:
            most = IN_FLIGHT * max(1, len(self._client.nthreads()))
            while len(running) < most:
                following = next(coming, None)
                if following is None:
                    return
                number, part = following
                running[self._client.submit(function, shared, part, pure=False)] = number

        try:
            start()
            while running and not should_stop():
                try:
                    wait(list(running), timeout=1, return_when="FIRST_COMPLETED")
                except TimeoutError:
                    continue
                yield from _fetched(running)
                start()
        finally:
            self._client.cancel(list(running))


@contextmanager
def working_on(scheduler: str | None = None, workers: int = 0) -> Iterator[None]:
    """Within this block parts go to a Dask cluster: one that is there, or one on this machine.

    Args:
        scheduler: the address of a cluster's scheduler.
        workers: processes of a cluster on this machine; neither for no cluster at all.
    """
    if scheduler is None and not workers:
        yield
        return
    if scheduler is not None and workers:
        raise UsageError("--dask names a cluster and --workers starts one: give one of the two")
    if workers < 0:
        raise UsageError(f"--workers must be 1 or more, not {workers}")
    copyreg.pickle(type(jax.random.key(0)), _as_plain)
    with _client(scheduler, workers) as client:
        token = _POOL.set(Pool(client))
        try:
            yield
        finally:
            _POOL.reset(token)


def current() -> Pool | None:
    """The cluster that parts go to."""
    return _POOL.get()


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    need("dask", "distributed")
    from distributed import Client, LocalCluster

    if scheduler is None:
        # Dask would have its page seen from other machines, and two clusters quarrel over its port.
        with (
            LocalCluster(workers, threads_per_worker=1, dashboard_address=HERE) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {scheduler} ({error}): `dask scheduler` starts one"
        ) from None
    with client:
        _check_versions(client, scheduler)
        yield client


def _check_versions(client: Any, scheduler: str) -> None:
    from importlib.metadata import version

    found = client.run(version, "wakesleep", on_error="return")
    if not found:
        raise UsageError(f"the Dask cluster at {scheduler} has no workers: start `dask worker`")
    for worker, theirs in found.items():
        if theirs != version("wakesleep"):
            raise UsageError(
                f"the Dask worker {worker} has not wakesleep {version('wakesleep')}, but {theirs}: "
                "all must have the same"
            )


def _fetched(running: dict[Any, int]) -> list[tuple[int, Any]]:
    """Take out the parts that are done."""
    return [(running.pop(each), _result(each)) for each in list(running) if each.done()]


def _result(future: Any) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise WakesleepError(
            f"a part was lost with its worker {1 + error.allowed_failures} times, so it is left "
            "at that: the workers may have too little memory"
        ) from None
    finally:
        # What we have, Dask need not compute again when the worker is lost that made it.
        future.release()


def _given(common: Any) -> Any:
    return common


def _as_plain(key: Any) -> tuple[Any, ...]:
    """A JAX key for the way: Dask's pickle knows arrays, but not keys."""
    return _as_key, (np.asarray(jax.random.key_data(key)), str(jax.random.key_impl(key)))


def _as_key(data: Any, kind: str) -> Any:
    return jax.random.wrap_key_data(data, impl=kind)
