"""The server: loopback names only, a token, no request of another page, and nothing outside of listed folders."""

import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import ConfigError
from oragent.report.live import watched as watching
from oragent.report.live.offline import write_offline
from oragent.report.live.server import make_live_application, serve
from oragent.report.live.watched import Watched, list_folders
from oragent.search.store import ISOLATION, Store
from tests.extras import need
from tests.report.live.requests import TOKEN, get
from tests.report.runs import SEED, Made, data_of, describe, searched, write

need("starlette")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("tsp/a", "tsp/b"):
        describe(tmp_path / name)
        write(tmp_path / name, searched(12))
    (tmp_path / "talk").mkdir()
    (tmp_path / "talk/converse.json").write_text("{}")
    (tmp_path / "talk/report.html").write_text("<script>alert(1)</script>a talk")
    return tmp_path


@pytest.fixture
def app(root: Path) -> Any:
    return make_live_application(Watched(root), TOKEN)


def test_runs_of_every_kind_are_listed(app: Any) -> None:
    assert {(item["id"], item["kind"]) for item in get(app, "/api/runs").json["runs"]} == {
        ("tsp/a", "search"), ("tsp/b", "search"), ("talk", "conversation"),
    }  # fmt: skip


def test_a_run_is_read_by_its_name(app: Any) -> None:
    assert get(app, "/api/summary", "run=tsp/a").json["rounds"] == 12
    assert len(get(app, "/api/candidates", "run=tsp/a").json["round"]) == 12
    assert get(app, "/api/candidate", "run=tsp/a&id=0.0").json["source"] == SEED
    assert get(app, "/api/calls", "run=tsp/a").json == []
    assert get(app, "/api/trust", "run=tsp/a").json["seed"] == "0.0"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/", "/api/runs", "/api/summary", "/api/candidates", "/events", "/pages/x/talk/report.html"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {"x_token": ""}, {"x_token": "wrong"}, {"x_token": TOKEN + "x"}, {"host": "evil.example:80"},
        {"host": "127.0.0.1.evil.example"}, {"host": ""}, {"origin": "http://evil.example"}, {"origin": "null"},
        {"origin": "http://127.0.0.1:81"}, {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"},
    ],
    ids=str,
)  # fmt: skip
def test_whoever_is_not_this_page_gets_nothing(app: Any, path: str, headers: dict[str, str]) -> None:
    answer = get(app, path, "run=tsp/a", **headers)
    assert answer.status == 403
    assert set(answer.json) == {"error"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "..", "../..", "/etc", "tsp", "tsp/a/../b", "tsp/a%2f..%2f..", "nothing", "talk"])
@pytest.mark.parametrize("path", ["/api/summary", "/api/candidates", "/api/candidate", "/events"])
def test_only_listed_searches_are_read(app: Any, name: str, path: str) -> None:
    answer = get(app, path, f"run={name}&id=0.0")
    assert answer.status == 404
    assert "\n" not in answer.json["error"]


def test_the_page_allows_only_its_own_scripts_and_no_other_host(app: Any) -> None:
    first, second = get(app, "/", f"token={TOKEN}", x_token=""), get(app, "/", f"token={TOKEN}", x_token="")
    policy = first.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy != second.headers["content-security-policy"]  # a nonce serves once
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert first.text.count("<script") == first.text.count(f'<script nonce="{nonce}"')
    assert TOKEN not in first.text
    assert first.headers["x-frame-options"] == "DENY"
    assert first.headers["referrer-policy"] == "no-referrer"


def test_a_finished_page_is_shown_without_its_scripts(app: Any) -> None:
    answer = get(app, f"/pages/{TOKEN}/talk/report.html", x_token="")
    assert answer.text.endswith("a talk")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert "script-src" not in answer.headers["content-security-policy"]
    assert get(app, "/pages/wrong/talk/report.html", x_token="").status == 403
    assert get(app, f"/pages/{TOKEN}/tsp/a/report.html").status == 404


