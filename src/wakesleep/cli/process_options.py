"""Options of a training by several processes, and what they come to."""

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from wakesleep.errors import UsageError

if TYPE_CHECKING:
    from wakesleep.processes.place import Place
    from wakesleep.processes.team import Team
    from wakesleep.recipe import Recipe
    from wakesleep.runs.config import DataConfig


@dataclass(frozen=True)
class ProcessOptions:
    """Which processes train together."""

    processes: int = 1
    """Train by so many processes on this machine, each with its share of the cores."""
    coordinator: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None
    """Train on several machines: where process 0 is. SLURM's srun and Open MPI's mpirun need no
    option at all."""
    process_id: int | None = None
    """With --coordinator: which process this is, from 0."""
    process_count: int | None = None
    """With --coordinator: how many there are; 1 to train alone under SLURM or Open MPI."""
    shares: int | None = None
    """Cut every minibatch into so many equal shares: as many as processes unless given, and two for
    one process with 10,000 rows or more. Any number of processes that divides it gives the same
    model, bit for bit."""

    def cut(self, recipe: "Recipe", team: "Team") -> "Recipe":
        """The recipe of a new run by these processes."""
        if self.shares or team.count > 1:
            shares = self.shares or recipe.shares_among(team.count)
            recipe = dataclasses.replace(recipe, shares=shares)
        return recipe

    def run(
        self,
        settings: Mapping[str, str],
        folder: Path,
        lead: "Callable[[Team], int]",
        files: "DataConfig | str | None",
    ) -> int:
        """The command as process 0, which has the folder, or as another, which does as 0 says.

        Args:
            settings: what must be the same for all, by what it is called.
            folder: process 0's, to be named where another is lost.
            lead: the whole command.
            files: where this machine has the data, if not where process 0 has them.
        """
        with self._team({**settings, "--shares": str(self.shares)}) as team:
            from wakesleep.processes.lines import LostProcessError

            if not team.leads:
                return _follow(team, files)
            try:
                code = lead(team)
            except LostProcessError as error:
                how = f"go on with: wakesleep train --resume {folder}"
                raise LostProcessError(f"{error}; what was done is saved, {how}") from None
            except BaseException:
                _dismiss(team)
                raise
            _dismiss(team)
            return code

    @contextmanager
    def _team(self, settings: Mapping[str, str]) -> "Iterator[Team]":
        """All processes of the training, once they are there and alike."""
        from wakesleep.processes.launching import launched

        self._check()
        if self.processes > 1:
            words = [*sys.argv[1:], "--processes", "1"]
            with launched(self.processes, words) as place, _joined(place, settings) as team:
                yield team
        else:
            with _joined(self._place(), settings) as team:
                yield team

    def _check(self) -> None:
        if self.processes < 1:
            raise UsageError(f"--processes must be 1 or more, not {self.processes}")
        if self.processes > 1 and (self.coordinator or self.process_count):
            raise UsageError("--processes is for one machine: leave --coordinator out, or it")
        given = (self.coordinator, self.process_id, self.process_count)
        if any(each is not None for each in given) and None in given and given[1:] != (None, 1):
            raise UsageError("--coordinator, --process-id and --process-count go together")

    def _place(self) -> "Place | None":
        from wakesleep.processes.place import Place, place_by_launcher

        if self.process_count == 1:
            return None
        if self.coordinator is None or self.process_id is None or self.process_count is None:
            return place_by_launcher()
        return Place(self.coordinator, self.process_id, self.process_count)


def _follow(team: "Team", files: "DataConfig | str | None") -> int:
    from wakesleep.runs.interruption import stop_on_interrupt
    from wakesleep.runs.together import Follower

    with stop_on_interrupt() as stop:
        return Follower(team, files, stop).run()


def _dismiss(team: "Team") -> None:
    if team.count > 1:
        from wakesleep.runs.together import dismiss

        dismiss(team)


@contextmanager
def _joined(place: "Place | None", settings: Mapping[str, str]) -> "Iterator[Team]":
    if place is None:
        from wakesleep.processes.team import ALONE

        yield ALONE
        return
    # Before JAX is loaded: what its runtime has to say is for its developers.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from wakesleep.processes.joining import join

    team = join(place, settings)
    try:
        yield team
    finally:
        team.close()
