"""What the page of a workspace says of records, verbs and versions that are made by hand."""

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent.ledger import Study
from oragent.ledger.study import FinishedCase
from oragent.modelling.data.solution import SolveStatus
from oragent.workspace import pages
from oragent.workspace.folder import create_workspace, finished_verbs
from oragent.workspace.pages import (
    _answered_questions,
    _objective_moves,
    _plan_tables,
    _record_objective,
    _record_standing,
    describe_state,
    recorded_conflict,
    render_page,
    write_page,
)
from oragent.workspace.versions import Versions, WorkspaceVersion
from tests.workspace.release import put


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"objective": 1250.5, "unit": "EUR"}, "1,250.5 EUR"), ({"objective": 0.0}, "0"), ({"objective": -3, "unit": None}, "-3"),
        ({"objective": 5, "unit": "u" * 20}, f"5 {'u' * 20}"), ({"objective": 5, "unit": "u" * 21}, f"5 {'u' * 20}"),
        # What is no finite number has no amount.
        ({"objective": None}, "–"), ({}, "–"), ({"objective": "5"}, "–"), ({"objective": float("inf")}, "–"),
    ],
)  # fmt: skip
def test_the_objective_of_a_record_has_its_unit(record: dict[str, Any], text: str) -> None:
    assert _record_objective(record) == text


def test_the_standing_of_a_plan_is_that_of_its_solution() -> None:
    assert _record_standing({"status": "optimal", "objective": 3.0}, True) == "optimal"
    gap = _record_standing({"status": "feasible", "objective": 100.0, "bound": 90.0, "gap": 0.1}, True)
    assert "10 %" in gap
    assert "no bound" in _record_standing({"status": "feasible", "objective": 100.0}, True)
    # A foreign word is no status.
    assert _record_standing({"status": "perfect", "objective": 3.0}, True) == str(SolveStatus.UNKNOWN)
    texts = {_record_standing({}, True), _record_standing({}, False), _record_standing({"status": "optimal"}, False)}
    assert len(texts) == 2
    assert "optimal" not in texts


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        ({"status": "infeasible", "conflict": ["- a", "b", 5]}, ["a", "b"]), ({"status": "optimal", "conflict": ["- a"]}, []), ({}, []),
        ({"status": "infeasible", "conflict": "text"}, None), ({"status": "infeasible", "conflict": []}, None), ({"status": "infeasible"}, None),
    ],
)  # fmt: skip
def test_a_conflict_is_listed_for_an_infeasible_model(record: dict[str, Any], lines: list[str] | None) -> None:
    found = recorded_conflict(record)
    if lines is None:
        # How to get it.
        (text,) = found
        assert "oragent workspace run" in text
    else:
        assert found == lines


def test_decisions_are_tables_of_the_values_that_are_known() -> None:
    columns = {
        "make[a,x]": {"value": 3.0, "unit": "t"}, "make[a,y]": {"value": 0}, "make[b,x]": {"value": 4.5}, "make[b,y]": {"value": 7},
        "odd": {"value": "5"}, "none": {"value": None},
    }  # fmt: skip
    (block,) = _plan_tables({"variables": columns})
    text = str(block)
    assert all(figure in text for figure in ("3", "4.5", "7"))
    assert "odd" not in text
    for record in ({}, {"variables": []}, {"variables": {"x": {"value": None}}}):
        assert _plan_tables(record) == ()