def test_pages_below_a_folder_have_the_theme_and_nothing_else_is_served(app: Any, root: Path) -> None:
    (root / "talk/inner").mkdir()
    (root / "talk/inner/a.html").write_text('<!DOCTYPE html>\n<html lang="en">inner')
    (root / "elsewhere.html").write_text("not in a listed folder")
    (root / "talk/secret.txt").write_text("secret")
    (root / "talk/link.html").symlink_to(root / "talk/secret.txt")
    shown = get(app, f"/pages/{TOKEN}/talk/inner/a.html", "theme=dark")
    assert '<html data-theme="dark" lang="en">' in shown.text
    assert '<html lang="en">' in get(app, f"/pages/{TOKEN}/talk/inner/a.html", "theme=x%22").text
    for path in (
        "talk/secret.txt",
        "talk/link.html",
        "elsewhere.html",
        "talk/../elsewhere.html",
        "talk",
        "tsp/b/run.db",
    ):
        assert get(app, f"/pages/{TOKEN}/{path}").status == 404, path


def test_links_out_of_the_folder_are_not_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    describe(outside)
    write(outside, searched(3))
    (root / "link").symlink_to(outside, target_is_directory=True)
    assert "link" not in {entry.id for entry in list_folders(root)}


def test_a_page_that_only_shows_does_not_steer(app: Any) -> None:
    answer = get(app, "/api/steer", "run=tsp/a", body=b'{"act": "stop"}', origin="http://127.0.0.1:80")
    assert answer.status == 403


def test_a_broken_run_is_one_line_and_the_others_stay(app: Any, root: Path) -> None:
    (root / "tsp/a/run.db").write_bytes(b"broken")
    answer = get(app, "/api/summary", "run=tsp/a")
    assert answer.status == 404
    assert "corrupted" in answer.json["error"] or "cannot use" in answer.json["error"]
    assert get(app, "/api/summary", "run=tsp/b").status == 200


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        serve(tmp_path / "nothing", print)


def test_summaries_are_not_read_again_while_nothing_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(root)
    first = watched.summary("tsp/a")
    monkeypatch.setattr(watched.reader("tsp/a"), "read_summary", lambda: pytest.fail("read again"))
    assert watched.summary("tsp/a") == first


def test_what_several_watchers_ask_at_the_same_time_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, ticks = Watched(root), iter([1, 1, 2, 3, 3])
    monkeypatch.setattr(watching, "current_tick", lambda: next(ticks))
    first = watched.candidates("tsp/a", 5)
    assert watched.candidates("tsp/a", 5) is first  # in the same interval
    assert watched.candidates("tsp/a", 5) is first  # nothing changed
    with Store(root / "tsp/a/run.db") as store:
        store.commit(12, [(Made("# new", 3.0).candidate, "NEW")], Spent(1), 200.0)
    later = watched.candidates("tsp/a", 5)
    assert later["round"] == [*first["round"], 12]
    assert watched.candidates("tsp/a", 6)["round"] == later["round"][1:]


