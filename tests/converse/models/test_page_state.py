"""What the page of a conversation shows of a model is what the model and its optimum hold."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ModellingError
from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.page_state import label_choices, page_state, pivot_table
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.files.model_files import write
from oragent.modelling.solving.model_solving import solve
from tests.converse.models.workshop import TRUTH, write_workshop
from tests.modelling.indexed_models import CITIES, DEPOTS, WEEKS, transport, transport_data


@pytest.fixture(scope="module")
def shipping(tmp_path_factory: pytest.TempPathFactory) -> ModelConversation:
    """A conversation about a transport model with its optimum."""
    folder = tmp_path_factory.mktemp("shipping")
    write(transport(), folder / "model.json")
    return talk(folder, folder / "model.json", "solve")


def talk(folder: Path, model: Path, *messages: str) -> ModelConversation:
    opened = begin_conversation(folder / "outputs", ConversationRequest(str(model)))

    async def run() -> ModelConversation:
        async with ModelConversation(opened, read_request(opened)).open(None) as conversation:
            for message in messages:
                await conversation.say(message)
            return conversation

    return asyncio.run(run())


def texts(table: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (row["label"], column): cell["text"]
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_data_by_two_indices_are_the_cells(shipping: ModelConversation) -> None:
    demand = transport_data()["demand"]
    table = pivot_table(shipping, {"family": "demand", "rows": "0", "columns": "1"})
    assert {key: number(text) for key, text in texts(table).items()} == demand
    assert (table["columns"], [row["label"] for row in table["rows"]]) == (WEEKS, CITIES)
    assert (table["hidden"], table["summed"], table["note"]) == ([0, 0], [], "")
    turned = pivot_table(shipping, {"family": "demand", "rows": "1", "columns": "0"})
    assert {(b, a): text for (a, b), text in texts(turned).items()} == texts(table)


def test_an_index_that_is_not_shown_is_summed_or_fixed(shipping: ModelConversation) -> None:
    demand = transport_data()["demand"]
    (total,) = pivot_table(shipping, {"family": "demand", "rows": "0", "fixed.1": "wk2"})["rows"][:1]
    assert number(total["cells"][0]["text"]) == demand[CITIES[0], "wk2"]
    table = pivot_table(shipping, {"family": "demand", "rows": "0"})
    assert table["summed"] == ["week"]
    for row in table["rows"]:
        assert number(row["cells"][0]["text"]) == sum(demand[row["label"], week] for week in WEEKS)
        assert row["cells"][0]["sum"] is True
    whole = pivot_table(shipping, {"family": "demand"})
    assert number(whole["rows"][0]["cells"][0]["text"]) == sum(demand.values())


def test_variables_are_those_of_the_optimum_and_their_names_can_be_asked_for(shipping: ModelConversation) -> None:
    table = pivot_table(shipping, {"family": "ship", "rows": "0", "columns": "1"})
    shipped = {key: number(text) for key, text in texts(table).items()}
    assert set(shipped) == set(itertools.product(DEPOTS, CITIES))
    distance = transport_data()["distance"]
    best = solve(transport().without_flat_names(), duals=False).objective
    stock = pivot_table(shipping, {"family": "stock"})
    held = number(stock["rows"][0]["cells"][0]["text"])
    assert sum(distance[key] * value for key, value in shipped.items()) + held == pytest.approx(best)
    bench = shipping.workbench
    for row, column in ((0, 0), (1, 2), (2, 3)):
        cell = table["rows"][row]["cells"][column]
        result = bench.ask(f"total {cell['name']}")
        assert result.total.value == pytest.approx(number(cell["text"]), abs=1e-6)


def test_rows_are_searched_and_an_unknown_label_has_no_members(shipping: ModelConversation) -> None:
    table = pivot_table(shipping, {"family": "demand", "rows": "0", "columns": "1", "search": "NI"})
    assert [row["label"] for row in table["rows"]] == ["Nice", "Nîmes"]
    assert pivot_table(shipping, {"family": "demand", "rows": "0", "fixed.1": "never"})["rows"] == []
    assert label_choices(shipping, "city") == CITIES


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"family": "none"},
        {"family": "demand", "rows": "2"},
        {"family": "demand", "columns": "x"},
        {"family": "demand", "rows": "-1"},
    ],
)
def test_a_question_about_nothing_is_refused(question: dict[str, str], shipping: ModelConversation) -> None:
    with pytest.raises(ModellingError):
        pivot_table(shipping, question)


@pytest.mark.parametrize(("rows", "columns"), [(250, 3), (3, 70)])
def test_what_is_hidden_of_a_large_table_is_counted(rows: int, columns: int, tmp_path: Path) -> None:
    builder = IndexedModelBuilder("large")
    builder.add_set("a", [f"a{at}" for at in range(rows)])
    builder.add_set("b", [f"b{at}" for at in range(columns)])
    builder.add_parameter("p", ["a", "b"], [1.0] * (rows * columns))
    builder.set_objective("o", "minimize", builder.add_variables("x", []), 1.0)
    write(builder.build(), tmp_path / "model.json")
    table = pivot_table(talk(tmp_path, tmp_path / "model.json"), {"family": "p", "rows": "0", "columns": "1"})
    assert [len(table["rows"]) + table["hidden"][0], len(table["columns"]) + table["hidden"][1]] == [rows, columns]
    assert all(len(row["cells"]) == len(table["columns"]) for row in table["rows"])


def test_bounds_mark_what_is_fixed_or_forbidden(tmp_path: Path) -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("k", ["free", "fixed", "none"])
    x = builder.add_variables("x", ["k"], low=[0.0, 2.0, 0.0], high=[5.0, 2.0, 0.0])
    builder.set_objective("o", "maximize", x, [1.0, 2.0, 3.0])
    write(builder.build(), tmp_path / "model.json")
    table = pivot_table(talk(tmp_path, tmp_path / "model.json", "solve"), {"family": "x", "rows": "0"})
    cells = {row["label"]: row["cells"][0] for row in table["rows"]}
    assert {label: (cell["text"], cell.get("state", "")) for label, cell in cells.items()} == {
        "free": ("5", ""), "fixed": ("2", "fixed"), "none": ("0", "forbidden"),
    }  # fmt: skip


def test_names_of_cells_can_be_changed_though_data_have_them_too(tmp_path: Path) -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("k", ["a", "b"])
    builder.add_parameter("x", ["k"], [3.0, 4.0])
    builder.set_objective("o", "maximize", builder.add_variables("x", ["k"], high=5.0), 1.0)
    write(builder.build(), tmp_path / "model.json")
    conversation = talk(tmp_path, tmp_path / "model.json")
    # Variables have the name first.
    for question, name in (({"rows": "0"}, "variables.x[a]"), ({}, "variables.x[*]")):
        cell = pivot_table(conversation, {"family": "x", **question})["rows"][0]["cells"][0]
        assert cell["name"] == name
        conversation.workbench.ask(f"whatif {name} = 2")
        assert conversation.workbench.ask(f"why {name}" if question else f"total {name}").status == "optimal"


def test_the_state_names_the_objective_before_and_now(tmp_path: Path) -> None:
    conversation = talk(tmp_path, write_workshop(tmp_path), "carpentry = 50", "carpentry = 60")
    state = page_state(conversation)
    (profit,) = [kpi for kpi in state["kpis"] if kpi["name"].startswith("profit")]
    assert {key: number(text.split(" ")[0]) for key, text in profit.items() if key in ("before", "after")} == {
        "before": TRUTH[40], "after": TRUTH[60],
    }  # fmt: skip
    assert len(state["messages"]) == len(conversation.records)
