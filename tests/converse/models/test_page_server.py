"""The page's server: what clicks ask for, two browsers in one conversation, and requests from elsewhere."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oragent.modelling.files.model_files import write
from tests.converse.models.web import TOKEN, Client, serve
from tests.converse.models.workshop import TRUTH, best_profit, write_workshop
from tests.extras import need
from tests.modelling.indexed_models import transport

need("starlette")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serve(tmp_path, str(write_workshop(tmp_path))) as served:
        yield served


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One conversation for all requests that change nothing."""
    folder = tmp_path_factory.mktemp("steady")
    with serve(folder, str(write_workshop(folder))) as served:
        yield served


def figure(text: str) -> float:
    return float(text.split(" ")[0].replace(",", ""))


def test_questions_keep_and_undo_move_the_figures_before_and_now(client: Client) -> None:
    state = client.ask("/state")
    assert figure(state["kpis"][0]["after"]) == TRUTH[40]
    tried = client.say("whatif carpentry = 50")
    assert tried["in_force"] == []
    assert tried["trial"]["line"] == "whatif carpentry = 50"
    assert [figure(tried["kpis"][0][key]) for key in ("before", "after", "tried")] == [TRUTH[40], TRUTH[40], TRUTH[50]]
    kept = client.say("keep")
    assert kept["in_force"] == ["carpentry = 50"]
    assert kept["trial"] is None
    assert [figure(kept["kpis"][0][key]) for key in ("before", "after")] == [TRUTH[40], TRUTH[50]]
    assert client.say("undo")["in_force"] == []


def test_a_cell_is_fixed_forbidden_and_freed(client: Client) -> None:
    def cell() -> dict[str, str]:
        return client.ask("/pivot", family="tables")["rows"][0]["cells"][0]

    assert cell()["name"] == "tables"
    assert "state" not in cell()
    client.say(f"{cell()['name']} = 3")
    assert (cell()["text"], cell()["state"]) == ("3", "fixed")
    client.say(f"forbid {cell()['name']}")
    assert (cell()["text"], cell()["state"]) == ("0", "forbidden")
    state = client.say(f"free {cell()['name']}")
    assert "state" not in cell()
    assert figure(state["kpis"][0]["after"]) == TRUTH[40]


def test_a_chip_takes_back_one_change_and_leaves_the_others(client: Client) -> None:
    client.say("tables <= 3")
    state = client.say("carpentry = 50")
    assert state["in_force"] == ["tables <= 3", "carpentry = 50"]
    state = client.say("scenario base\ncarpentry = 50")
    assert state["in_force"] == ["carpentry = 50"]
    assert figure(state["kpis"][0]["after"]) == TRUTH[50]


def test_an_infeasible_state_shows_no_plan_and_its_repair_is_one_message(client: Client) -> None:
    state = client.say("row many: tables + chairs >= 20")
    assert state["status"] == "infeasible"
    assert state["kpis"][0]["after"] == "infeasible"
    pivot = client.ask("/pivot", family="tables")
    assert pivot["rows"][0]["cells"][0]["text"] == "–"
    assert "infeasible" in pivot["note"]
    conflict = client.say("conflict")
    assert "many" in conflict["messages"][-1]["results"][0]["headline"]
    tried = client.say("repair")
    assert tried["status"] == "infeasible"
    assert figure(tried["kpis"][0]["tried"]) > 0
    assert client.say("keep")["status"] == "optimal"


def test_scenarios_are_listed_and_exported_alike(client: Client) -> None:
    client.say("carpentry = 60")
    state = client.say("keep more")
    assert [row[0] for row in state["scenarios"][1:]] == ["base", "more"]
    assert [figure(row[2]) for row in state["scenarios"][1:]] == [TRUTH[40], TRUTH[60]]
    status, headers, content = client.send("/export/csv")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    header, *rows = csv.reader(io.StringIO(content.decode()))
    assert [(row[0], row[1], float(row[2]), row[-1]) for row in rows] == [
        (row[0], row[1], figure(row[2]), row[-1]) for row in state["scenarios"][1:]
    ]
    assert len(header) == len(rows[0])
    status, headers, content = client.send("/export/html")
    assert status == 200
    assert b"more" in content


def test_a_workbook_is_exported(client: Client) -> None:
    pytest.importorskip("openpyxl")
    status, _, content = client.send("/export/xlsx")
    assert status == 200
    assert zipfile.is_zipfile(io.BytesIO(content))


def test_of_two_browsers_the_one_that_has_not_seen_the_last_message_is_refused(client: Client) -> None:
    seen = str(client.ask("/state")["count"])
    first = client.say("whatif carpentry = 50", X_Seen=seen)
    assert "error" not in first
    status, _, content = client.send("/say", b"keep", X_Seen=seen)
    refused = json.loads(content)["error"]
    assert status == 400
    assert "\n" not in refused
    state = client.ask("/state")
    assert state["in_force"] == []
    assert client.ask("/count") == {"count": state["count"]}
    assert client.say("keep", X_Seen=str(state["count"]))["in_force"] == ["carpentry = 50"]


