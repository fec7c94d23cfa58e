"""Starting a run and going on with it, by its config or with a model and data given in Python."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from wakesleep.architecture import MIXTURE
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.inference.rows import check_rows
from wakesleep.models import BitModel, LatentModel
from wakesleep.options import Number, Whole, check_declared
from wakesleep.processes.team import ALONE, Team
from wakesleep.recipe import Recipe
from wakesleep.runs.checkpoints import (
    Checkpointer,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from wakesleep.runs.config import FUNCTION, GIVEN, DataConfig, RunConfig
from wakesleep.runs.data_record import record_data, write_record
from wakesleep.runs.diagnostics import write_diagnostics
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.kept_pretraining import PretrainingFolder, first_model
from wakesleep.runs.loading import Run, load_run
from wakesleep.runs.model_files import model_name
from wakesleep.runs.observers import BestEffort, MetricsLogger, SamplePictures
from wakesleep.runs.schema_json import write_schema
from wakesleep.runs.table_numbers import write_table_numbers
from wakesleep.runs.tensorboard_log import TensorBoardLogger
from wakesleep.runs.together import Training, lead
from wakesleep.runs.yardstick import write_yardstick
from wakesleep.training.automatic import is_automatic
from wakesleep.training.events import Observer, Watched
from wakesleep.training.session import FitResult, fit_model
from wakesleep.training.snapshot import Snapshot, first_snapshot


@dataclass(frozen=True)
class RunOptions:
    """Who is told of a run's progress, and what it leaves on the disk beside its results.

    Attributes:
        observers: functions told of every event.
        should_stop: asked after every compiled call; True interrupts.
        checkpoint_interval: seconds between checkpoints, at the end of an epoch.
        pictures_every: epochs between pictures of samples; 0 for none.
        diagnostics: whether to keep, at the end, what a report shows of the model.
        on_data: told of the data of a new run before its training begins.
        team: the processes that train together, of which this one leads.
    """

    observers: Sequence[Observer] = ()
    should_stop: Callable[[], bool] = lambda: False
    checkpoint_interval: Annotated[float | int, Number()] = 30.0
    pictures_every: Annotated[int, Whole()] = 0
    diagnostics: bool = True
    on_data: Callable[[Dataset], None] = lambda data: None
    team: Team = ALONE

    def __post_init__(self) -> None:
        check_declared(self)


@dataclass(frozen=True)
class _Job:
    """A run about to be trained; `model` is where it starts from if nothing is trained yet."""

    folder: RunFolder
    config: RunConfig
    data: Dataset
    model: LatentModel


def start_run(
    path: Path, config: RunConfig, options: RunOptions | None = None, *, overwrite: bool = False
) -> FitResult:
    """Train into a new folder."""
    folder = RunFolder(path)
    folder.check_usable()
    config = dataclasses.replace(config, data=config.data.resolved())
    data = config.data.load()
    if options:
        options.on_data(data)
    job = _Job(folder, config, data, first_model(config.model, data, config.recipe, config.seed))
    with folder.locked():
        if folder.config_path.exists():
            if not overwrite:
                raise UsageError(
                    f"{path} holds a run already: --resume {path} continues it, "
                    "--overwrite replaces it"
                )
            clear(folder)
        write_start(folder, config, data)
        return _train(job, None, options or RunOptions())


def resume_run(
    path: Path,
    options: RunOptions | None = None,
    *,
    extend: int = 0,
    data: Dataset | str | Path | None = None,
) -> FitResult | None:
    """Go on with a run as if it had never stopped; None where it is finished already.

    `extend` adds a phase of that many epochs, like the last one, to the recipe. `data` is where
    the data are now, if not where they were; the folder takes note of it.
    """
    run = load_run(path, data)
    if run.config.model == FUNCTION:
        raise UsageError(
            f"{path} trains a model given in Python: go on with ws.fit_run(path, model, data)"
        )
    if extend and run.config.model.startswith(MIXTURE):
        raise UsageError(
            f"{path} holds a mixture, which is not trained further: leave --extend out"
        )
    if run.config.model.startswith(MIXTURE) and latest_checkpoint(run.folder) is None:
        raise UsageError(
            f"{path} holds a mixture, which is not trained: go on with the runs of its components, "
            "then mix them again"
        )
    with run.folder.locked():
        snapshot = _newest(run, None)
        config = run.config
        if extend:
            config = dataclasses.replace(config, recipe=extended(config.recipe, extend))
        if config != run.folder.config() or not run.folder.data_path.exists():
            write_start(run.folder, config, run.data)
        if _is_done(snapshot, config.recipe):
            return None
        if snapshot is None:
            model: LatentModel = first_model(config.model, run.data, config.recipe, config.seed)
        else:
            model = snapshot.arrays.state.model
        job = _Job(run.folder, config, run.data, model)
        return _train(job, snapshot, options or RunOptions())


def fit_run(
    path: str | Path,
    model: LatentModel | str,
    data: Dataset,
    recipe: Recipe | None = None,
    *,
    seed: int = 0,
    options: RunOptions | None = None,
) -> FitResult:
    """Train as `ws.fit` does, in a run folder; or go on with the run that is there.

    Args:
        path: the folder. If it holds an unfinished run of the same recipe, seed and data,
            training goes on where that stopped, to the same bits.
        model: any latent model, or an architecture. The folder keeps a model's arrays; the
            functions of a `FunctionModel` are given again to go on or to `ws.load_run`.
        data: the data set, which is also given again.
        recipe: how; None for the default.
        seed: of everything random.
        options: observers, checkpoints and pictures.
    """
    if is_automatic(model):
        raise UsageError("fit_run trains one model: ws.fit(data) or `wakesleep train` choose one")
    chosen, folder = recipe or Recipe(), RunFolder(Path(path))
    folder.check_usable()
    start = first_model(model, data, chosen, seed) if isinstance(model, str) else model
    check_rows(start, data.train, f"training set of '{data.name}'")
    config = RunConfig(DataConfig(GIVEN), model_name(start), seed, chosen)
    job = _Job(folder, config, data, start)
    with folder.locked():
        snapshot: Snapshot | None = None
        if folder.config_path.exists():
            snapshot = _snapshot_to_go_on_from(job)
        else:
            if not (isinstance(model, str) and chosen.pretrain):
                # A model's own parameters are in no config: they are in this first checkpoint.
                snapshot = first_snapshot(start, data, chosen, seed)
                save_checkpoint(folder, snapshot)
            write_start(folder, config, data)
        return _train(job, snapshot, options or RunOptions())


def extended(recipe: Recipe, epochs: int) -> Recipe:
    """The recipe with one more phase, like its last, of so many epochs."""
    phases = recipe.phases or ({},)
    return dataclasses.replace(recipe, phases=(*phases, {**phases[-1], "epochs": epochs}))


def write_start(folder: RunFolder, config: RunConfig, data: Dataset) -> None:
    """Write down what is trained on what; the config comes last and makes it a run folder."""
    write_schema(folder.schema_path, data.schema)
    write_record(folder.data_path, record_data(data))
    folder.write_config(config)


def _snapshot_to_go_on_from(job: _Job) -> Snapshot | None:
    """That of the run in the folder, if it is the same run and not at its end."""
    path = job.folder.path
    run = load_run(path, job.data)
    for what in ("model", "seed", "recipe"):
        if getattr(run.config, what) != getattr(job.config, what):
            raise UsageError(
                f"{path} holds a run of another {what}: choose another folder or move it away"
            )
    snapshot = _newest(run, job.model)
    if _is_done(snapshot, run.config.recipe):
        raise UsageError(f"{path} holds a finished run: ws.load_run reads it")
    return snapshot


def _newest(run: Run, template: LatentModel | None) -> Snapshot | None:
    """The newest checkpoint, to go on with the data it was trained on and no other."""
    rows, checkpoint = run.data.train, latest_checkpoint(run.folder)
    if checkpoint is None:
        return None
    return load_checkpoint(checkpoint, run.config.recipe, rows, template)


def _is_done(snapshot: Snapshot | None, recipe: Recipe) -> bool:
    """Whether nothing is left to do: a recipe may have grown after a run's end."""
    if snapshot is None:
        return False
    return snapshot.finished and snapshot.position.phase == len(recipe.expand())


