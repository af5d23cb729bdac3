"""Questions in ordinary words, answered without a model; oracles are runs of the program on edited files."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oragent._base.terminal import Terminal
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.asking import answer_question
from oragent.workspace.citations import check_citations
from oragent.workspace.facts import WorkspaceFacts, read_facts
from oragent.workspace.pages import render_page
from oragent.workspace.reading import list_files
from oragent.workspace.records import inputs_hash, write_records
from oragent.workspace.runner import ProgramRunner
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
        text = answer_question(facts, question, runner)
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


def test_values_of_decisions_are_tables_by_the_names_that_the_question_states(said):
    text = said("How many shifts does Anna work?")
    assert text.startswith("work of Anna: 4 in all, 4 of 10 are not 0.")
    assert "Ben" not in text
    text = said("Who works on Monday late?")
    assert text.startswith("work of Mon, late: 2 in all")
    assert len([line for line in text.splitlines() if line.endswith(" 1")]) == 2
    assert "In the objective: " in said("how much does Anna earn?")
    assert said("How many late shifts does Mina do?").startswith("work of Mina, late: ")  # and not mina_late_max
    assert said("what is mina_late_max?").startswith("- mina_late_max is 2 [data/general_parameters.csv")
    plan = said("show the plan")
    assert "The optimal objective is 3409.75" in plan
    assert "Mon early" in plan  # days by shifts, people across
    assert "agency: 0 in all" in plan
    assert said("What does it cost?").startswith("The optimal objective is 3409.75 [solver_records/rota.solution.json")
    assert "hourly wage of Chiara is 31.20 [data/staff.csv, row Chiara, column hourly wage (EUR) = 31.20]" in said(
        "what is the wage of Chiara?"
    )


@pytest.mark.parametrize(
    ("question", "path", "old", "new"),
    [
        ("what if Ben's wage were 26?", "data/staff.csv", "Ben,0,23.50", "Ben,0,26"),
        ("what if Jonas' hourly wage were 30?", "data/staff.csv", "Jonas,0,,", "Jonas,0,30,"),
        ("what if demand on Wed early were 5", "data/demand.csv", "Wed,3,2", "Wed,5,2"),
        ("what if two more nurses are needed on Monday late?", "data/demand.csv", "Mon,3,2", "Mon,3,4"),
        ("what would 20 % less late bonus do?", "data/general_parameters.csv", "late_bonus,18", "late_bonus,14.4"),
        ("what if late_bonus were 20,5", "data/general_parameters.csv", "late_bonus,18", "late_bonus,20.5"),
        ("What if late_bonus were 40 instead of 18?", "data/general_parameters.csv", "late_bonus,18", "late_bonus,40"),
        ("if shift_hours doubled?", "data/general_parameters.csv", "shift_hours,5.5", "shift_hours,11"),
    ],
)
def test_what_if_runs_the_program_on_the_changed_cell(said, clinic, runner, question, path, old, new):
    truth = cost(runner, clinic[0], path, old, new)
    text = said(question)
    assert f"Read as: {path}, row " in text
    assert f"Before: objective 3409.75. After: objective {truth:.10g}, {truth - 3409.75:+.10g}" in text


def test_several_changes_are_tried_together_and_none_is_dropped(said):
    text = said("what if max shifts of Chiara were 3 and late_bonus 30")
    assert "column max shifts = 4 → 3; data/general_parameters.csv, row late_bonus, column Value = 18 → 30" in text
    assert "After: objective 3606.15, +196.4" in text
    assert "late_bonus, column Value = 18 → 30" in said("what if agency_rate were 100, late bonus 30")


def test_a_whole_column_changes_and_a_cell_without_a_number_stays(said):
    text = said("what if all wages rise by 10 %")
    assert "row Anna, column hourly wage (EUR) = 29.00 → 31.9" in text
    assert "row Jonas, column hourly wage (EUR) holds nothing and stays so" in text


def test_a_plan_that_stays_optimal_is_not_reported_as_another_one(said):
    assert "The present plan is still optimal" in said("what if agency_rate were 250?")
    assert "decisions change" not in said("what if agency_rate were 250?")


@pytest.mark.parametrize(
    ("question", "readings"),
    [
        ("what if demand were 9", ["data/demand.csv, column early", "data/demand.csv, column late"]),
        ("what if wage were 30", ["data/staff.csv, row Anna", "data/staff.csv, row Tobias", "all of data/staff.csv"]),
        ("what if Anna could work 3 shifts", ["exactly 3 work of Anna", "data/staff.csv, row Anna, column max shifts"]),
        ("what if Tobias is ill on Monday?", ["the decision work of Tobias, Mon"]),
        ("what if 3 of the 5 shifts of Ben on Wed were late", ["several figures (3, 5)"]),
        ("hello", ["names no part", "`late_bonus`", "`work`"]),
    ],
)
def test_two_readings_or_none_are_asked_about(said, question, readings):
    text = said(question)
    assert all(reading in text for reading in readings)
    assert "After:" not in text


def test_a_limit_on_decisions_and_a_dropped_rule_solve_the_model_again(said):
    assert "(5 decisions) >= 3 (now 3)" in said("at least 3 shifts for Chiara on late?")
    assert "After: objective 3510.15, +100.4" in said("what if exactly 0 work of Tobias, Mon")
    assert "Read as: without 1 row of mina_late" in said("what happens without mina_late?")


def test_prices_are_measured_by_one_unit_more_and_less(said, clinic, runner):
    more, less = (cost(runner, clinic[0], "data/staff.csv", "31.20,4", f"31.20,{limit}") for limit in (5, 3))
    text = said("what is one more of contract_Chiara worth?")
    assert (
        f"contract_Chiara <= 4: one more, objective {more:.10g}, no change; one less, objective {less:.10g}, +100.4"
        in text
    )
    text = said("What is one more shift of Chiara worth?")
    assert f"1 less: objective {less:.10g}, +100.4" in text


def test_why_compares_with_one_more_and_names_the_rules_in_the_way(said):
    text = said("why does Chiara not work more?")
    assert "With one more: the model is infeasible" in text
    assert "'contract_Chiara'" in text
    assert "rest_Anna" not in text
    text = said("why not more work for Anna on Mon late?")
    assert "absent_Ben_Mon" not in text  # a row of the same day, without the decision
    text = said("why is the cost so high?")
    assert "work in all: 3,409.75" in text


def test_what_binds_and_what_has_room_is_counted_by_rule(said):
    assert "contract 2 of 6: Chiara; Tobias" in said("what binds?")
    assert "contract_Anna: <= 5, room of 1" in said("which contracts have room?")
    text = said("what limits Tobias?")
    assert "contract_Tobias: <= 3" in text
    assert "cover" not in text


def test_why_infeasible_names_a_conflict_in_the_words_of_the_workspace(runner, tmp_path):
    rota = dict(CLINIC) | {"data/demand.csv": "day,early,late\nMon,8,2\nTue,9,9\n"}
    put(tmp_path, rota)
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    for question in ("why is there no plan?", "how many shifts does Anna work?"):
        text = answer_question(facts, question, runner)
        assert "infeasible" in text
        assert "'agency_limit'" in text


def test_a_program_that_fails_on_other_data_says_so(runner, tmp_path):
    program = PROGRAM.replace("def main():\n", "def main():\n    assert figures()['flour'] > 20, 'too little flour'\n")
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": program})
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    text = answer_question(facts, "what if flour were 10 kg?", runner)
    assert "the program fails on these data: AssertionError: too little flour" in text


def test_numbers_in_json_files_are_data_too_and_files_that_no_program_names_are_said(runner, tmp_path):
    program = PROGRAM.replace("problem.solve()", "problem.solve()  # data.json").replace("3 * wheat", "costs() * wheat")
    program = program.replace("def main", "def costs():\n    import json\n    text = HERE.with_name('data.json').read_text()\n"
                              "    return json.loads(text)['earning']['wheat'][0]\n\n\ndef main")  # fmt: skip
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": program,
                   "data/data.json": '{"earning": {"wheat": [3.5]}}', "data/ovens.csv": "oven,hours\nbig,8\n"})  # fmt: skip
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    text = answer_question(facts, "what if the earning of wheat were 7", runner)
    assert "data/data.json, earning.wheat.0 = 3.5 → 7" in text
    assert "After: objective 700, +300" in text
    text = answer_question(facts, "what if hours of the big oven were 9", runner)
    assert "The program does not name data/ovens.csv: it may not read it" in text


def test_units_of_the_program_stand_beside_values_and_on_the_page(runner, tmp_path):
    program = PROGRAM.replace("import pulp\n", "import pulp\n\nUNITS = {'rye': 'loaves', 'objective': 'EUR'}\n", 1)
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": program})
    assert command.run_program(tmp_path, "", Terminal(file=io.StringIO()), runner.sandbox) == 0
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    assert answer_question(facts, "how many rye loaves?", runner).startswith("rye is 100 loaves [solver_records")
    assert "The optimal objective is 400 EUR" in answer_question(facts, "what is the profit?", runner)
    page = (tmp_path / "report.html").read_text()
    assert "<dd>400 EUR<small>optimal" in page
    assert "loaves</td>" in page


def test_a_linear_model_gives_the_dual_and_its_record(runner, tmp_path):
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    put(tmp_path, write_records(runner.run(tmp_path, "src/bakery.py"), inputs=inputs_hash(list_files(tmp_path))))
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    text = answer_question(facts, "what are the shadow prices?", runner)
    assert "one more, objective 404, +4; one less, objective 396, -4" in text
    assert "One unit more of flour_there changes the objective by 4" in text
    assert "constraints.flour_there.dual_value = 4]" in text
    assert "rye is 100" in answer_question(facts, "how many rye loaves?", runner)


def test_the_page_shows_the_plan_first_and_no_stale_headline(runner, tmp_path):
    put(tmp_path, CLINIC)
    screen = Terminal(file=io.StringIO(), width=200)
    assert command.run_program(tmp_path, "", screen, runner.sandbox) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<dt>objective</dt><dd>3,409.75<small>optimal" in page
    assert page.index("<h2>Decisions</h2>") < page.index("<h2>Documents</h2>")
    assert "<th>Mon early</th>" in page
    table = tmp_path / "data/demand.csv"
    table.write_text(table.read_text().replace("Wed,3", "Wed,4"))
    page = render_page(tmp_path)
    assert "3,409.75" not in page
    assert "code or data have changed since" in page
    assert "<h2>Decisions</h2>" not in page
    assert command.run_program(tmp_path, "", screen, runner.sandbox) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<dd>3,699.75<small>optimal" in page
    assert "<th>Wed</th><th>early</th>" in page  # the agency's only shift, with both of its indices


STORES = ["Zürich", "Łódź", "Graz", "Brno", "Győr", "Ulm", "Pécs", "Linz", "Most", "Köln", "Bath", "Vlorë"]
SHEETS_PROGRAM = """import pulp
from oragent.workspace import read_table