def test_a_new_candidate_is_announced_while_the_run_is_written(root: Path) -> None:
    """A real server on loopback: an event comes after a commit, and the new candidate is there."""
    need("starlette")
    address: list[str] = []
    thread = threading.Thread(target=serve, args=(root, address.append), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not address and time.monotonic() < deadline:
        time.sleep(0.05)
    base, token = address[0].split("open ")[1].split(" ")[0].split("/?token=")

    def ask(path: str) -> Any:
        request = urllib.request.Request(f"{base}{path}", headers={"X-Token": token})
        for _ in range(100):
            try:
                return urllib.request.urlopen(request, timeout=60)
            except ConnectionError:
                time.sleep(0.1)
            except urllib.error.URLError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    with ask("/events?run=tsp/a") as events:
        assert events.readline() == b"event: change\n"
        with Store(root / "tsp/a/run.db") as store:
            made = Made(SEED + "\n# new", 5.0).candidate
            from oragent._base.budget import Spent

            store.keep_evaluation(made.fingerprint, made.evaluation, 200.0)
            store.commit(12, [(made, "NEW")], Spent(1), 200.0)
        lines = [events.readline() for _ in range(3)]
        assert b"event: change\n" in lines
    columns = json.load(ask("/api/candidates?run=tsp/a&after=12"))
    assert columns["score"] == [5.0]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/candidate", "run=tsp/a&id=%C2%B2.0"), (f"/pages/{TOKEN}/talk/\0.html", ""), ("/api/summary", "run=%00"),
        (f"/pages/{TOKEN}/talk/{'x' * 5000}.html", ""), (f"/pages/{TOKEN}/talk/../../secret.html", ""),
        ("/api/summary", "run=../.."),
    ],
)  # fmt: skip
def test_a_request_for_what_cannot_be_is_refused_in_one_line(app: Any, path: str, query: str) -> None:
    answer = get(app, path, query)
    assert answer.status in (400, 404)
    assert "\n" not in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"), ("/api/runs", "application/json"), ("/api/summary", "application/json"),
        ("/api/elites", "application/json"), ("/api/ideas", "application/json"), ("/api/call", "application/json"),
        (f"/pages/{TOKEN}/talk/report.html", "text/html"),
    ],
)  # fmt: skip
def test_every_answer_is_of_its_kind_and_is_stored_nowhere(app: Any, path: str, kind: str) -> None:
    for token, status in ((TOKEN, 200), ("", 403)):
        answer = get(app, path.replace(TOKEN, token or "x"), "run=tsp/a&key=0.0", x_token=token)
        assert answer.status == status
        assert answer.headers["content-type"].split(";")[0] == (kind if token else "application/json")
        expected = {
            "cache-control": "no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
            "x-frame-options": "SAMEORIGIN" if token and "/pages/" in path else "DENY",
            "cross-origin-resource-policy": "same-origin",
        }  # fmt: skip
        assert expected.items() <= answer.headers.items()


def test_runs_tell_their_root_and_whether_they_can_be_steered(root: Path) -> None:
    for steer, expected in ((None, False), (lambda folder, act: "", True)):
        runs = get(make_live_application(Watched(root), TOKEN, steer), "/api/runs")
        assert (runs.json["root"], runs.json["steering"]) == (str(root), expected)
        assert ", " not in runs.text
        assert ": " not in runs.text


def test_names_of_any_script_are_sent_as_they_are(root: Path) -> None:
    (root / "é").mkdir()
    (root / "é/converse.json").write_text("{}")
    assert "é" in get(make_live_application(Watched(root), TOKEN), "/api/runs").text


@pytest.mark.parametrize(
    ("after", "rows"), [("0", 12), ("11", 1), ("9" * 15, 0), ("9" * 16, 12), ("-1", 12), ("x", 12), ("", 12)]
)
def test_rows_begin_after_a_number(app: Any, after: str, rows: int) -> None:
    assert len(get(app, "/api/candidates", f"run=tsp/a&after={after}").json["round"]) == rows


