"""The processes of one training: what they tell each other, and arrays that all of them have."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from wakesleep import shares
from wakesleep.processes.lines import Line, LostProcessError


class Team:
    """One process and what it knows of the others; `ALONE` is a training by one process.

    Everything here is called by all processes in the same order.

    Attributes:
        index: this process's number; number 0 leads: it writes the folder.
        count: how many there are.
        lines: process 0's to all others, or another's to process 0.
        mesh: of one device for each process; None alone.
    """

    def __init__(
        self, index: int = 0, count: int = 1, lines: Sequence[Line] = (), mesh: Mesh | None = None
    ):
        self.index, self.count, self.lines, self.mesh = index, count, tuple(lines), mesh

    @property
    def leads(self) -> bool:
        """Whether this process writes the folder and talks to people."""
        return self.index == 0

    def by_all(self, value: Any) -> list[Any]:
        """What each process said here, in their order; plain values, as JSON has them.

        None goes on before all have come here.
        """
        if self.count == 1:
            return [value]
        if not self.leads:
            return self._told(value)
        said = [value]
        for number, line in enumerate(self.lines, 1):
            try:
                said.append(line.receive())
            except LostProcessError as error:
                self._report(number)
                raise LostProcessError(self._gone(number, str(error))) from None
        for number, line in enumerate(self.lines, 1):
            try:
                line.send({"said": said})
            except LostProcessError as error:
                raise LostProcessError(self._gone(number, str(error))) from None
        return said

    def by_leader(self, value: Any) -> Any:
        """What process 0 said here."""
        return self.by_all(value if self.leads else None)[0]

    def any(self, flag: bool) -> bool:
        """Whether it is so for any process."""
        return any(self.by_all(flag))

    def close(self) -> None:
        """Hang up."""
        for line in self.lines:
            line.close()

    def everywhere(self, tree: PyTree) -> PyTree:
        """Arrays that are the same in every process, for a call that all take part in."""
        return self._placed(tree, PartitionSpec())

    def shared_rows(self, tree: PyTree) -> PyTree:
        """Arrays `[S, B, ...]` of this process's rows as a part of those of all."""
        return self._placed(tree, PartitionSpec(None, shares.AXIS))

    def here(self, tree: PyTree) -> PyTree:
        """Arrays that are the same everywhere, as this process's own."""
        if self.mesh is None:
            return tree
        return jax.tree.map(
            lambda leaf: leaf.addressable_data(0) if eqx.is_array(leaf) else leaf, tree
        )

    def from_leader(self, tree: PyTree) -> PyTree:
        """A tree of arrays as process 0 has it; of the others' only the shapes matter."""
        if self.mesh is None:
            return tree

        def sent(tree: PyTree) -> PyTree:
            leads = lax.axis_index(shares.AXIS) == 0
            return jax.tree.map(
                lambda leaf: _summed(jnp.where(leads, leaf, jnp.zeros_like(leaf))), tree
            )

        whole = PartitionSpec()
        call = jax.shard_map(
            sent, mesh=self.mesh, in_specs=(whole,), out_specs=whole, check_vma=False
        )
        return self.together(jax.jit(call), self.everywhere(tree))

    def together(self, call: Callable[..., PyTree], *arguments: Any) -> PyTree:
        """The arrays that a compiled call gives which all take part in."""
        if self.mesh is None:
            return call(*arguments)
        try:
            return self.here(jax.block_until_ready(call(*arguments)))
        except jax.errors.JaxRuntimeError as error:
            reason = str(error).splitlines()[0].rsplit(": ", 1)[-1]
            raise LostProcessError(
                f"a process of {self.count} is gone: process {self.index} lost it ({reason})"
            ) from None

    def part(self, rows: int) -> slice:
        """This process's rows of a minibatch of so many."""
        own = rows // self.count
        return slice(self.index * own, (self.index + 1) * own)

    def _told(self, value: Any) -> list[Any]:
        (line,) = self.lines
        try:
            line.send(value)
            heard: dict[str, Any] = line.receive()
        except LostProcessError as error:
            raise LostProcessError(self._gone(0, str(error))) from None
        if "gone" in heard:
            raise LostProcessError(self._gone(heard["gone"], "process 0 said so"))
        said: list[Any] = heard["said"]
        return said

    def _report(self, number: int) -> None:
        """Tell the others which one is gone."""
        for other, line in enumerate(self.lines, 1):
            if other != number:
                try:
                    line.send({"gone": number})
                except LostProcessError:
                    continue

    def _gone(self, number: int, reason: str) -> str:
        return f"process {number} of {self.count} is gone ({reason})"

    def _placed(self, tree: PyTree, spec: PartitionSpec) -> PyTree:
        if self.mesh is None:
            return tree
        sharding, device = NamedSharding(self.mesh, spec), self.mesh.local_devices[0]

        def placed(leaf: Any) -> Any:
            if not eqx.is_array(leaf):
                return leaf
            own = jax.device_put(leaf, device)
            shape = list(own.shape)
            if shares.AXIS in spec:
                shape[1] *= self.count
            return jax.make_array_from_single_device_arrays(tuple(shape), sharding, [own])

        return jax.tree.map(placed, tree)


def _summed(leaf: jax.Array) -> jax.Array:
    """Over processes; gloo adds no booleans and no bytes."""
    narrow = leaf.dtype == bool or leaf.dtype.itemsize < 4
    wide = leaf.astype(jnp.int32) if narrow else leaf
    return lax.psum(wide, shares.AXIS).astype(leaf.dtype)


ALONE = Team()