demand = {row["store"]: float(row["demand"]) for row in read_table("data/plan.xlsx", sheet="May")}
depots = {row["depot"]: row for row in read_table("data/plan.xlsx", sheet="Depots")}
problem = pulp.LpProblem("plan", pulp.LpMinimize)
ship = pulp.LpVariable.dicts("ship", (list(depots), list(demand)), 0)
problem += pulp.lpSum(float(depots[d]["cost"]) * (1 + i % 5) * ship[d][s] for d in depots for i, s in enumerate(demand))
for s in demand:
    problem += pulp.lpSum(ship[d][s] for d in depots) >= demand[s], f"served_{s}"
for d in depots:
    problem += pulp.lpSum(ship[d][s] for s in demand) <= float(depots[d]["capacity"]), f"room_{d}"
problem.solve()
print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
"""


def test_a_what_if_names_the_sheet_of_a_workbook(runner: ProgramRunner, tmp_path: Path) -> None:
    """36 routes; the oracle is the program on a workbook that openpyxl edited."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for title, factor in (("April 2026", 1), ("May", 2)):
        sheet = book.create_sheet(title)
        sheet.append(("store", "demand"))
        for number, store in enumerate(STORES):
            sheet.append((store, factor * (5 + number)))
    book.create_sheet("Depots")
    for row in (("depot", "cost", "capacity"), ("Nord", 3, 90), ("Süd", 4, 150), ("West", 7, 400)):
        book["Depots"].append(row)
    (tmp_path / "data").mkdir()
    book.save(tmp_path / "data/plan.xlsx")
    put(tmp_path, {ROTA: SHEETS_PROGRAM, "docs/business_requirement.md": "# Plan\n\nServe all stores in May.\n"})
    facts = read_facts(tmp_path, list_files(tmp_path), runner)

    def ask(question: str) -> str:
        text = answer_question(facts, question, runner)
        assert check_citations(text, list_files(tmp_path)) == ()
        return text

    def objective(sheet: str, cell: str, value: float) -> float:
        edited, out = openpyxl.load_workbook(tmp_path / "data/plan.xlsx"), io.BytesIO()
        edited[sheet][cell] = value
        edited.save(out)
        optimum = runner.run(tmp_path, ROTA, {"data/plan.xlsx": out.getvalue()}).printed_objective.value
        assert optimum is not None
        return optimum

    text = ask("what if the demand of Brno were 30?")
    assert text.startswith("Which do you mean?")
    assert "data/plan.xlsx, sheet April 2026, row Brno, column demand" in text
    assert "data/plan.xlsx, sheet May, row Brno, column demand" in text
    expected = f"After: objective {objective('May', 'B5', 30):g}"
    for question in ("what if the demand of Brno in sheet May were 30?", "what if the demand of Brno in May were 30?",
                     "what if data/plan.xlsx, sheet May, row Brno, column demand were 30"):  # fmt: skip
        text = ask(question)
        assert text.startswith("Read as: data/plan.xlsx, sheet May, row Brno, column demand = 16 → 30.")
        assert expected in text
    text = ask("what if the demand of Brno on the 'April 2026' sheet were 30?")
    assert text.startswith("Read as: data/plan.xlsx, sheet April 2026, row Brno, column demand = 8 → 30.")
    assert "The program does not name data/plan.xlsx, sheet April 2026: if it reads another sheet" in text
    assert "no change" in text
    text = ask("what if the capacity of Nord were 120?")
    assert f"After: objective {objective('Depots', 'C2', 120):g}" in text
    assert "There is no sheet 'June'. The sheets are April 2026, May, Depots." in ask(
        "what if demand in sheet June rose by 5 %?"
    )
    assert "sheet May, row Ulm, column demand = 20]" in ask("what is the demand of Ulm in sheet May?")
    text = ask("which is the cheapest depot?")
    assert (
        text
        == "- cheapest depot by cost: Nord [data/plan.xlsx, sheet Depots, row Nord, column cost = 3] with 3; then Süd 4, West 7.\n"
    )
    assert "by capacity: West [" in ask("what's the largest depot?")
    text = ask("largest store?")  # the same one by both sheets
    assert text.count("demand in data/plan.xlsx, sheet") == text.count(": Vlorë [data/plan.xlsx") == 2


