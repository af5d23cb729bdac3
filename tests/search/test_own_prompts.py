"""Prompts of a user replace those of the package, by name; what cannot be filled is refused before a run begins."""

import shutil
from pathlib import Path
from string import Template

import pytest

import oragent
from oragent._base.errors import ConfigError, StoreError
from oragent._base.prompt_templates import split_style
from oragent.search.run_context import PROMPTS
from tests.cli.test_cli import oragent as command


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name.replace('__', '.')}.txt").write_text(text)
    return folder


@pytest.mark.parametrize("name", PROMPTS.list_names())
def test_a_copy_of_each_prompt_is_accepted_and_needs_each_of_its_common_fields(name: str, tmp_path: Path) -> None:
    text = PROMPTS.read(*split_style(name)).template
    folder = write(tmp_path / "own", **{name: text})
    assert PROMPTS.read_own(folder) == {name: text}
    _, required = PROMPTS.list_placeholders(name)
    for field in required:
        values = {other: f"${{{other}}}" for other in Template(text).get_identifiers()} | {field: "left out"}
        without = Template(text).substitute(values)
        (folder / f"{name}.txt").write_text(without)
        with pytest.raises(ConfigError):
            PROMPTS.read_own(folder)
        (folder / f"{name}.txt").write_text(f"# without ${field}\n{without}")
        assert PROMPTS.read_own(folder) == {name: without}


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"no_such_prompt": "x"},
        {"ael_mutation": "costs 3 $ each"},
        {"ael_mutation": "$unknown"},
        {"ael_mutation": "# without $unknown\nx"},
        {"ael_mutation": "x" * 100_001},
    ],
)
def test_what_cannot_be_filled_is_refused(texts: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        PROMPTS.read_own(write(tmp_path / "own", **texts))
    with pytest.raises(ConfigError):
        PROMPTS.read_own(tmp_path / "missing")


@pytest.mark.parametrize(
    ("given", "style", "expected"),
    [
        ({"hill_climb": "mine"}, "strong", "mine"),
        ({"hill_climb__strong": "mine"}, "strong", "mine"),
        ({"hill_climb__strong": "mine"}, "small", PROMPTS.fill("hill_climb", "small")),
        ({"hill_climb": "all", "hill_climb__strong": "strong"}, "strong", "strong"),
        ({"hill_climb": "all", "hill_climb__strong": "strong"}, "small", "all"),
    ],
)
def test_a_prompt_without_a_style_is_for_all_models(
    given: dict[str, str], style: str, expected: str, tmp_path: Path
) -> None:
    own = PROMPTS.read_own(write(tmp_path / "own", **given))
    assert PROMPTS.fill("hill_climb", style, own) == expected


def test_a_run_asks_with_the_prompts_of_the_user_and_keeps_them(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return f"```python\ndef guess(x):\n    return {60 + len(asked)}\n```"

    given = write(tmp_path / "own", hill_climb="Climb, but by\nmy own words.", task="# without $contract\n" + TASK)
    run = oragent.run(
        toy, model=model, strategy="hill_climb", evaluations=3, prompts=str(given), outputs=tmp_path / "outputs"
    )
    assert asked
    assert all("by\nmy own words." in text for text in asked)
    kept = run.folder / "prompts"
    assert {file.name: file.read_text() for file in kept.iterdir()} == {
        file.name: file.read_text() for file in given.iterdir()
    }
    shutil.rmtree(given)
    moved = run.folder.rename(tmp_path / "moved")
    count = len(asked)
    oragent.resume(moved, model=model, settings=["budget.evaluations=5"])
    assert len(asked) > count
    assert all("by\nmy own words." in text for text in asked)
    # Prompts of the present folder do not take the place of those of the run.
    shutil.rmtree(moved / "prompts")
    write(tmp_path / "prompts", hill_climb="Another text.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError):
        oragent.resume(moved, model=model, settings=["budget.evaluations=6"])


TASK = "$description $better $signature $language $limits"


def test_the_command_lists_prints_and_copies(tmp_path: Path) -> None:
    listed = command("prompts", cwd=tmp_path).stdout.splitlines()
    # A line that continues the fields of a prompt is indented.
    assert [line.split()[0] for line in listed if not line.startswith(" ")] == PROMPTS.list_names()
    assert max(map(len, listed)) <= 80
    assert command("prompts", "hill_climb.strong", cwd=tmp_path).stdout.strip() == PROMPTS.fill("hill_climb", "strong")
    assert command("prompts", "--out", "mine", cwd=tmp_path).returncode == 0
    assert set(PROMPTS.read_own(tmp_path / "mine")) == set(PROMPTS.list_names())
    assert command("prompts", "--out", "mine", cwd=tmp_path).returncode
    assert command("prompts", "nothing", cwd=tmp_path).returncode