def test_messages_at_the_same_time_are_answered_one_after_the_other(client: Client) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(client.say, [f"carpentry = {hours}" for hours in (44, 48, 52, 56)]))
    state = client.ask("/state")
    assert state["count"] == 5
    last = state["in_force"][-1]
    assert figure(state["kpis"][0]["after"]) == best_profit(float(last.split(" ")[-1]))
    assert len({result["id"] for message in state["messages"] for result in message["results"]}) == 5


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/state", {"X-Token": "wrong"}),
        ("/state", {"X-Token": ""}),
        ("/state", {"Host": "evil.example:80"}),
        ("/state", {"Origin": "http://evil.example"}),
        ("/state", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
        ("/?token=wrong", {"X-Token": ""}),
        ("/export/csv?token=", {"X-Token": ""}),
    ],
)
def test_requests_from_elsewhere_are_refused(steady: Client, path: str, headers: dict[str, str]) -> None:
    status, _, content = steady.send(path, **headers)
    assert status == 403
    assert TOKEN.encode() not in content


@pytest.mark.parametrize(
    "path",
    [
        "/pivot?family=none",
        "/pivot?family=tables&rows=9",
        "/pivot?family=tables&rows=%C2%B2",
        "/pivot?family=tables&rows=-1",
        f"/pivot?family=tables&columns={'9' * 5000}",
        "/pivot",
        "/labels?set=none",
        "/export/exe",
        "/export/..%2f..%2fetc%2fpasswd",
        "/nothing",
    ],
)
def test_wrong_requests_are_refused_and_the_conversation_goes_on(steady: Client, path: str) -> None:
    assert steady.send(path)[0] in (400, 404)
    assert steady.ask("/state")["status"] == "optimal"


@pytest.mark.parametrize(
    "body",
    [b"", b"   \n", b"\xff\xfe\x00", b"a" * 50_000, b"whatif " + b"(" * 9000, b"\x00", "whatif طاولة = 3".encode(), b"solve\n" * 200],
)  # fmt: skip
def test_hostile_messages_change_nothing(steady: Client, body: bytes) -> None:
    answer = json.loads(steady.send("/say", body)[2])
    if "error" in answer:
        assert "\n" not in answer["error"]
    else:
        assert "\n" not in answer["messages"][-1]["note"]
    state = steady.ask("/state")
    assert (state["in_force"], state["status"]) == ([], "optimal")


def test_the_page_allows_only_its_own_script(steady: Client) -> None:
    status, headers, content = steady.send("/")
    policy = headers["content-security-policy"]
    nonce = policy.split("script-src 'nonce-")[1].split("'")[0]
    assert status == 200
    assert content.count(nonce.encode()) == 2
    assert "default-src 'none'" in policy
    assert steady.send("/")[1]["content-security-policy"] != policy


def test_names_with_markup_and_quotes_stay_text(tmp_path: Path) -> None:
    from oragent.modelling.data.builder import IndexedModelBuilder

    builder = IndexedModelBuilder("<img src=x onerror=alert(1)>")
    labels = ["باريس", 'the "old" port', "</script><script>alert(1)</script>", "a]b"]
    builder.add_set("مدينة", labels)
    columns = builder.add_variables("نقل", ["مدينة"], high=5)
    builder.set_objective("ربح", "maximize", columns, [1.0, 2.0, 3.0, 4.0])
    write(builder.build(), tmp_path / "names.json")
    with serve(tmp_path, str(tmp_path / "names.json")) as client:
        pivot = client.ask("/pivot", family="نقل", rows="0")
        assert [row["label"] for row in pivot["rows"]] == labels
        for row in pivot["rows"]:
            state = client.say(f"{row['cells'][0]['name']} = 1")
        assert len(state["in_force"]) == len(labels)
        assert figure(state["kpis"][0]["after"]) == 10
        assert client.ask("/labels", set="مدينة")["labels"] == labels


def test_a_slice_is_fixed_by_its_other_indices(tmp_path: Path) -> None:
    write(transport(), tmp_path / "model.json")
    with serve(tmp_path, str(tmp_path / "model.json")) as client:
        summed = client.ask("/pivot", family="ship", rows="0", columns="2")
        assert summed["summed"] == ["city"]
        cell = summed["rows"][0]["cells"][2]
        assert (cell["name"], cell["text"] != "0") == ("ship[Lyon, *, wk3]", True)
        state = client.say(f"forbid {cell['name']}")
        after = client.ask("/pivot", family="ship", rows="0", columns="2")
        assert after["rows"][0]["cells"][2]["text"] == "0"
        assert figure(state["kpis"][0]["after"]) >= figure(state["kpis"][0]["before"])
        paris = client.ask("/pivot", **{"family": "ship", "rows": "0", "columns": "2", "fixed.1": "Paris"})
        assert paris["summed"] == []
        assert paris["rows"][0]["cells"][0]["name"] == "ship[Lyon, Paris, wk1]"
        found = client.ask("/pivot", family="ship", rows="0", columns="2", search="nan")
        assert [row["label"] for row in found["rows"]] == ["Nantes"]
        data = client.ask("/pivot", family="demand", rows="0", columns="1")
        assert figure(data["rows"][0]["cells"][0]["text"]) > 0
