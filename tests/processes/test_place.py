"""Where a process is, by what it was given or by what its launcher says."""

import pytest

from wakesleep.errors import UsageError
from wakesleep.processes.place import Place, place_by_launcher

SLURM = {
    "SLURM_JOB_ID": "4097",
    "SLURM_STEP_NODELIST": "node[07-08],other",
    "SLURM_NTASKS": "3",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
}
OPEN_MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}


@pytest.fixture
def launched(monkeypatch):
    def by(variables):
        for name in (*SLURM, *OPEN_MPI):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return place_by_launcher()

    return by


def test_slurm_and_open_mpi_say_which_process_this_is(launched):
    slurm = launched(SLURM)
    assert (slurm.index, slurm.count) == (2, 3)
    assert slurm.coordinator.startswith("node07:")
    mpi = launched(OPEN_MPI)
    assert (mpi.index, mpi.count) == (1, 2)
    assert mpi.coordinator.startswith("10.96.0.1:")


@pytest.mark.parametrize(
    "variables",
    [{}, SLURM | {"SLURM_NTASKS": "1"}, {"SLURM_NTASKS": "3"}],
    ids=["no launcher", "one task", "an allocation without srun"],
)
def test_without_a_launcher_of_several_a_process_is_alone(launched, variables):
    assert launched(variables) is None


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("nowhere", 0, 2), "HOST:PORT"),
        (("host:0", 0, 2), "HOST:PORT"),
        (("host:4711", 2, 2), "from 0 to 1"),
    ],
)
def test_a_place_that_cannot_be_is_refused(place, said):
    with pytest.raises(UsageError, match=said):
        Place(*place)
