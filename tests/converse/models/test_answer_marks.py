"""Lies of a language model are shown with a mark, true sentences without one."""

import pytest

from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.references.answer_text import NOT_FROM_MODEL, OPINION, _figures, make_answer, plain_answer

JOBS = [f"job{number}" for number in range(11, 17)]
VALUES = [70.5, 64.0, 58.25, 41.0, 38.5, 27.0]
HOURS = [9.0, 8.0, 7.0, 5.0, 4.5, 3.0]
WEEKS = ["wk1", "wk2", "wk3"]
# The last two lines were asked for the last message.
LINES = ("solve", "value skip", "whatif capacity[wk2] += 4", "whatif capacity[wk1] -= 3", "slack capacity")
RECENT = {"r4", "r5"}
SAID = ["How many jobs are there?", "What if week 1 has 3 hours less?"]


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """Six jobs in three weeks of which some are skipped."""
    builder = IndexedModelBuilder("jobs")
    builder.add_set("task", JOBS)
    builder.add_set("week", WEEKS, is_time=True)
    done = builder.add_variables("run", ["task", "week"], high=1, kind="integer")
    skipped = builder.add_variables("skip", ["task"], high=1, kind="integer")
    for at, job in enumerate(JOBS):
        builder.add_rows(
            f"once_{job}", relation="=", columns=[*done[3 * at : 3 * at + 3], skipped[at]], values=[1.0] * 4, rhs=1.0
        )
    builder.add_parameter("hours_of_week", ["week"], [10.0, 11.0, 9.5], unit="h")
    builder.add_rows(
        "capacity",
        ["week"],
        "<=",
        rows=[week for _ in JOBS for week in range(3)],
        columns=done,
        values=[hours for hours in HOURS for _ in WEEKS],
        rhs=builder.cells("hours_of_week"),
    )
    builder.set_objective("profit", "maximize", done, [value for value in VALUES for _ in WEEKS], unit="EUR")
    bench = Workbench(builder.build())
    for line in LINES:
        bench.ask(line)
    return bench


def number(bench: Workbench, key: str) -> float:
    """Objective of a result."""
    objective = bench.results[key].objective
    return getattr(objective, "after", objective).value


# Kind of the lie and its text; ``{old}`` is the profit of an older trial that no recent result contains.
LIES = [
    ("invented", "The profit is 512.7 EUR."),
    ("invented", "That costs about 87 EUR a week."),
    ("invented", "Weeks 1 and 3 lose 61 hours."),
    ("invented", "Skipping it saves 9,400 EUR a year."),
    ("older", "The profit is now {old} EUR."),
    ("older", "We get {old} EUR with fewer hours."),
    ("older", "{old} EUR remain after the change."),
    ("field", "After the change the profit is {r4.objective.before}."),
    ("field", "The new profit: {r4.objective.before}."),
    ("field", "The change brings {r4.objective.before} in all."),
    ("field", "Week 1 has {r5.high(capacity[wk1])} left."),
    ("member", "In week 3, {r5.slack(capacity[wk2])} hours are free."),
    ("member", "The third week has {r5.slack(capacity[wk1])} hours left."),
    ("nothing", "The profit falls to {r4.profit}."),
    ("nothing", "It is {r9.objective} in the end."),
    ("nothing", "Week 4 has {r5.slack(capacity[wk4])} hours left."),
    ("claim", "This plan is optimal."),
    ("claim", "Week 2 is the bottleneck of the shop."),
    ("claim", "The profit falls because the first week is too short."),
    ("claim", "It is best to skip the last job."),
]
TRUE = [
    "The profit falls to {r4.objective}.",
    "The profit falls to {r4.objective.after}.",
    "It falls by {r4.objective.difference}.",
    "Before the change it was {r4.objective.before}.",
    "The profit goes from {before:g} to {after:g} EUR.",
    "You lose {loss:g} EUR.",
    "The optimal profit is now {r4.objective}.",
    "{r4.objective} is the best that can be reached.",
    "The first week binds because {r5.binding(capacity[wk1])} is what the solver says.",
    "In week 1, {r5.slack(capacity[wk1])} hours are free.",
    "In wk2 {r5.slack(capacity[wk2])} hours are free.",
    "Week 3 has {r5.slack(capacity[wk3])} hours left.",
    "There are 6 jobs.",
    "There are 3 weeks.",
    "Six jobs share 3 weeks.",
    "Week 1 has 3 hours less, as you asked.",
    "Job 13 takes 7 hours less than you think?",
    "Job 13 is skipped.",
    "Jobs 13 and 14 are skipped.",
    "Jobs 11, 12 and 16 are run.",
    "job 11 is run in week 2.",
    "run[job11, wk2] changes.",
    "job16 moves to wk3.",
    "Weeks 1, 2 and 3 are full.",
    "In weeks 1 and 2 there is little room.",
    "The profit is {r4.better} than before.",
    "The change is {r4.possible}.",
    "1. Look at week 2.\n2. Ask for the price of its hours.",
    "The three weeks have {r5.value(capacity[wk1]) + r5.value(capacity[wk2]) + r5.value(capacity[wk3])} hours of wk1, "
    "wk2 and wk3 in use.",
    "The loss is {100 * r4.objective.difference / r4.objective.before} % of the profit before.",
    "Shall I try week 2 with more hours?",
    "No job is split.",
    "The shop has 3 capacity rows.",
    "The old profit was {r1.objective}.",
    "With 4 hours more in week 2, profit was {r3.objective}.",
    "Ask 'price capacity[wk1]' for the value of an hour.",
    "The model has {columns} variables.",
    "You asked for 3 hours less.",
    "Capacity of week 1 is used up to {r5.slack(capacity[wk1])}.",
    "That is all that I know.",
]


