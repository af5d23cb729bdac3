"""The page of task suites has the figures that were measured."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "docs" / "tools" / "make_suites_page.py"


def test_the_page_is_that_of_the_measured_outcomes() -> None:
    spec = importlib.util.spec_from_file_location("make_suites_page", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    suites = json.loads(tool.ROWS.read_text(encoding="utf-8"))
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.write_page({name: suites[name] for name in sorted(suites)})
    for name, rows in suites.items():
        isolated = sum(row["status"] == "isolated" for row in rows)
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert [cell.strip() for cell in line.split("|")][2:5:2] == [str(len(rows)), str(isolated)]
