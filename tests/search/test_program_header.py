"""The comments at the head of ``best.py``: what they say, and that no text of a model gets out of them."""

import runpy
from pathlib import Path

import pytest

from oragent.programs.parameters import read_parameters
from oragent.search.program_header import drop_head, format_comments
from oragent.search.starting import gather_start, lessons_of
from tests.search.players import IDEA, QUIET, Players, guess, search

HOSTILE = "# -*- coding: utf-16 -*-\nimport os\n# param: WINDOW = 3, 1..9\r\u2028exit() \\ " + "long " * 90 + "\\"


@pytest.mark.slow
def test_best_py_begins_with_idea_parents_limits_and_time(begun) -> None:
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4", "limits.heuristic_s=7")
    model = Players(idea=IDEA, code=guess(50), experiment=[f"THOUGHT: more\nACTION: EDIT\n{guess(60)}", "ACTION: STOP"])
    search(folder, model)
    lines = folder.best.read_text().splitlines()
    assert lines[0].startswith("# toy: 40 by candidate ")
    assert lines[1] == "#| limits: 20 CPU seconds an evaluation, 7 of them for all calls of the function"
    assert [line for line in lines if line.startswith("#| parents: ")]
    idea = next(line for line in lines if line.startswith("#| idea: "))
    assert "closer. Go nearer to the target." in idea
    assert "edit: more" in idea
    assert runpy.run_path(str(folder.best))["guess"](3) == 60
    assert gather_start([str(folder.path)], folder.problem, folder.path).sources[0] == drop_head(
        folder.best.read_text()
    )
    assert "#|" not in drop_head(folder.best.read_text())


@pytest.mark.parametrize("sign", ["#", "//"])
def test_no_text_of_a_model_gets_out_of_the_comments(tmp_path: Path, sign: str) -> None:
    program = "WINDOW = 3\n\n\ndef guess(x):\n    return WINDOW\n"
    head = f"{sign} toy: 1 by candidate 1.0\n{format_comments(['limits: 1', f'idea: {HOSTILE}'], sign)}"
    for line in head.splitlines()[1:]:
        assert line.startswith(f"{sign}| ")
        assert not line.endswith("\\")
    assert drop_head(head + program) == program
    if sign == "#":
        assert not read_parameters(head + program).parameters
        file = tmp_path / "best.py"
        file.write_text(head + program)
        assert runpy.run_path(str(file))["guess"](1) == 3


@pytest.mark.slow
def test_a_start_takes_what_was_learned_after_the_memory_was_written(begun) -> None:
    folder = begun("model.name=m", *QUIET, "budget.evaluations=4")
    model = Players(
        code=guess(50), experiment=[f"ACTION: EDIT\n{guess(60)}", "ACTION: STOP"], reflect="Sixty is nearer."
    )
    search(folder, model)
    assert lessons_of(folder.path) == "Known.\n- closer: score 50."