def shown(bench: Workbench, text: str) -> tuple[str, bool]:
    """The answer as text, and whether the reader sees a mark beside the ids of results."""
    before, after = bench.results["r4"].objective.before.value, number(bench, "r4")
    for name, value in {
        "{old}": f"{number(bench, 'r3'):g}",
        "{before:g}": f"{before:g}",
        "{after:g}": f"{after:g}",
        "{loss:g}": f"{before - after:g}",
        "{columns}": str(bench.model.shape[1]),
    }.items():
        text = text.replace(name, value)
    parts = make_answer(text, bench.results, bench.model, SAID, RECENT)
    is_marked = any(part.kind in ("unsupported", "missing", "opinion") or part.field for part in parts)
    return plain_answer(parts), is_marked


def test_at_most_two_of_twenty_lies_are_shown_without_a_mark(bench: Workbench) -> None:
    assert (len(LIES), len({kind for kind, _ in LIES})) == (20, 6)
    assert number(bench, "r3") not in (number(bench, "r1"), number(bench, "r4"))
    unmarked = [text for _, text in LIES if not shown(bench, text)[1]]
    assert len(unmarked) <= 2, unmarked


def test_at_most_one_of_forty_true_sentences_is_marked(bench: Workbench) -> None:
    assert len(TRUE) == 40
    # The name of a field is no mark where the sentence says it.
    marked = [
        text
        for text in TRUE
        for answer, is_marked in [shown(bench, text)]
        if is_marked and (NOT_FROM_MODEL in answer or OPINION in answer or "(" in answer)
    ]
    assert len(marked) <= 1, marked


def test_each_kind_of_lie_has_its_mark(bench: Workbench) -> None:
    assert NOT_FROM_MODEL in shown(bench, "We get {old} EUR.")[0]
    assert "before" in shown(bench, "Now {r4.objective.before}.")[0]
    assert "capacity[wk2]" in shown(bench, "In week 3 {r5.slack(capacity[wk2])}.")[0]
    assert "capacity" not in shown(bench, "In wk2 {r5.slack(capacity[wk2])}.")[0]
    answer = shown(bench, "It is {r4.objective}. This is optimal. Ask more!")[0]
    assert f"_This is optimal._ [{OPINION}] Ask more!" in answer
    for claim in ("Das ist der Engpass.", "C'est la meilleure solution.", "Es el cuello de botella.", "È la migliore."):
        assert OPINION in shown(bench, claim)[0]
    # The label's own figure, one that no label has, and one with a unit.
    assert not shown(bench, "Jobs 11 and 15 run.")[1]
    assert NOT_FROM_MODEL in shown(bench, "Job 19 runs.")[0]
    assert NOT_FROM_MODEL in shown(bench, "It takes 15 EUR.")[0]


