"""The command line: thin commands over the library. JAX is loaded only when a command runs."""

import dataclasses
import sys
from typing import Annotated

import tyro

from wakesleep.cli.bootstrap_command import Bootstrap
from wakesleep.cli.compare import Compare
from wakesleep.cli.data import Data
from wakesleep.cli.embed import Embed
from wakesleep.cli.evaluate import Evaluate
from wakesleep.cli.explore import Explore
from wakesleep.cli.failures import exit_code, sentence, warnings_as_sentences
from wakesleep.cli.impute import Impute
from wakesleep.cli.info import Info
from wakesleep.cli.mix import Mix
from wakesleep.cli.models import Models
from wakesleep.cli.report import Report
from wakesleep.cli.reproduce import Reproduce
from wakesleep.cli.run_options import INTERRUPTED
from wakesleep.cli.sample import Sample
from wakesleep.cli.schema import Schema
from wakesleep.cli.score import Score
from wakesleep.cli.shell_completion import Completion
from wakesleep.cli.show import Show
from wakesleep.cli.train import Train
from wakesleep.compilation_cache import keep_compiled
from wakesleep.errors import WakesleepError
from wakesleep.options import check_declared
from wakesleep.processes.threads import enough_threads

Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Bootstrap, tyro.conf.subcommand("bootstrap")]
    | Annotated[Score, tyro.conf.subcommand("score")]
    | Annotated[Sample, tyro.conf.subcommand("sample")]
    | Annotated[Show, tyro.conf.subcommand("show")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Mix, tyro.conf.subcommand("mix")]
    | Annotated[Impute, tyro.conf.subcommand("impute")]
    | Annotated[Embed, tyro.conf.subcommand("embed")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Models, tyro.conf.subcommand("models")]
    | Annotated[Data, tyro.conf.subcommand("data")]
    | Annotated[Schema, tyro.conf.subcommand("schema")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Completion, tyro.conf.subcommand("completion")]
)

RENAMED = {"analyse": "bootstrap", "complete": "impute"}
"""Commands' names in the first release, and what they are now."""


def parse(words: list[str]) -> Command:
    """The command that was given; exits with help or with a usage error."""
    return tyro.cli(
        Command,
        prog="wakesleep",
        args=words,
        description="Deep directed generative models with binary latent variables. "
        "--debug anywhere shows a traceback on errors.",
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
    )


def _with_estimator_options(words: list[str]) -> list[str]:
    """`--estimator.samples 5` as `--estimator samples=5`: estimators' options are their own."""
    rewritten: list[str] = []
    coming = iter(words)
    for word in coming:
        name, equals, value = word.removeprefix("--estimator.").partition("=")
        if word.startswith("--estimator.") and name:
            rewritten += ["--estimator", f"{name}={value if equals else next(coming, '')}"]
        else:
            rewritten.append(word)
    return rewritten


def _with_new_name(words: list[str]) -> list[str]:
    """A command's former name is taken for one more release."""
    if not words or words[0] not in RENAMED:
        return words
    name = RENAMED[words[0]]
    message = f"wakesleep: '{words[0]}' is called '{name}' now, and its old name will go"
    print(message, file=sys.stderr)
    return [name, *words[1:]]


def _check_options(command: object) -> None:
    """Every option within its declared range, before any work; those of a subcommand too."""
    check_declared(command)
    for value in vars(command).values():
        if dataclasses.is_dataclass(value):
            _check_options(value)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 for success, 1 for failure, 2 for wrong usage."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words
    words = _with_new_name([word for word in words if word != "--debug"])
    words = _with_estimator_options(words)
    try:
        command = parse(words)
        _check_options(command)
        keep_compiled()
        enough_threads()
        with warnings_as_sentences():
            return command.run()
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: not an error of ours.
        sys.stderr.close()
        return 0
    except (WakesleepError, OSError, MemoryError) as error:
        if debug:
            raise
        print(f"wakesleep: {sentence(error)}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        print("wakesleep: interrupted", file=sys.stderr)
        return INTERRUPTED
