"""Every kind of noise has an exact inverse, and the truth stays in the folder: the record alone tells no value."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.noise.artifacts import Artifacts, NoiseStep, add_line, decimal, fraction, take_line
from oragent.evals.workspace.noise.planting import OPERATORS, plant, resolve
from oragent.workspace import parameters
from oragent.workspace.tables import CsvTable

NAMES = ["item", "Unit cost (EUR)", "mass (kg)", "share", "demand", "time (h)", "note", "valid_from", "odd\nname", ""]
NUMBERS = st.one_of(
    st.integers(-10_000, 10_000_000).map(str),
    st.integers(-100_000, 100_000).map(lambda thousandth: decimal(Fraction(thousandth, 1000)) or "0"),
)
SHARES = st.integers(0, 100).map(lambda per_cent: decimal(Fraction(per_cent, 100)) or "0")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[str, ...]:
    cells = draw(st.sampled_from([NUMBERS, SHARES, WORDS, st.one_of(NUMBERS, WORDS)]))
    return tuple(draw(st.lists(cells, min_size=rows, max_size=rows)))


@st.composite
def data_tables(draw: st.DrawFn) -> CsvTable:
    rows, width = draw(st.integers(0, 5)), draw(st.integers(1, 4))
    keys = draw(
        st.one_of(st.just([f"k{place}" for place in range(rows)]), st.lists(WORDS, min_size=rows, max_size=rows))
    )
    header = draw(st.lists(st.sampled_from(NAMES), min_size=width + 1, max_size=width + 1))
    body = [tuple(keys), *(draw(columns(rows)) for _ in range(width))]
    return CsvTable(tuple(header), tuple(zip(*body, strict=True)))


@st.composite
def parameter_tables(draw: st.DrawFn) -> CsvTable:
    names = draw(st.lists(st.sampled_from(["flour", "ovens", "wage", "limit"]), max_size=4))
    rows = tuple((name, draw(st.one_of(NUMBERS, WORDS)), draw(WORDS), draw(WORDS)) for name in names)
    return CsvTable(parameters.HEADER, rows)


@st.composite
def folders(draw: st.DrawFn) -> Artifacts:
    names = draw(st.lists(st.sampled_from(["costs.csv", "ovens.csv", "costs_part1.csv", "plain"]), unique=True))
    made = {name: draw(data_tables()) for name in names}
    if draw(st.booleans()):
        made[parameters.FILE] = draw(parameter_tables())
    lines = st.lists(
        st.one_of(st.text(max_size=20), st.just("All figures are those in force on 2020-01-01.")), max_size=4
    )
    texts = {
        name: "\n".join(draw(lines)) for name in draw(st.lists(st.sampled_from(["a.md", "mails_1.txt"]), unique=True))
    }
    return Artifacts(made, texts)


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=30)
@given(folders(), SEEDS)
def test_each_operator_has_an_exact_inverse(name: str, clean: Artifacts, seed: int) -> None:
    planted = OPERATORS[name].plant(clean, np.random.default_rng(seed), frozenset())
    if planted is None:
        return  # no place for it here; below, each finds one in a plain folder
    assert planted.artifacts != clean
    assert planted.step.operator == name
    assert OPERATORS[name].undo(planted.artifacts, planted.step) == clean


@given(folders(), SEEDS, st.integers(0, len(OPERATORS)))
def test_the_resolver_gives_the_exact_artifacts_back(clean: Artifacts, seed: int, count: int) -> None:
    noisy = plant(clean, np.random.default_rng(seed), count)
    assert len(noisy.steps) <= count
    steps = [NoiseStep.from_json(json.loads(json.dumps(step.to_json()))) for step in noisy.steps]
    assert resolve(noisy.artifacts, steps) == clean
    again = plant(clean, np.random.default_rng(seed), count)
    assert again == noisy


BAKERY = Artifacts(
    {
        "ovens.csv": CsvTable(
            ("oven", "run cost (EUR)", "capacity (kg)", "waste", "area"),
            (
                ("A", "7391", "512.5", "0.05", "30"),
                ("B", "8642", "611.25", "0.125", "45"),
                ("C", "9753", "733", "0", "60"),
            ),
        ),
        parameters.FILE: CsvTable(
            parameters.HEADER,
            (("flour", "98765.4", "kg", "what there is"), ("demand", "43219", "loaves", "what is wanted")),
        ),
    },
    {"brief.md": "Bake for the least cost.\n"},
)
VALUES = {cell for table in BAKERY.tables.values() for row in table.rows for cell in row if fraction(cell) is not None}


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_finds_a_place_in_a_plain_folder(name: str) -> None:
    planted = OPERATORS[name].plant(BAKERY, np.random.default_rng(1), frozenset())
    assert planted is not None
    assert OPERATORS[name].undo(planted.artifacts, planted.step) == BAKERY


@given(SEEDS)
def test_all_kinds_at_once_are_resolved_and_no_record_holds_a_value(seed: int) -> None:
    noisy = plant(BAKERY, np.random.default_rng(seed), len(OPERATORS))
    assert len(noisy.steps) >= 8
    assert resolve(noisy.artifacts, noisy.steps) == BAKERY
    told = {str(value) for step in noisy.steps for value in step.details.values()}
    assert not told & (VALUES - {"0", "30", "45", "60"})


def planted_in_bakery(name: str) -> tuple[Artifacts, NoiseStep]:
    planted = OPERATORS[name].plant(BAKERY, np.random.default_rng(3), frozenset())
    assert planted is not None
    return planted.artifacts, planted.step


@pytest.mark.parametrize("name", ["stated value", "parameter in a mail"])
def test_the_resolver_reads_the_documents_and_not_the_record(name: str) -> None:
    noisy, step = planted_in_bakery(name)
    clean = resolve(noisy, [step])
    document = step.text("document")
    text = noisy.documents[document]
    values = [value for value in VALUES if value in text and len(value) > 1]
    assert values
    edited = resolve(noisy.put(document, text.replace(max(values, key=len), "31415")), [step])
    assert edited != clean
    assert any("31415" in row for table in edited.tables.values() for row in table.rows)


def test_of_two_mails_the_later_counts() -> None:
    noisy, step = planted_in_bakery("parameter in a mail")
    mails = noisy.documents[step.text("document")].split("\n\n---\n\n")
    assert len(mails) == 2
    assert len({mail.split("\nValue: ")[1].split("\n")[0] for mail in mails}) == 2
    swapped = noisy.put(step.text("document"), "\n\n---\n\n".join(reversed(mails)))
    assert resolve(swapped, [step]) == BAKERY


@pytest.mark.parametrize("spoil", ["nothing", "first", "same day", "one without a value"])
def test_a_thread_without_one_latest_mail_is_refused(spoil: str) -> None:
    noisy, step = planted_in_bakery("parameter in a mail")
    mails = noisy.documents[step.text("document")].split("\n\n---\n\n")
    spoiled = {
        "nothing": "Dear all,\nplease call me.",
        "first": f"Hello!\n{mails[0]}\n\n---\n\n{mails[1]}",
        "same day": f"{mails[0]}\n\n---\n\n{mails[0]}",
        "one without a value": "\n\n---\n\n".join([mails[0], mails[1].replace("Value: ", "Worth: ")]),
    }
    with pytest.raises(WorkspaceError, match="is no thread of dated e-mails; expected one latest mail"):
        resolve(noisy.put(step.text("document"), spoiled[spoil]), [step])


def test_the_day_that_the_document_names_decides_which_rows_are_in_force() -> None:
    noisy, step = planted_in_bakery("rows with validity")
    assert len(noisy.tables["ovens.csv"].rows) > 3
    document = step.text("document")
    text = noisy.documents[document]
    late = noisy.put(document, text.replace(text.split("in force on ")[1][:10], "2099-12-31"))
    assert resolve(late, [step]) != BAKERY
    early = noisy.put(document, text.replace(text.split("in force on ")[1][:10], "1999-12-31"))
    with pytest.raises(WorkspaceError, match="has no row in force on 1999-12-31"):
        resolve(early, [step])


@pytest.mark.parametrize("name", OPERATORS)
def test_where_the_truth_is_gone_it_is_said(name: str) -> None:
    noisy, step = planted_in_bakery(name)
    with pytest.raises(WorkspaceError) as raised:
        resolve(Artifacts({}, {}), [step])
    assert str(raised.value).isprintable()
    with pytest.raises(WorkspaceError, match="lacks"):
        resolve(noisy, [NoiseStep(name, {})])


def test_what_a_revision_brings_is_never_hidden() -> None:
    keep = frozenset({"flour", "demand", "A", "B", "C", *BAKERY.tables["ovens.csv"].header})
    for seed in range(40):
        for name in ("stated value", "parameter in a mail", "other name"):
            assert OPERATORS[name].plant(BAKERY, np.random.default_rng(seed), keep) is None


def test_uneven_tables_and_unknown_noise_are_refused() -> None:
    with pytest.raises(WorkspaceError, match=r"t\.csv has uneven rows"):
        plant(Artifacts({"t.csv": CsvTable(("a", "b"), (("1",),))}, {}), np.random.default_rng(0), 1)
    with pytest.raises(WorkspaceError, match="'fog' is no noise"):
        resolve(BAKERY, [NoiseStep("fog", {})])
    with pytest.raises(WorkspaceError, match="is no record"):
        NoiseStep.from_json({"operator": "fog", "details": [1]})


@given(st.fractions(max_denominator=10**6))
def test_decimals_are_exact_or_refused(value: Fraction) -> None:
    text = decimal(value)
    if text is not None:
        assert fraction(text) == value
        assert decimal(Fraction(text)) == text


@pytest.mark.parametrize("cell", ["-0", "007", "5.0", "1e3", " 5", "+5", ".5", "5.", "", "٣"])
def test_other_ways_to_write_a_number_are_left_alone(cell: str) -> None:
    assert fraction(cell) is None


@given(st.text(), SEEDS)
def test_a_line_that_was_added_is_taken_out_again(text: str, seed: int) -> None:
    line = "one line, and no other is like it"
    more = add_line(text, line, np.random.default_rng(seed))
    assert take_line(more, line)[0] == text
