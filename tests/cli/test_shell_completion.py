"""The completion scripts in the shells themselves, where they are installed."""

import shutil
import subprocess

import pytest

from wakesleep.cli import main

ASK = {
    "bash": "source {script}; COMP_WORDS=({words}); COMP_CWORD={last}; _tyro_wakesleep; "
    'printf "%s\\n" "${{COMPREPLY[@]}}"',
    "fish": 'source {script}; complete -C "{line}" | cut -f 1',
}


def script(shell, capsys, folder):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} is installed here")
    assert main(["completion", shell]) == 0
    path = folder / f"completion.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def completed(shell, path, words, folder):
    quoted = " ".join(f"'{word}'" for word in words)
    line = " ".join(words)
    asked = ASK[shell].format(script=path, words=quoted, last=len(words) - 1, line=line)
    run = [shell, "-c", asked]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", ASK)
def test_commands_options_choices_and_files_are_completed(shell, capsys, tmp_path):
    path = script(shell, capsys, tmp_path)
    (tmp_path / "my-run").mkdir()

    def ask(*words):
        return completed(shell, path, ("wakesleep", *words), tmp_path)

    assert ask("sa") == {"sample"}
    assert ask("evaluate", "--sam") == {"--samples"}
    assert ask("sample", "run", "--preview", "") >= {"auto", "yes", "no"}
    assert ask("data", "fe") == {"fetch"}
    assert {name.rstrip("/") for name in ask("report", "my-")} == {"my-run"}
    assert {name.rstrip("/") for name in ask("train", "--out", "my-")} == {"my-run"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_in_the_shell_s_language(shell, capsys, tmp_path):
    path = script(shell, capsys, tmp_path)
    files = "string match -q" if shell == "fish" else "[[ -z "
    assert files in path.read_text(), "files are offered for run folders and data too"
    subprocess.run([shell, "-n", str(path)], check=True)


def test_another_shell_is_a_usage_error():
    with pytest.raises(SystemExit) as caught:
        main(["completion", "csh"])
    assert caught.value.code == 2
