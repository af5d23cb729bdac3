"""Tables on the page of a workspace: months in the order of the program, and figures that stay on one line."""

import io
import re
from pathlib import Path

import pytest

from oragent._base.terminal import Terminal
from oragent.report.pages import html
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.pages import render_page
from tests.workspace.release import put

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]
PROGRAM = f"""import pulp
months, goods = {MONTHS}, ("rye", "oat")
m = pulp.LpProblem("plan", pulp.LpMinimize)
make = pulp.LpVariable.dicts("make", (goods, months), 0)
m += pulp.lpSum(make[good][month] for good in goods for month in months)
m += pulp.lpSum(make[good][month] for good in goods for month in months) <= 1000, "all"
for at, month in enumerate(months):
    for good in goods:
        m += make[good][month] >= 3 + at, f"demand_{{good}}_{{month}}"
m.solve(pulp.PULP_CBC_CMD(msg=0))
"""


def test_months_have_the_order_of_the_program(tmp_path: Path) -> None:
    """PuLP sorts variables by name: April would be the first month."""
    pytest.importorskip("pulp")
    put(tmp_path, {"docs/a.md": "Plan.\n", "data/t.csv": "a,b\nx,1\n", "src/plan.py": PROGRAM})
    with Sandbox(1) as box:
        assert command.run_program(tmp_path, "", Terminal(file=io.StringIO()), box) == 0
    page = render_page(tmp_path)
    places = [page.index(f">{month}<") for month in MONTHS]
    assert places == sorted(places)
    cells = re.findall(r">(\d+)</td>", page)
    assert {"3", "8"} <= set(cells)


def test_the_objective_has_the_whole_width_of_a_narrow_screen() -> None:
    style = (Path(html.__file__).parent / "style.html").read_text()
    narrow = re.search(r"@media \(max-width: (\d+)px\) \{ \.tile\.main \{ grid-column: 1 / -1; \}", style)
    assert narrow is not None
    assert int(narrow[1]) >= 390
