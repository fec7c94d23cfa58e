"""`wakesleep completion`."""

import contextlib
import io
from dataclasses import dataclass
from typing import Literal

import tyro

_MARK = "__TYRO_COMPLETE_FILES__"

# tyro's scripts offer files for options alone; run folders and data are positional, so files are
# also what is left where nothing else fits. Each pair is (what tyro wrote, what it becomes).
_OR_NOTHING = (
    f'[[ "$completions" == "{_MARK}" ]]',
    f'[[ -z "$completions" || "$completions" == "{_MARK}" ]]',
)
_CHANGES = {
    "bash": (
        _OR_NOTHING,
        # tyro glues earlier words to the current one, in which case no file begins so.
        ('compgen -f -- "$cur"', 'compgen -f -- "${COMP_WORDS[COMP_CWORD]}"'),
        ("complete -F", "complete -o filenames -F"),
    ),
    "zsh": (_OR_NOTHING,),
    "fish": (
        # fish chooses among all that could stand here by itself, so files stand beside options.
        (
            '            printf "%s\\n" $line\n        end\n',
            '            printf "%s\\n" $line\n        end\n'
            "        if string match -q -- '*-h*' \"$results\"\n"
            "            __fish_complete_path (commandline -ct)\n        end\n",
        ),
    ),
}


@dataclass
class Completion:
    """Print a script that lets a shell complete commands, options and files.

    The page of commands in the documentation says where each shell looks for it.

    Example: wakesleep completion bash
    """

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]
    """Which shell."""

    def run(self) -> int:
        """Print the script."""
        from wakesleep.cli import parse

        script = io.StringIO()
        # The parser that reads the options also writes the script, and then exits.
        with contextlib.redirect_stdout(script), contextlib.suppress(SystemExit):
            parse(["--tyro-print-completion", self.shell])
        print(_with_files(script.getvalue(), self.shell), end="")
        return 0


def _with_files(script: str, shell: str) -> str:
    for before, after in _CHANGES[shell]:
        script = script.replace(before, after)
    return script
