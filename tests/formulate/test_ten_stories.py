"""Ten stories by the default method and by ``standard``: the answer, the verdict, and the number of calls.

``python -m tests.formulate.test_ten_stories`` prints the table.
"""

import io
import json
import sys
import tempfile
import time
from pathlib import Path

import pytest
from rich.console import Console

from oragent.formulate.command import formulate_file
from oragent.formulate.options import FormulateCommand
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from tests.formulate.stories import STORIES, Story

ROLES = ("program", "counterfactual", "reading")


def run_story(story: Story, folder: Path, method: str = "two_calls") -> tuple[int, dict, str]:
    """Formulate with the recorded replies; exit code, ``result.json`` and what is printed."""
    text, *replies = story.parts
    (folder / f"{story.name}.md").write_text(text)
    for name, content in story.files.items():
        (folder / name).write_bytes(content)

    def reply(request: Request, number: int) -> str:
        return replies[ROLES.index(request.role) if request.role in ROLES else 0]

    files = tuple(folder / name for name in story.files)
    options = {"method": method, "metamorphic": method == "two_calls"}
    command = FormulateCommand(folder / f"{story.name}.md", folder / "out", files, options=options)
    console = Console(file=io.StringIO(), width=160)
    code = formulate_file(command, console, Scripted(reply))
    (made,) = (folder / "out" / story.name).iterdir()
    return code, json.loads((made / "result.json").read_text()), console.file.getvalue()


def is_right(story: Story, result: dict) -> bool:
    truth = story.truth()
    if truth is None:
        return result["status"] == "infeasible"
    values = [aim["value"] for aim in result["aims"]]
    expected = truth if isinstance(truth, tuple) else (truth,)
    return result["status"] == "optimal" and values == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_two_calls_answer_a_story_and_the_check_agrees(story: Story, tmp_path: Path) -> None:
    code, result, printed = run_story(story, tmp_path)
    assert (code, result["verdict"]) == (0, "checked"), printed
    assert is_right(story, result), printed
    assert result["calls"] == len(story.parts) - 1


if __name__ == "__main__":
    for method in ("two_calls", "standard"):
        for story in STORIES[int(sys.argv[1]) if len(sys.argv) > 1 else 0 :]:
            with tempfile.TemporaryDirectory() as folder:
                begun = time.perf_counter()
                _, result, printed = run_story(story, Path(folder), method)
                facts = (is_right(story, result), result["verdict"], result["class"], result["calls"], result["tokens"])
                print(story.name, method, *facts, f"{time.perf_counter() - begun:.1f} s", sep=" | ", flush=True)
                if method == "two_calls" and (result["verdict"] != "checked" or not facts[0]):
                    print(printed)
