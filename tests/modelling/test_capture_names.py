"""Names that a framework changed: families have the labels of the program."""

import re
from pathlib import Path

import pytest

from oragent.modelling.capture.keys import resolve_keys

# Characters that PuLP replaces by underscores.
CLEANED = re.compile(r"[-+\[\] >/]")
CITIES = ("a", "Saint-Denis", "New York", "b+c")
WEEKS = ("wk 1", "wk-2")
FORMS = [
    "need[{},{}]",
    "need[{}, {}]",
    "need[{}][{}]",
    "need_{}_{}",
    "need({},{})",
    "need-{}-{}",
    "need {!r}",
    "need<{}>{{{}}}",
]


class Row:
    """A row of a program."""


def key_names(form: str) -> tuple[list[tuple[str, str]], list[str]]:
    keys = [(city, week) for city in CITIES for week in WEEKS]
    given = [form.format(key) if "!r" in form else form.format(*key) for key in keys]
    return keys, [CLEANED.sub("_", name) for name in given]


@pytest.mark.parametrize("form", FORMS[:-1])
def test_cleaned_names_of_a_container_give_its_keys(form: str) -> None:
    keys, names = key_names(form)
    rows = {key: Row() for key in keys}
    place = {id(row): at for at, row in enumerate(rows.values())}
    resolved = resolve_keys(names, {}, [{"table": rows}], lambda item: place.get(id(item)), {})
    assert [key and (key[0], tuple(key[1])) for key in resolved] == [("need", key) for key in keys]


def test_names_in_another_form_take_the_name_of_the_container() -> None:
    keys, names = key_names(FORMS[-1])
    rows = {key: Row() for key in keys}
    place = {id(row): at for at, row in enumerate(rows.values())}
    resolved = resolve_keys(names, {}, [{"table": rows}], lambda item: place.get(id(item)), {})
    assert [key and (key[0], tuple(key[1])) for key in resolved] == [("table", key) for key in keys]


PROGRAM = """import pulp
CITIES = ["a", "Saint-Denis", "New York"]
WEEKS = ["wk 1", "wk 2"]
need = {(c, w): 10 + i + j for i, c in enumerate(CITIES) for j, w in enumerate(WEEKS)}
m = pulp.LpProblem("cleaned", pulp.LpMinimize)
x = {(c, w): pulp.LpVariable(f"buy[{c},{w}]", lowBound=0) for c in CITIES for w in WEEKS}
m += pulp.lpSum(x.values())
for c in CITIES:
    for w in WEEKS:
        m += x[c, w] >= need[c, w], f"need[{c}, {w}]"
for k in need:
    m += x[k] <= 40, f"limit {k}"
for c in CITIES:
    m += pulp.lpSum(x[c, w] for w in WEEKS) <= 90, "total-" + c
m.solve()
"""


@pytest.mark.slow
def test_a_pulp_program_shows_the_keys_of_its_loops(tmp_path: Path) -> None:
    pytest.importorskip("pulp")
    from oragent.modelling.opening import open_model

    (tmp_path / "cleaned.py").write_text(PROGRAM)
    model = open_model(tmp_path / "cleaned.py")
    names = {family.name: sorted(model.member_name(family, at) for at in range(len(family))) for family in model.rows}
    both = sorted(f'[{c}, "{w}"]' for c in ("a", '"Saint-Denis"', '"New York"') for w in ("wk 1", "wk 2"))
    assert names["need"] == [f"need{labels}" for labels in both]
    assert names["limit"] == [f"limit{labels}" for labels in both]
    assert names["total"] == ['total["New York"]', 'total["Saint-Denis"]', "total[a]"]
    assert [family.name for family in model.variables] == ["buy"]
