"""The page on models says what is so."""

import json
import re
from pathlib import Path

import pytest

import oragent.milp
from oragent.milp import from_json, solve
from oragent.milp.families import FAMILIES

PAGE = (Path(__file__).parents[2] / "docs" / "milp.md").read_text()


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
    assert {name for name in named if not hasattr(oragent.milp, name)} == set()