def test_an_act_has_a_largest_size(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[dict[str, Any]] = []
    app = make_live_application(Watched(root), TOKEN, lambda folder, act: taken.append(act) or f"{folder.name}\x1b")
    body = b'{"act": "stop"}'
    monkeypatch.setattr("oragent.report.live.server.MAX_BODY", len(body))
    answer = get(app, "/api/steer", "run=tsp/a", body=body, origin="http://127.0.0.1:80")
    assert (answer.status, answer.json, taken) == (200, {"line": "a\\u001b"}, [{"act": "stop"}])
    assert answer.headers["cache-control"] == "no-store"
    monkeypatch.setattr("oragent.report.live.server.MAX_BODY", len(body) - 1)
    assert get(app, "/api/steer", "run=tsp/a", body=body, origin="http://127.0.0.1:80").status == 413
    assert len(taken) == 1


def test_a_theme_is_set_once(app: Any, root: Path) -> None:
    (root / "talk/report.html").write_text("<html><body><html")
    for theme, expected in (("light", '<html data-theme="light"><body><html'), ("x", "<html><body><html")):
        assert get(app, f"/pages/{TOKEN}/talk/report.html", f"theme={theme}", x_token="").text == expected


def test_numbers_of_other_scripts_are_none(app: Any) -> None:
    assert get(app, "/api/candidates", "run=tsp/a&after=%C2%B2").json["round"]


def test_an_act_may_be_deep_or_broken_and_is_stored_as_text(root: Path) -> None:
    from oragent.cli.runs import _steer_from_page

    app, here = make_live_application(Watched(root), TOKEN, _steer_from_page), "http://127.0.0.1:80"
    assert get(app, "/api/steer", "run=tsp/a", body=b"[" * 100_000, origin=here).status == 400
    half = b'{"act": "hint", "value": "a \\ud800 b"}'
    assert get(app, "/api/steer", "run=tsp/a", body=half, origin=here).status == 200
    (file,) = (root / "tsp/a/steering").iterdir()
    assert json.loads(file.read_text())["value"] == "a ? b"


def test_a_request_that_breaks_off_is_no_error_of_the_server(root: Path) -> None:
    import asyncio

    app, sent = make_live_application(Watched(root), TOKEN, lambda folder, act: ""), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:80"), (b"x-token", TOKEN.encode()), (b"origin", b"http://127.0.0.1:80")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/api/steer",
        "raw_path": b"/api/steer", "query_string": b"run=tsp/a", "root_path": "", "scheme": "http", "headers": headers,
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400


def test_the_page_steers_a_run_and_bad_acts_are_one_line(root: Path) -> None:
    from oragent.cli.runs import _steer_from_page

    app, here = make_live_application(Watched(root), TOKEN, _steer_from_page), "http://127.0.0.1:80"
    answer = get(app, "/api/steer", "run=tsp/a", body=b'{"act": "hint", "value": "short edges"}', origin=here)
    assert answer.status == 200
    (file,) = (root / "tsp/a/steering").iterdir()
    assert json.loads(file.read_text()) == {"act": "hint", "value": "short edges"}
    for body in (b"", b"[]", b'{"act": "explode"}', b'{"act": "budget", "value": "x"}', b"x" * 400_000):
        bad = get(app, "/api/steer", "run=tsp/a", body=body, origin=here)
        assert bad.status in (400, 404, 413)
        assert "\n" not in bad.json["error"]
    assert get(app, "/api/steer", "run=tsp/a", body=b'{"act": "stop"}').status == 403  # no page sends no origin
    assert get(app, "/api/steer", "run=tsp/a", body=b'{"act": "stop"}', origin="http://evil.example").status == 403
    assert len(list((root / "tsp/a/steering").iterdir())) == 1


def test_evidence_tells_what_this_machine_isolates(root: Path) -> None:
    held = {"held": ["open a network connection"], "missing": []}
    for isolation in (held, None):
        app = make_live_application(Watched(root, isolation), TOKEN)
        assert get(app, "/api/trust", "run=tsp/a").json["isolation"] == isolation


@pytest.mark.parametrize("recorded", ["{", "[]", '{"held": 3, "missing": []}', "null"])
def test_a_broken_record_of_isolation_is_none(root: Path, recorded: str) -> None:
    with Store(root / "tsp/a/run.db") as store:
        store.note(ISOLATION, recorded)
    assert get(make_live_application(Watched(root), TOKEN), "/api/trust", "run=tsp/a").json["isolation"] is None


def test_what_the_machine_of_a_run_isolates_is_told_on_any_machine_and_in_the_file(root: Path, tmp_path: Path) -> None:
    recorded = {"held": ["open a network connection"], "missing": ["\x1b[31m see files" + "x" * 900]}
    with Store(root / "tsp/a/run.db") as store:
        store.note(ISOLATION, json.dumps(recorded))
    here = {"held": [], "missing": ["everything"]}
    live = get(make_live_application(Watched(root, here), TOKEN), "/api/trust", "run=tsp/a").json["isolation"]
    assert (live["held"], live["where"]) == (recorded["held"], "the machine of this run")
    assert len(live["missing"][0]) < 300
    page = write_offline(root / "tsp/a", tmp_path / "page.html").read_text(encoding="utf-8")
    assert data_of(page)["trust"]["isolation"] == live
