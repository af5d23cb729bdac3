"""Stored programs scored again, by a problem that changed."""

from pathlib import Path

import pytest
import yaml

from oragent._base.errors import ProblemError
from oragent.report.held_out import RESCORED_FILE, rescore_run
from oragent.search.folder import reopen
from tests.search.players import Players, guess, search


@pytest.mark.slow
def test_scores_then_and_now_stand_side_by_side_and_the_run_stays(begun, toy: Path) -> None:
    numbers = iter([50, 70, 60])
    model = Players(code=lambda prompt: guess(next(numbers, 1)))
    folder = begun("model.name=m", "strategy.name=funsearch", "budget.evaluations=4", "strategy.window=1")
    search(folder, model)
    before = folder.database.read_bytes()
    evaluator = toy / "eval.py"
    evaluator.write_text(evaluator.read_text().replace("100", "60"))
    with pytest.raises(ProblemError):
        reopen(folder.path)
    found = rescore_run(folder.path, limit=2)
    assert [(one.id, one.before) for one in found] == [("0.0", 94.0), ("2.0", 30.0), ("3.0", 40.0)]
    assert [one.now for one in found[1:]] == [10.0, 0.0]
    assert folder.database.read_bytes() == before
    assert [row["now"] for row in yaml.safe_load((folder.path / RESCORED_FILE).read_text())] == [
        one.now for one in found
    ]
