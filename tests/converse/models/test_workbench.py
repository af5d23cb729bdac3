"""Messages as units: questions change nothing, undo takes back whole messages, errors leave the state unharmed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import LinesAgent
from oragent.converse.models.result_text import headline
from oragent.converse.models.scenario_table import scenario_rows, table_cells, write_scenarios
from oragent.converse.models.workbench import Workbench
from oragent.modelling.files.model_files import read_indexed
from tests.converse.models.workshop import TRUTH, write_workshop

QUESTIONS = ("whatif tables <= 3", "solve", "value tables", "price carpentry", "sweep carpentry = 40, 50", "binding")


@pytest.fixture
def agent(tmp_path: Path) -> LinesAgent:
    return LinesAgent(Workbench(read_indexed(write_workshop(tmp_path))), tmp_path)


def optimum(agent: LinesAgent) -> float:
    return agent.workbench.ask("solve").objective.value


def test_questions_change_nothing_and_keep_does(agent: LinesAgent) -> None:
    for line in QUESTIONS:
        assert agent.answer(line).changes == ()
    assert agent.answer("whatif carpentry = 50").changes == ()
    assert agent.answer("keep").changes == ("carpentry = 50",)
    assert optimum(agent) == pytest.approx(TRUTH[50])


def test_a_change_shows_its_effect_and_is_in_force(agent: LinesAgent) -> None:
    record = agent.answer("carpentry = 50\ntables <= 3")
    assert record.changes == ("carpentry = 50", "tables <= 3")
    assert len(record.results) == 1
    compared = record.results[0].objective
    assert compared.before.value == pytest.approx(TRUTH[40])
    assert compared.after.value == optimum(agent)


def test_undo_takes_back_whole_messages(agent: LinesAgent) -> None:
    agent.answer("carpentry = 50\ntables <= 3")
    agent.answer("solve")
    agent.answer("chairs <= 1")
    assert agent.answer("undo 2").changes == ()
    assert agent.answer("undo").refused == 1
    agent.answer("carpentry = 60")
    assert agent.answer("undo").changes == ()


def test_an_error_takes_back_the_whole_message(agent: LinesAgent) -> None:
    agent.answer("carpentry = 50")
    count = len(agent.workbench.results)
    record = agent.answer("tables <= 3\nchairs <= nothing")
    assert record.refused
    assert record.changes == ("carpentry = 50",)
    assert len(agent.workbench.results) == count
    assert "\n" not in record.note


def test_an_answer_to_a_question_back_completes_the_request(agent: LinesAgent) -> None:
    agent.answer("whatif tabels <= 3")
    asked = agent.answer("total ship[Metzz]")
    assert asked.refused
    model = Workbench(_two_metz())
    talk = LinesAgent(model, agent.folder)
    refused = talk.answer("value ship[metz]")
    assert refused.pending is not None
    assert talk.answer("METZ").results[0].members[0].name == "ship[METZ]"


def _two_metz():
    from oragent.modelling.data.builder import IndexedModelBuilder

    builder = IndexedModelBuilder("two")
    builder.add_set("city", ["Metz", "METZ"])
    builder.set_objective("gain", "maximize", builder.add_variables("ship", ["city"], high=4), [1.0, 2.0])
    return builder.build()


def test_infeasible_states_have_a_conflict_and_a_repair_that_keep_applies(agent: LinesAgent) -> None:
    agent.answer("row many: tables + chairs >= 20")
    assert agent.workbench.ask("solve").status == "infeasible"
    conflict = agent.answer("conflict").results[0]
    assert conflict.families[0].family == "many"
    agent.answer("repair")
    agent.answer("keep")
    assert agent.workbench.ask("solve").status == "optimal"
    offered = agent.answer("repair").results[0]
    assert (offered.changes, "keep" in headline(offered)) == ((), False)
    assert agent.answer("undo 2").changes == ()


def test_scenarios_side_by_side_agree_with_their_own_solves(agent: LinesAgent, tmp_path: Path) -> None:
    agent.answer("carpentry = 50")
    agent.answer("keep more")
    agent.answer("whatif forbid tables")
    agent.answer('keep "no tables"')
    rows = {row.name: row for row in scenario_rows(agent.workbench)}
    assert list(rows) == ["base", "more", "no tables"]
    for name, row in rows.items():
        agent.answer(f'scenario "{name}"')
        assert row.objective.value == pytest.approx(optimum(agent))
    assert rows["no tables"].totals["tables"].value == 0
    assert rows["base"].objective.value == pytest.approx(TRUTH[40])
    cells = table_cells(list(rows.values()))
    for ending in (".csv", ".html", ".xlsx"):
        path = write_scenarios(agent.workbench, f"table{ending}", tmp_path)
        assert path.stat().st_size > 100
    import csv

    written = list(csv.reader((tmp_path / "table.csv").read_text().splitlines()))
    assert [row[0] for row in written] == [row[0] for row in cells]


@pytest.mark.parametrize("name", ["../a.csv", "a.txt", ".csv", "/tmp/a.csv", "a"])
def test_exports_stay_in_the_folder(agent: LinesAgent, name: str) -> None:
    with pytest.raises(ModellingError):
        write_scenarios(agent.workbench, name, agent.folder)


@given(
    st.lists(st.sampled_from(["tables <= 3", "carpentry = 50", "undo", "keep", "solve", "undo 2", "bad"]), max_size=8)
)
@settings(max_examples=15, deadline=None)
def test_any_sequence_equals_the_stack_of_its_states(lines: list[str]) -> None:
    model = _two_metz()
    agent = LinesAgent(Workbench(model), Path())
    lines = [line.replace("tables", "ship[Metz]").replace("carpentry = 50", "ship[METZ] <= 2") for line in lines]
    stack: list[tuple[str, ...]] = [()]
    for line in lines:
        changes = agent.answer(line).changes
        if line.startswith("undo"):
            count = 2 if line.endswith("2") else 1
            if count < len(stack):
                del stack[-count:]
        elif "<=" in line:
            stack.append((*stack[-1], line))
        assert changes == stack[-1]


def reopen(records: list[MessageRecord]) -> LinesAgent:
    """Continue from records, as a later process does."""
    agent = LinesAgent(Workbench(_two_metz()), Path())
    for record in records:
        agent.workbench.resume(record)
    return agent


CHANGES = ("ship[Metz] <= 3", "ship[METZ] <= 2", "ship[Metz] >= 1\nkeep a")
TRIALS = (
    "whatif ship[Metz] <= 3",
    "whynot ship[Metz] = 0",
    "keep",
    "keep b",
    "solve",
    "scenario a",
    "scenario base",
    "repair",
)
LATER = ("undo", "undo 2", "undo 3", "undo 9", "keep", "keep c", "solve")


@given(
    st.lists(
        st.sampled_from([*CHANGES, *CHANGES, *TRIALS, "undo", "undo 2", "undo 3", "bad", "solve\n" * 61]), max_size=8
    ),
    st.lists(st.sampled_from(LATER), min_size=1, max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_a_conversation_that_is_reopened_goes_on_like_one_that_was_not(begun: list[str], later: list[str]) -> None:
    agent = LinesAgent(Workbench(_two_metz()), Path())
    again = reopen([agent.answer(message) for message in begun])
    for message in later:
        record, expected = again.answer(message), agent.answer(message)
        for field in ("changes", "scenarios", "trial", "undone", "refused", "note"):
            assert getattr(record, field) == getattr(expected, field)
        assert [(each.id, each.status) for each in record.results] == [
            (each.id, each.status) for each in expected.results
        ]