def test_the_largest_of_some_things_is_named_with_its_total(runner: ProgramRunner, tmp_path: Path) -> None:
    demand = {("Nord", 1): 950, ("Nord", 2): 700, ("Ost", 1): 1600, ("Ost", 2): 0, ("Süd", 1): 10, ("Süd", 2): 20}
    rows = "".join(
        f"{house};{week};{value};{3 if house == 'Süd' else 2},5\n" for (house, week), value in demand.items()
    )
    put(tmp_path, {ROTA: PROGRAM, "docs/business_requirement.md": STORY, "data/general_parameters.csv": DATA,
                   "data/haus.csv": "Haus;Woche;Bedarf (kg);Preis (EUR)\n" + rows,
                   "data/betten.csv": "Haus,Mo,Di\nNord,10,9\nOst,8,12\n"})  # fmt: skip
    facts = read_facts(tmp_path, list_files(tmp_path), runner)

    def ask(question: str) -> str:
        return answer_question(facts, question, runner)

    houses = ("Nord", "Ost", "Süd")
    totals = {house: sum(value for (name, _), value in demand.items() if name == house) for house in houses}
    assert max(totals, key=totals.get) == "Nord"
    text = ask("which Haus has the largest Bedarf?")
    assert text == (
        "Which do you mean? 'largest Haus by Bedarf in total' or 'largest Haus by Bedarf in a single row'\n"
    )
    text = ask("largest Haus by Bedarf in total")
    assert text == "- largest Haus by Bedarf in total: Nord (2 cells) with 1650; then Ost 1600, Süd 30.\n"
    text = ask("largest Haus by Bedarf in a single row")
    assert "Ost [data/haus.csv, row Ost, 1, column Bedarf (kg) = 1600] with 1600; then Nord 950" in text
    text = ask("which Haus has the largest Bedarf in week 1?")
    assert text.startswith("- largest Haus by Bedarf: Ost [data/haus.csv, row Ost, 1, column Bedarf (kg) = 1600]")
    text = ask("what if the Bedarf of Nord in week 1 rises by 10 %?")
    assert text.startswith("Read as: data/haus.csv, row Nord, 1, column Bedarf (kg) = 950 → 1045.")
    text = ask("what if the Bedarf of Nord in week 1 were 2.000?")  # the table has decimal commas
    assert "= 950 → 2000." in text
    assert "= 950 → 1250.5." in ask("what if the Bedarf of Nord in week 1 were 1.250,50?")
    assert ask("what if Mo of Nord were 2.000?").startswith(
        "Read as: data/betten.csv, row Nord, column Mo = 10 → 2000."
    )
    text = ask("which Haus has the highest Preis?")  # prices are not added
    assert text.startswith(
        "- dearest Haus by Preis in a single row: Süd [data/haus.csv, row Süd, 1, column Preis (EUR)"
    )
    text = ask("which Haus has the smallest total Bedarf?")
    assert text.startswith("- smallest Haus by Bedarf in total: Süd (2 cells) with 30")
    text = ask("which Haus needs the most Betten in total?")  # the name of the table
    assert text == "- largest Haus by betten in total: Ost (2 cells) with 20; then Nord 19.\n"
    assert ask("which Haus has the largest Gewinn?").startswith("It cannot be known which Haus is largest: no table")
    (tmp_path / "data/haus.csv").write_text("Haus,Bedarf\nNord,950\nOst,2.300\n")
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    assert "data/haus.csv, column Bedarf can be read in two ways" in ask("which Haus has the largest Bedarf?")
    assert ask("what if Mo of Nord were 2.300?") == "2.300 can be read in two ways: write 2300, or 2.3.\n"
    assert "= 10 → 2.35." in ask("what if Mo of Nord were 2.35?")


