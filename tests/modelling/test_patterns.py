"""Slices across families: patterns of names, and all members of a kind."""

from fnmatch import fnmatchcase

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.operations import ModelSession, parse_line, render

OPENS = ["open Lyon", "open Nîmes", "Open Épinal"]
COSTS, VALUES = [4.0, 7.0, 5.0], [9.0, 11.0, 4.5]


@pytest.fixture
def session() -> ModelSession:
    """Scalar families of three sites and two gaps, and one indexed family."""
    builder = IndexedModelBuilder("sites")
    builder.add_set("site", ["a", "b"])
    columns = [int(builder.add_variables(name, high=1, kind="integer", unit="sites")[0]) for name in OPENS]
    more = builder.add_variables("spare", ["site"], high=2, unit="t")
    builder.add_parameter("Cash Gap", [], [3.0])
    builder.add_rows("Budget Gap", relation="<=", columns=columns, values=COSTS, rhs=11.0)
    builder.add_rows("Stock Gap", relation="<=", columns=list(more), rhs=builder.cells("Cash Gap"))
    builder.set_objective("worth", "maximize", [*columns, *more], [*VALUES, 0.5, 0.25])
    return ModelSession(builder.build())


def test_a_pattern_means_all_members_whose_names_match(session: ModelSession) -> None:
    # By hand: Lyon and Nîmes cost 11 and are worth 20; spare is 2 and 1.
    assert session.ask("solve").objective.value == pytest.approx(20 + 1 + 0.25)
    members = session.ask('data "OPEN *"').members
    assert [(member.name, member.coefficient.value) for member in members] == [
        (f'"{name}"', value) for name, value in zip(OPENS, VALUES, strict=True)
    ]
    assert {member.name: member.value.value for member in session.ask('value "open *"').members} == {
        '"open Lyon"': 1.0,
        '"open Nîmes"': 1.0,
    }
    total = session.ask('total "open *"')
    assert (total.total.value, total.contribution.value) == (2.0, 20.0)
    assert session.ask('total "*pen *i*"').total.value == 1.0
    assert [member.slack.value for member in session.ask('slack "Stock *"').members] == [0.0]
    assert [member.name for member in session.ask('price "open l*"').members] == [
        'lower("open Lyon")',
        'upper("open Lyon")',
    ]


def test_changes_and_sums_take_patterns(session: ModelSession) -> None:
    # Without Nîmes: Lyon and Épinal.
    assert session.ask('whatif forbid "open n*"').objective.after.value == pytest.approx(13.5 + 1.25)
    assert session.ask('whatif row few: sum "open *" <= 1').objective.after.value == pytest.approx(11 + 1.25)
    assert session.ask('whatif row few: sum "open *" >= 3').status_after == "infeasible"
    assert session.ask('whatif relax rows."* gap" by 1').objective.after.value == pytest.approx(20 + 1 + 0.5)
    assert session.ask('whatif upper("spare[*") = 0').objective.after.value == pytest.approx(20)
    assert session.ask("whatif drop rows").objective.after.value == pytest.approx(24.5 + 1.5)


def test_a_kind_alone_means_all_its_members(session: ModelSession) -> None:
    ranked = session.ask("top 3 variables by coefficient").members
    assert [(member.name, member.coefficient.value) for member in ranked] == [
        ('"open Nîmes"', 11.0),
        ('"open Lyon"', 9.0),
        ('"Open Épinal"', 4.5),
    ]
    assert len(session.ask("data rows").members) == 2
    assert [member.value.value for member in session.ask("data parameters").members] == [3.0]
    assert session.ask("describe variables").families[0].members == 5
    values = np.array([member.value.value for member in session.ask("value variables").members])
    assert values.tolist() == [1.0, 1.0, 2.0, 1.0]


@pytest.mark.parametrize("line", ['value "open *"', "top 3 variables by coefficient", 'whatif forbid "o*n *"'])
def test_lines_with_patterns_are_written_as_they_are_read(line: str) -> None:
    request = parse_line(line)
    assert parse_line(render(request)) == request


@pytest.mark.parametrize(
    "line",
    ['value "shut *"', 'data "* gap"', 'total "open *" by site', 'why "open *"', 'value "open *"[a]', "data rows.[a]"],
)
def test_a_pattern_that_is_not_clear_is_refused_in_one_line(session: ModelSession, line: str) -> None:
    with pytest.raises(ModellingError) as raised:
        session.ask(line)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "pattern", ["a*a", "*a*a*", "a**b", "*b*", "ab*ab", "*a*b*a", "b*", "*ab", "a*" * 30 + "b", "*a" * 12 + "*b"]
)
def test_patterns_match_as_those_of_files(pattern: str) -> None:
    # A pattern with many stars would take years if all its readings were tried.
    names = ["a", "aa", "ab", "ba", "aba", "abab", "baab", "a" * 90, "a" * 90 + "b"]
    builder = IndexedModelBuilder("names")
    columns = [int(builder.add_variables(name, high=1)[0]) for name in names]
    builder.set_objective("total", "maximize", columns, [1.0] * len(names))
    expected = [name for name in names if fnmatchcase(name, pattern)]
    members = ModelSession(builder.build()).ask(f'data variables."{pattern}"').members
    assert [member.name for member in members] == expected