# Texts about a model of years, jobs, sizes and hours, and the numbers in them that nothing supports.
NUMBERS = [
    ("In 2026 it rains.", []), ("It rains in 2026", []), ("In 2028 it rains.", ["2028"]), ("In 202 it rains.", ["202"]),
    ("It costs 2026 EUR.", ["2026"]), ("It makes 2026 kg.", ["2026"]), ("It takes 2026 h.", ["2026"]),
    ("It is 2026 % more.", ["2026"]), ("2026 jobs.", []), ("30 it is.", ["30"]), ("Then 30.", ["30"]), ("year 2027 EUR", []),
    ("Take size 1.5 now.", []), ("Take size 8.5 now.", ["8.5"]), ("1.5 now", ["1.5"]), ("The s 30 is.", ["30"]),
    ("job 13", []), ("Jobs 13 and 15 run.", []), ("job 013", []), ("job: 13", []), ("job  :  13", ["13"]), ("job 19", ["19"]),
    ("task 13", []), ("tasks 13", []), ("shift 30", []), ("At night 07 and 7.", []), ("shift 31", ["31"]),
    ("night 17", ["17"]), ("jobs 13, 15, 19", ["19"]),
    ("EUR268154", ["268154"]), ("CO2 and CO29", []), ("X777", []), ("Y777", ["777"]), ("Y77", []), ("Y77.5", ["77.5"]),
    ("line4711 runs", []), ("Line4711", []), ("line4712 runs", ["4712"]),
    ("41. first\n42) second", []), ("1234. first", ["1234"]), ("see 41. first", ["41"]),
    ("line4711[41] is", []), ('"line4711"[41] is', []), ("other[41] is", ["41"]), ("line4711[41] and 41", ["41"]),
    ("At 06:45.", []), ("At 06:50.", ["06", "50"]), ("It says 9400.", []), ("9,400 it is", []), ("It is 9,401.", ["9,401"]),
    ("There are 2 years.", []), ("There are 4 tasks.", []), ("There are 33 columns.", []), ("and 34 more", ["34"]),
]  # fmt: skip


def rules_model() -> IndexedModel:
    """Columns by shift and by year, of which 28 are kept free for other uses."""
    builder = IndexedModelBuilder("rules")
    builder.add_set("year", ["2026", "2027"])
    builder.add_set("task", ["job11", "job12", "job13", "job15"])
    builder.add_set("size", ["1.5", "4.5", "21"])
    builder.add_set("hour", ["06:45", "night07"])
    builder.add_set("shift", ["30"])
    builder.add_set("place", [f"p{'x' * at}" for at in range(1, 29)])
    columns = builder.add_variables("line4711", ["year"], high=1, unit="kg/h")
    for name, parts in (("b", ["hour"]), ("c", ["shift"]), ("d", ["place"])):
        builder.add_variables(name, parts, high=1)
    builder.set_objective("gain", "maximize", columns, [1.0, 1.0], unit="EUR")
    return builder.build()


@pytest.mark.parametrize(("text", "unsupported"), NUMBERS)
def test_numbers_are_marked_unless_they_are_labels_or_parts_of_names(text: str, unsupported: list[str]) -> None:
    parts = make_answer(text, {}, rules_model(), ["Does X777 900 times cost 9,400 more?"])
    assert "".join(part.text for part in parts) == text
    assert [part.text for part in parts if part.kind == "unsupported"] == unsupported


@pytest.mark.parametrize(("spaces", "is_label"), [(0, True), (3, True), (4, False)])
def test_a_list_of_labels_is_as_long_as_what_is_searched_for_its_name(spaces: int, is_label: bool) -> None:
    text = f"jobs {'13, ' * 17}13{' ' * spaces}, 15"
    assert text.index("15") == 77 + spaces
    parts = make_answer(text, {}, rules_model(), [])
    assert ("15" not in [part.text for part in parts if part.kind == "unsupported"]) == is_label


def test_numbers_of_results_count_without_sign_and_those_of_requests_do_not(bench: Workbench) -> None:
    result = bench.results["r3"]
    found = set(_figures(result))
    assert result.objective.difference.value in found
    # The request adds 4 hours, which no figure of the result is; the truth of a statement is no number.
    assert 4.0 not in found
    assert list(_figures((True, None, "7", (2, 3.5)))) == [2.0, 3.5]
    loss = bench.results["r4"].objective.difference.value
    assert loss < 0
    recent = {"r4": bench.results["r4"]}
    parts = make_answer(f"It is {-loss:g} less.", recent, bench.model, [])
    assert [part.kind for part in parts] == ["text"]


def test_without_a_last_message_all_results_count_and_nothing_is_an_opinion(bench: Workbench) -> None:
    text = f"We get {number(bench, 'r3'):g} EUR. This is optimal."
    assert [part.kind for part in make_answer(text, bench.results, bench.model, [])] == ["text"]


@pytest.mark.parametrize(("label", "is_named"), [("wk1", True), ("wk12", False), ("WK1!", True), ("swk1", False)])
def test_a_figure_names_its_member_unless_the_text_has_its_whole_label(
    bench: Workbench, label: str, is_named: bool
) -> None:
    text = f"The slack of {label} is {{r5.slack(capacity[wk1])}}."
    parts = make_answer(text, bench.results, bench.model, SAID, RECENT)
    (figure,) = (part for part in parts if part.kind == "figure")
    assert ("wk1" not in figure.field) == is_named
