"""The page on speed is what the results say, of every instruction set there are some of."""

import json
import shutil

from benchmarks.machine import RESULTS
from benchmarks.page import DOCS, page


def test_the_page_in_the_docs_is_the_results():
    assert (DOCS / "benchmarks.md").read_text() == page()


def test_results_of_another_instruction_set_stand_beside(tmp_path):
    for name in ("step", "kernels", "likelihood", "peers"):
        shutil.copy(RESULTS / f"{name}.json", tmp_path)
    other = json.loads((RESULTS / "step.json").read_text())
    other |= {"kernels": {"in_use": "native", "reason": "compiled kernels, avx2 instructions"}}
    for row in other["rows"]:
        row |= {"ms_per_step": 98765.0, "ms_by_optax": 43210.0}
    (tmp_path / "step-avx2.json").write_text(json.dumps(other))
    # What a benchmark left that was run in part is no result.
    (tmp_path / "step-partial.json").write_text("{}")
    text = page(tmp_path)
    assert "compiled kernels, avx2 instructions" in text
    assert text.count("| 98765.00 |") == text.count("| 43210.00 |") == len(other["rows"])
    first = json.loads((tmp_path / "step.json").read_text())["rows"][0]
    assert f"| {first['ms_per_step']:.2f} |" in text


def test_what_a_person_waits_for_and_how_a_step_grows_have_their_sentences(tmp_path):
    step = json.loads((RESULTS / "step.json").read_text())
    step["growth"] = {"samples": 50, "small": 25, "large": 100, "ratio": 4.321}
    (tmp_path / "step.json").write_text(json.dumps(step))
    seconds = {"first_epoch_seconds": 61.5, "first_epoch_again_seconds": 62.5}
    seconds |= {"fit_seconds": 63.5, "fit_again_seconds": 64.5}
    named = {"nothing_compiled": 65.5, "new_process": 66.25, "again": 67.25}
    found = {**step, "model": "sbn 9", "named_fit_seconds": named, **seconds}
    (tmp_path / "start.json").write_text(json.dumps(found))
    text = page(tmp_path)
    assert "a step of 100 examples takes 4.32 times that of 25" in text
    section = text.split("## The first second\n")[1].split("\n## Kernels\n")[0]
    assert "(`sbn 9`)" in section
    assert all(f"{value:.1f} s" in section for value in seconds.values())
    assert all(text in section for text in ("65.5 s", "66.25 s", "67.25 s"))
