"""The page on models says what is so."""

import json
import re
from pathlib import Path

import pytest

import oragent.modelling
from oragent.modelling import from_json, solve
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession
from oragent_benchmarks.families import FAMILIES
from tests.modelling import truths
from tests.modelling.indexed_models import transport, transport_data

LINES = re.compile(r"```text\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGE = (Path(__file__).parents[2] / "docs" / "modelling.md").read_text()


def test_the_example_solves_to_the_published_optimum() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    solution = solve(from_json(text))
    assert solution.objective == pytest.approx(194828.5714, abs=5e-5)
    assert solution.duals["hours"] == pytest.approx(4640)
    assert json.loads(text)["name"] == "steel3"


def test_every_family_is_listed() -> None:
    assert set(re.findall(r"`(\w+)`", PAGE.rpartition("## Families")[2])) >= set(FAMILIES)


def test_every_function_that_is_named_exists() -> None:
    named = set(re.findall(r"`(\w+)\(", PAGE))
    assert {name for name in named if not hasattr(oragent.modelling, name)} == set()


def test_every_line_that_is_shown_runs() -> None:
    lines = [line for block in LINES.findall(PAGE) for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        ModelSession(transport()).ask(line)


def test_the_study_runs_and_its_figures_are_those_of_an_independent_script(tmp_path, monkeypatch, capsys) -> None:
    (script,) = [text for text in PYTHON.findall(PAGE) if "ModelSession" in text]
    assert len([line for line in script.splitlines() if line.strip()]) <= 20
    write(transport(), tmp_path / "transport.json")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(script, "docs/modelling.md", "exec"), names)
    data = transport_data()
    base = truths.transport(data).solve()
    for depot, effect in names["effects"].items():
        changed = truths.scaled(data, "supply", 1.2, lambda d, w, depot=depot: d == depot)
        assert effect == pytest.approx(truths.transport(changed).solve() - base)
    assert "EUR" in capsys.readouterr().out.splitlines()[0]