def test_decisions_with_many_indices_are_a_table_with_one_of_them_across(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indices = list(itertools.product("ab", "xy", "pq", "uv"))
    names = ["make[{}]".format(",".join(index)) for index in indices]
    columns = {name: {"value": 100 + number, "unit": "t"} for number, name in enumerate(names)}
    (block,) = _plan_tables({"variables": columns})
    assert (block.title, len(block.rows), block.heads[3:]) == ("make (t)", 8, ("u", "v"))
    values = [str(100 + number) for number in range(16)]
    assert [cell for row in block.rows for cell in row[3:]] == values
    # The page has a maximum number of rows.
    put(tmp_path, {"docs/a.md": "# Bakery\n", "src/a.py": ""})
    monkeypatch.setattr(
        pages, "read_record", lambda folder, files: {"variables": columns, "status": "optimal", "objective": 7.5}
    )
    monkeypatch.setattr(pages, "MAX_ROWS", 3)
    page = render_page(tmp_path)
    assert re.findall(r">(1\d\d)</td>", page) == values[:6]
    assert "<dd>7.5<small>optimal</small></dd>" in page


def make_verb(name: str, **result: Any) -> FinishedCase:
    return FinishedCase(name, {"verb": name.partition("-")[0], **result}, Spent())


@pytest.mark.parametrize(
    ("verb", "in_force", "state"),
    [
        (make_verb("ask-1", answer="a", written=True), ["ask-1"], ""), (make_verb("build-1", written=False), ["build-1"], "not written"),
        (make_verb("build-1"), [], "not written"), (make_verb("build-1", written=True), ["build-1"], "written"),
        (make_verb("revise-2", written=True), ["revise-1"], "taken back"),
        (make_verb("revise-1", written=True, unplanned_edits=["a"]), ["revise-1"], "written (1 edit of data not in the plan)"),
        (make_verb("revise-1", written=True, unplanned_edits=["a", "b"]), ["revise-1"], "written (2 edits of data not in the plan)"),
    ],
)  # fmt: skip
def test_the_state_of_a_verb_is_whether_its_changes_are_in_the_files(
    verb: FinishedCase, in_force: list[str], state: str
) -> None:
    assert describe_state(verb, in_force) == state


def test_objectives_over_time_are_those_of_verbs_that_have_one() -> None:
    verbs = [
        make_verb("build-1", objective=400.0, written=True), make_verb("revise-1", objective=None), make_verb("ask-1", answer="a"),
        make_verb("revise-2", objective=0, standing="feasible, within 1 %", written=True),
    ]  # fmt: skip
    assert _objective_moves(verbs, ["revise-2"]) == [
        ("build-1", "400", "", "taken back"),
        ("revise-2", "0", "feasible, within 1 %", "written"),
    ]


def test_an_answered_question_has_its_citations_and_its_version(tmp_path: Path) -> None:
    put(tmp_path, {"docs/a.md": "# Bakery\nLoaves of rye.\n"})
    answer = 'Rye [docs/a.md:2 "Loaves of rye"], oats [docs/a.md:1 "Oats"]; again [docs/a.md:2 "Loaves of rye"].\n'
    verbs = [
        make_verb("ask-1", answer=answer, request="What?", revision="abcdef0123456789"), make_verb("build-1", written=True),
        make_verb("ask-2", answer="None.", request="Why?"),
    ]  # fmt: skip
    first, second = _answered_questions({"docs/a.md": tmp_path / "docs/a.md"}, verbs, "abcdef0123456789")
    assert (first["question"], first["answer"], first["is_current"]) == ("What?", answer.rstrip(), True)
    assert [holds for _, holds in first["cited"]] == [True, False]
    assert "abcdef0123456789".startswith(first["revision"])
    assert 0 < len(first["revision"]) < 16
    assert (second["revision"], second["is_current"], second["cited"]) == ("", False, [])


def finish(folder: Path, *verbs: FinishedCase) -> None:
    """Store verbs as they are stored when they end."""

    async def work(case: Any) -> Any:
        return next(verb.result for verb in verbs if verb.name == case.name)

    with Study(folder, {}, Budget(evaluations=None)) as study:
        asyncio.run(study.run_cases([verb.name for verb in verbs], work))


def test_the_page_shows_what_is_in_force_and_what_was_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = create_workspace(tmp_path / "bakery")
    folder = home.folder
    with Versions(folder) as versions:
        versions.write_version({"src/bakery.py": "import pulp\n"}, "builder", "builds", verb="build-1")
        versions.write_version({"src/bakery.py": "import pulp as p\n"}, "reviser", "revises twice", verb="revise-1")
        kept = versions.write_version(
            {"src/bakery.py": "import pulp as q\n"}, "reviser", "revises again", verb="revise-2"
        )
        versions.write_version({"src/bakery.py": "import pulp as p\n"}, "undo", "takes back", undoes=kept)
    common = {"written": True, "request": "r", "data_edits": ["flour: 1 → 2"], "change": "fewer loaves"}
    finish(
        folder, make_verb("build-1", written=True, objective=400.0), make_verb("revise-1", differences=["new row one"], **common),
        make_verb("revise-2", differences=["new row two"], unplanned_edits=["oven: 3 → 4"], **{**common, "change": "more loaves"}),
        make_verb("revise-3", differences=["new row three"], **{**common, "written": False}),
    )  # fmt: skip
    assert [verb.name for verb in finished_verbs(folder)] == ["build-1", "revise-1", "revise-2", "revise-3"]
    page = render_page(folder)
    # The last revision that is in force, not one that was taken back or not written.
    assert all(
        text in page for text in ("new row one", "fewer loaves", "flour: 1 → 2", "src/bakery.py", "<h1>bakery</h1>")
    )
    assert not any(text in page for text in ("new row two", "new row three", "more loaves", "oven: 3"))
    titles = re.findall(r"<h3>([^<]*)</h3>", page[page.index("<h2>Versions") :])
    assert [title for title in titles if "taken back" in title] == [
        title for title in titles if "revises again" in title
    ]
    assert len([title for title in titles if "revises again" in title]) == 1
    assert f"<dt>versions</dt><dd>{len(titles)}</dd>" in page
    assert "400" in page[page.index("Objective over time") : page.index("<h2>Versions")]
    assert write_page(folder).read_text() == page
    # Of many versions the last ones are shown.
    monkeypatch.setattr(pages, "MAX_VERSIONS", 2)
    assert re.findall(r"<h3>([^<]*)</h3>", render_page(folder).partition("<h2>Versions")[2]) == titles[:2]


def test_versions_of_other_clones_are_not_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which verbs of another clone are in force there is not known here."""
    put(tmp_path, {"docs/a.md": "# Bakery\n"})
    history = [
        WorkspaceVersion("1" * 40, 1, "builder", "first here", ("a.py",), "build-1"),
        WorkspaceVersion("2" * 40, 2, "builder", "second here", ("a.py",), "build-2"),
        WorkspaceVersion("3" * 40, 3, "builder", "elsewhere", ("a.py", "b.py"), "build-3", is_foreign=True),
        WorkspaceVersion("4" * 40, 4, "person", "mine", ()),
    ]
    monkeypatch.setattr(Versions, "list_versions", lambda versions: tuple(history))
    monkeypatch.setattr(
        Versions, "list_own", lambda versions: (*history[:2], WorkspaceVersion("5", 5, "undo", "", undoes="2" * 40))
    )
    monkeypatch.setattr(Versions, "describe_diff", lambda versions, version: f"diff of {version[0]}")
    page = render_page(tmp_path)
    titles = re.findall(r"<h3>([^<]*)</h3>", page.partition("<h2>Versions")[2])
    assert [title.partition(": ")[2] for title in titles] == [
        "mine",
        "elsewhere",
        "second here (taken back)",
        "first here",
    ]
    assert [page.index(f"diff of {number}") for number in "4321"] == sorted(
        page.index(f"diff of {number}") for number in "1234"
    )


def test_a_page_of_a_folder_without_versions_begins_none(tmp_path: Path) -> None:
    put(tmp_path, {"docs/a.md": "# Bakery\n"})
    assert "<dt>versions</dt><dd>0</dd>" in render_page(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
