"""Commands and examples on the documentation pages work."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from oragent._base.statistics import ALPHA, pairs_needed
from oragent.cli.app import app
from oragent.search.config import build_config

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "reference"} & set(path.parts)]
SEARCHES = ("run", "resume")


def commands(page: Path) -> list[list[str]]:
    """Return the oragent commands in a page's unlabelled code blocks, without comments and shell parts."""
    fenced = re.findall(r"^```(.*?)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    blocks = [block for label, block in fenced if not label]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    split = [
        shlex.split(line.split("&&")[0], comments=True) for line in lines if re.match(r"(\w+=\S+ )*oragent ", line)
    ]
    return [words[words.index("oragent") + 1 :] for words in split]


@pytest.fixture(scope="module")
def root() -> Any:
    """The command ``oragent`` with all below it."""
    return typer.main.get_command(app)


def find_command(command: Any, words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that the words name, and the words after its name."""
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_every_command_and_option_on_a_page_exists(page: Path, root: Any) -> None:
    for words in commands(page):
        command, rest = find_command(root, words)
        if command.ignore_unknown_options or command.context_settings.get("ignore_unknown_options"):
            continue  # eval passes options on to the evaluator
        names = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
        assert [word for word in rest if word.startswith("--") and word.split("=")[0] not in names] == [], words


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_every_setting_of_a_search_on_a_page_exists(page: Path) -> None:
    for words in commands(page):
        if words and words[0] in SEARCHES:
            settings = [word for word in words[1:] if re.match(r"[a-z_.]+=", word) and "..." not in word]
            build_config({"model": {"name": "any"}}, settings, "a page")


def program() -> str:
    text = (DOCS / "how-to" / "use-a-heuristic.md").read_text(encoding="utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


@pytest.mark.parametrize(
    ("rule", "logged"),
    [
        ((ROOT / "problems" / "bpp_online" / "heuristic.py").read_text(encoding="utf-8"), False),
        ("def priority(item, rooms):\n    return 1 / 0\n", True),
        *(
            pytest.param(f"import os\ndef priority(item, rooms):\n    {body}\n", True, marks=pytest.mark.slow)
            for body in ("rooms[:] = 0; return [1.0]", "while True: pass", "os._exit(1)")
        ),
    ],
)
def test_the_example_uses_a_heuristic_and_falls_back_where_it_fails(tmp_path: Path, rule: str, logged: bool) -> None:
    (tmp_path / "packing_rule.py").write_text(rule)
    (tmp_path / "example.py").write_text(program().replace("limit_s=1.0", "limit_s=0.3"))
    process = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout == "1\n"  # the room of 37 is the tightest for an item of 30
    assert ("using the fallback" in process.stderr) is logged


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_every_comparison_on_a_page_can_show_a_difference(page: Path) -> None:
    for words in commands(page):
        options = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
        if words[0] != "compare" or not {"--strategies", "--variants"} & options.keys():
            continue
        named = [name for key in ("--strategies", "--variants") for name in options.get(key, "").split(",") if name]
        pairs = len(named) - 1 if "--against" in options else len(named) * (len(named) - 1) // 2
        assert int(options.get("--seeds", 3)) >= pairs_needed(ALPHA / pairs), words
