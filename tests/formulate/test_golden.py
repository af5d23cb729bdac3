"""Prompts change on purpose only: recorded runs are replayed by them."""

import pytest

from oragent.formulate.running import FormulationRunner
from tests.formulate.golden_prompts import FOLDER, prompts


@pytest.mark.slow
def test_every_role_is_asked_in_the_words_that_are_kept(runner: FormulationRunner) -> None:
    found = prompts(runner)
    kept = {path.stem: path.read_text() for path in FOLDER.glob("*.txt")}
    assert {role: f"{text}\n" for role, text in found.items()} == kept, "python -m tests.formulate.golden_prompts"
    assert len(kept) >= 25
