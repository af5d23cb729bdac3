"""Outlines of prompts notice sections, figures and size, and no other word."""

from pathlib import Path

import pytest

from tests.outlines import hold_outline

PROMPT = (
    "You design heuristics.\n\nThe best score is 1.5 of 20 programs.\n\n```python\nx = 3\n```\n\nAnswer in one line."
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORAGENT_WRITE_GOLDEN", "1")
    hold_outline(tmp_path / "prompts.txt", "a", PROMPT)
    monkeypatch.delenv("ORAGENT_WRITE_GOLDEN")
    return tmp_path / "prompts.txt"


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT,
        PROMPT.replace("x = 3", "y = 4"),
        PROMPT.replace("one line", "one row"),
        PROMPT.replace("programs.", "texts."),
    ],
)
def test_other_words_are_the_same_outline(prompt: str, path: Path) -> None:
    hold_outline(path, "a", prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT.replace("1.5", "1.4"),
        PROMPT.replace("20", "200"),
        PROMPT.replace("\n\nAnswer in one line.", ""),
        PROMPT.replace("You design", "They design"),
        PROMPT.replace("```python", "```"),
        PROMPT.replace("one line", "one line" * 3),
        PROMPT + "\n\n```python\n<<<<<<< SEARCH\n```",
    ],
)
def test_another_section_figure_or_size_is_noticed(prompt: str, path: Path) -> None:
    with pytest.raises(AssertionError):
        hold_outline(path, "a", prompt)