def _train(job: _Job, snapshot: Snapshot | None, options: RunOptions) -> FitResult:
    if snapshot is None and job.config.recipe.pretrain:
        kept = PretrainingFolder(job.folder, options.checkpoint_interval)
        watched = Watched(options.observers, options.should_stop, kept)
        snapshot, done = kept.pretrain(job.config, job.data, job.model, watched)
        if not done:
            return FitResult(job.model, (), snapshot)
    # The checkpoint comes last: whatever another observer wrote of an epoch is there before it.
    observers: tuple[Observer, ...] = (
        MetricsLogger(job.folder),
        BestEffort(TensorBoardLogger(job.folder), "TensorBoard events"),
        BestEffort(
            SamplePictures(job.folder, job.data, options.pictures_every), "pictures of samples"
        ),
        Checkpointer(job.folder, options.checkpoint_interval, notes_of(job.data)),
        *options.observers,
    )
    recipe, seed = job.config.recipe, job.config.seed
    if options.team.count > 1:
        start = snapshot or first_snapshot(job.model, job.data, recipe, seed)
        training = Training(job.config, start, job.data, record_data(job.data))
        result = lead(options.team, training, observers, options.should_stop)
    else:
        result = fit_model(
            job.model,
            job.data,
            recipe,
            seed=seed,
            observers=observers,
            resume=snapshot,
            should_stop=options.should_stop,
            progress=False,
        )
    finished = options.diagnostics and result.snapshot.finished
    if finished and isinstance(result.model, BitModel):
        write_end(job.folder, result.model, job.data)
    return result


def write_end(folder: RunFolder, model: BitModel, data: Dataset) -> None:
    """Write what a report shows of the model in the folder, and what new rows are compared with."""
    write_diagnostics(folder, model, data)
    if data.schema is not None:
        write_table_numbers(folder, data, model, write_yardstick(folder, model, data))


def notes_of(data: Dataset) -> dict[str, Any]:
    """What a model's file says beside the model: the schema travels with it."""
    return {} if data.schema is None else {"schema": data.schema.to_dict()}


def clear(folder: RunFolder) -> None:
    """Remove what a run wrote and nothing else that may be in the folder."""
    for name in ("checkpoints", "pretraining", "samples", "tensorboard"):
        shutil.rmtree(folder.path / name, ignore_errors=True)
    for path in (
        folder.metrics_path,
        folder.model_path,
        folder.data_path,
        folder.schema_path,
        folder.yardstick_path,
        folder.evaluation_path,
        folder.evaluation_path.with_suffix(".npz"),
        folder.diagnostics_path,
        folder.table_path,
        folder.diverged_path,
        *folder.path.glob(".evaluation-*.partial"),
    ):
        path.unlink(missing_ok=True)
