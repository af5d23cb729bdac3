"""Exact questions, answered without a model; oracles are runs of the program on edited files."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.asking import FORMS, AskKind, ExactQuestion, answer_question, read_question
from oragent.workspace.citations import check_citations
from oragent.workspace.facts import WorkspaceFacts, read_facts
from oragent.workspace.reading import list_files
from oragent.workspace.records import inputs_hash, write_records
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.table_labels import list_table_labels
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.clinic import CLINIC
from tests.workspace.release import put

ROTA = "src/optimization_model.py"


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with Sandbox(1) as box:
        yield ProgramRunner(box)


@pytest.fixture(scope="module")
def clinic(runner: ProgramRunner, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, WorkspaceFacts]:
    folder = tmp_path_factory.mktemp("clinic")
    put(folder, CLINIC)
    ran = runner.run(folder, ROTA)
    put(folder, write_records(ran, inputs=inputs_hash(list_files(folder))))
    return folder, read_facts(folder, list_files(folder), runner)


@pytest.fixture(scope="module")
def said(clinic: tuple[Path, WorkspaceFacts], runner: ProgramRunner) -> Callable[[str], str]:
    folder, facts = clinic

    def ask(question: str) -> str:
        text = answer_question(facts, read_question(question), runner)
        assert check_citations(text, list_files(folder)) == ()
        return text

    return ask


def cost(runner: ProgramRunner, folder: Path, path: str, old: str, new: str) -> float:
    """Objective of the program after an edit of one file."""
    text = (folder / path).read_text()
    assert old in text
    value = runner.run(folder, ROTA, {path: text.replace(old, new)}).printed_objective.value
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("plan", ExactQuestion(AskKind.PLAN)),
        (" value  x_1 ", ExactQuestion(AskKind.VALUE, "x_1")),
        ("price contract of Anna", ExactQuestion(AskKind.PRICE, "contract of Anna")),
        ("changes", ExactQuestion(AskKind.CHANGES)),
        ("changes 3", ExactQuestion(AskKind.CHANGES, versions=(3,))),
        ("changes 7 3", ExactQuestion(AskKind.CHANGES, versions=(7, 3))),
    ],
)
def test_an_exact_question_is_read(text: str, question: ExactQuestion) -> None:
    assert read_question(text) == question


@pytest.mark.parametrize(
    "text",
    ["how many shifts does Jonas work", "why is the cost so high", "plan please", "show the plan", "prices of Anna", "value",
     "changes since version 3", "changes 1 2 3", "changes 0", "changes -1", "What limits rye?", "binding rows"],
)  # fmt: skip
def test_any_other_text_is_refused_in_one_line_that_lists_all_forms(text: str) -> None:
    with pytest.raises(WorkspaceError) as refused:
        read_question(text)
    assert "\n" not in str(refused.value)
    assert all(form in str(refused.value) for form in FORMS)


def test_a_refused_question_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(WorkspaceError, match="no exact question"):
        command.ask_question(command.VerbRequest(tmp_path), "What limits rye?", Terminal(file=io.StringIO()))
    assert sorted(tmp_path.rglob("*")) == before


def test_the_plan_has_the_objective_and_every_decision_that_is_not_0(said, clinic) -> None:
    _, facts = clinic
    solution = facts.revised.solution
    text = said("plan")
    assert f"{solution.objective:g}" in text
    used = [name for name, value in solution.values.items() if value]
    assert used
    assert all(part in text for name in used for part in name.split("_"))


def test_the_value_of_a_decision_and_of_a_row(said, clinic) -> None:
    _, facts = clinic
    milp, values = facts.revised.milp, facts.revised.solution.values
    name = next(variable.name for variable in milp.variables if values[variable.name])
    assert said(f"value {name}").startswith(f"{name} is {values[name]:g}")
    row = milp.row("agency_limit")
    total = sum(value * values[term] for term, value in row.terms.items())
    assert f"agency_limit is {total:g} (must be <= 6)" in said("value agency_limit")


def test_a_price_is_the_objective_of_the_program_on_changed_data(said, clinic, runner) -> None:
    folder, _ = clinic
    more, less = (
        cost(runner, folder, "data/general_parameters.csv", "mina_late_max,2", f"mina_late_max,{limit}")
        for limit in (3, 1)
    )
    text = said("price mina_late")
    assert f"one more, objective {more:g}" in text
    assert f"one less, objective {less:g}" in text


def test_binding_rows_and_those_with_room_are_all_rows(said, clinic) -> None:
    count = len(clinic[1].revised.milp.rows)
    binding, slack = (int(said(kind).partition(" ")[0]) for kind in ("binding", "slack"))
    assert binding + slack == count
    assert f"of {count} rows bind" in said("binding")


def test_an_unknown_name_is_one_line_with_the_nearest(clinic, runner) -> None:
    with pytest.raises(WorkspaceError, match="'mina_lat' is no name in the model; did you mean 'mina_late'"):
        answer_question(clinic[1], read_question("price mina_lat"), runner)


def test_prices_of_a_linear_model_are_its_duals(runner, tmp_path) -> None:
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    text = answer_question(facts, read_question("prices"), runner)
    assert "flour_there <= 100: one more, objective 404" in text
    assert "one less, objective 396" in text
    assert "One unit more of flour_there changes the objective by 4" in text


def test_an_infeasible_model_answers_every_question_by_its_conflict(runner, tmp_path) -> None:
    impossible = PROGRAM.replace('"flour_there"', '"flour_there"\n    problem += rye >= 120, "rye_ordered"')
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": impossible})
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    for text in ("infeasible", "plan", "prices"):
        assert "rye_ordered" in answer_question(facts, read_question(text), runner)


def test_labels_are_keys_and_headers_of_tables_and_inner_keys_of_json(tmp_path) -> None:
    put(tmp_path, {"data/wages.csv": "name,day,pay (EUR)\nAnna,Mon,3\nBen,Tue,4\n", "data/p.json": '{"cap": {"Graz": 3}}',
                   "data/general_parameters.csv": "Parameter_Name,Value\nrent,3\n"})  # fmt: skip
    assert set(list_table_labels(list_files(tmp_path))) == {"Anna", "Mon", "Ben", "Tue", "pay", "Graz", "cap"}
