"""Every command shows an example that is one."""

import shlex
import typing

import pytest

from wakesleep.cli import Command, parse

COMMANDS = [typing.get_args(one)[0] for one in typing.get_args(Command)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_help_shows_an_example_that_parses(command, capsys):
    (line,) = [one for one in command.__doc__.splitlines() if "Example: " in one]
    program, name, *words = shlex.split(line.partition("Example: ")[2])
    assert program == "wakesleep"
    assert type(parse([name, *words])) is command
    with pytest.raises(SystemExit) as ended:
        parse([name, "--help"])
    assert ended.value.code == 0
    assert f"Example: wakesleep {name}" in capsys.readouterr().out


def test_the_commands_that_were_promised_are_there():
    names = {shlex.split(one.__doc__.partition("Example: ")[2])[1] for one in COMMANDS}
    promised = "train score sample impute embed evaluate report explore reproduce data models info"
    assert set(promised.split()) <= names