def test_the_cheapest_and_largest_things_come_from_the_tables(said, runner: ProgramRunner, tmp_path: Path) -> None:
    text = said("who is the cheapest of the staff?")
    assert text.startswith("- cheapest staff by hourly wage: Mina [")
    text = said("which is the cheapest staff member by wage?")
    assert text.startswith("It cannot be known which member is cheapest")
    text = said("who is the most expensive staff?")
    assert text.startswith(
        "- most expensive staff by hourly wage: Chiara [data/staff.csv, row Chiara, column hourly wage (EUR) = 31.20]"
    )
    assert "Without a figure, and not ranked: Jonas." in text
    put(tmp_path, {ROTA: PROGRAM, "docs/business_requirement.md": STORY, "data/general_parameters.csv": DATA,
                   "data/depots.csv": "depot;city;fixed cost (EUR);cost per unit (EUR);max pallets\nD1;Łódź;900;2,5;40\n"
                                      "D2;Brno;700;3;90\nD3;Graz;1.200;4,1;60\n"})  # fmt: skip
    facts = read_facts(tmp_path, list_files(tmp_path), runner)
    text = answer_question(facts, "which is the cheapest depot?", runner)
    assert text == "Which do you mean? 'cheapest depot by fixed cost' or 'cheapest depot by cost per unit'\n"
    text = answer_question(facts, "cheapest depot by cost per unit", runner)
    assert text.startswith(
        "- cheapest depot by cost per unit: D1 [data/depots.csv, row D1, column cost per unit (EUR) = 2.5]"
    )
    assert answer_question(facts, "which depot is the dearest?", runner).count("D3 [") == 2  # by both costs
    assert "largest depot by max pallets: D2 [" in answer_question(facts, "which depot is the largest?", runner)
    text = answer_question(facts, "which is the cheapest supplier?", runner)
    assert text.startswith(
        "It cannot be known which supplier is cheapest: no table and no name in the model gives costs"
    )
