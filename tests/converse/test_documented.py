"""The page on conversations names what there is, and its example is the model of the package."""

import re
from pathlib import Path

from oragent.converse.models.model_agents import COMMANDS
from oragent.converse.models.model_files import EXAMPLE, read_conversation_model
from tests.converse.models.workshop import TRUTH

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "converse.md").read_text(encoding="utf-8")


def test_the_page_names_the_commands_of_a_conversation() -> None:
    for command in ("whatif", "keep", "undo", *COMMANDS):
        assert f"`{command}" in PAGE


def test_the_example_gives_the_figures_of_the_page() -> None:
    assert read_conversation_model(EXAMPLE).shape == (3, 2)
    shown = re.search(r"whatif carpentry = 50\n.*before (\d+), after (\d+)", PAGE, re.DOTALL)
    assert shown is not None
    assert [float(figure) for figure in shown.groups()] == [TRUTH[40], TRUTH[50]]
