"""The folders that the page lists: which, in what order, how often they are read, and what is served of them."""

import fcntl
import json
import os
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.report.live import evidence, offline, snapshot, watched
from oragent.report.live.evidence import read_ideas, read_trust
from oragent.report.live.offline import write_offline
from oragent.report.live.snapshot import RunReader, clean_value, find_leaders
from oragent.report.live.watched import MAX_DEPTH, Watched, list_folders, read_first_line
from oragent.search.store import ISOLATION, LOCK, RoundNote, Store
from tests.report.runs import SEED, Made, describe, reply, searched, write


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(watched, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "first"
    describe(folder)
    write(folder, searched(12))
    return folder


def make_talk(folder: Path, at_s: float, *pages: str) -> None:
    folder.mkdir(parents=True)
    (folder / "converse.json").write_text("{}")
    for page in pages:
        (folder / page).write_text(page)
    os.utime(folder / "converse.json", (at_s, at_s))


def test_folders_are_listed_the_latest_first_and_not_too_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Path(*"abcdefgh"[: MAX_DEPTH - 1])
    for at, name in enumerate(["old", "x/new", str(deep / "last")]):
        make_talk(tmp_path / name, 1000.0 + at)
    for name in ("candidates/x", "x/cache/y", "figures/z", "pictures/z", str(deep / "h" / "below")):
        make_talk(tmp_path / name, 5000.0)
    listed = list_folders(tmp_path)
    assert [entry.id for entry in listed] == [str(deep / "last"), "x/new", "old"]
    assert [entry.changed for entry in listed] == [1002.0, 1001.0, 1000.0]
    monkeypatch.setattr(watched, "MAX_LISTED", 2)
    assert len(list_folders(tmp_path)) == 2
    # Only the folders of the root.
    monkeypatch.setattr(watched, "MAX_FOLDERS", 1)
    assert [entry.id for entry in list_folders(tmp_path)] == ["old"]


def test_an_entry_names_its_page_its_state_and_the_best_score(run: Path, tmp_path: Path) -> None:
    make_talk(tmp_path / "talk", 1.0, "index.html", "page.html")
    (entry,) = [entry for entry in list_folders(tmp_path) if entry.id == "talk"]
    assert entry.describe() == {
        "id": "talk", "kind": "conversation", "changed": 1.0, "page": "page.html", "running": False, "score": "",
    }  # fmt: skip
    (run / "best.py").write_text("# tsp_aco: -6.5e+3 by 3.0 of run\n")
    os.utime(run / "run.db", (7000.0, 7000.0))
    with (run / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        described = next(entry.describe() for entry in list_folders(tmp_path) if entry.kind == "search")
        assert RunReader(run).read_summary().state == "running"
    assert described["running"] is True
    assert described["score"] == "tsp_aco: -6.5e+3"
    assert float(str(described["changed"])) >= 7000.0


@pytest.mark.parametrize(
    ("line", "score"),
    [("# a: 1 by x", "a: 1"), ("// a.b: 1.5 by x", "a.b: 1.5"), ("# a: 1 of x", ""), ("a: 1 by x", ""), ("", "")],
)
def test_the_first_line_of_a_program_has_its_score(line: str, score: str, tmp_path: Path) -> None:
    assert read_first_line(tmp_path) == ""
    (tmp_path / "best.py").write_bytes(line.encode() + b"\xff\n")
    assert read_first_line(tmp_path) == score


def test_the_folder_is_scanned_every_five_seconds(tmp_path: Path, clock: Clock) -> None:
    shown = Watched(tmp_path)
    assert shown.list_runs() == []
    make_talk(tmp_path / "talk", 1.0)
    clock.now += 4.9
    assert shown.list_runs() == []
    with pytest.raises(StoreError):
        shown.find("talk")
    clock.now += 0.1
    assert [entry["id"] for entry in shown.list_runs()] == ["talk"]
    assert shown.find("talk").path == tmp_path / "talk"


def test_reading_summaries_takes_a_hundredth_of_the_time(
    run: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, numbers = Watched(run.parent), count()
    summary = shown.reader("first").read_summary()

    def read_slowly():
        clock.now += 2.0
        return replace(summary, rounds=next(numbers))

    monkeypatch.setattr(shown.reader("first"), "read_summary", read_slowly)
    assert shown.summary("first")["rounds"] == 0
    os.utime(run / "run.db", (1.0, 1.0))
    # Two seconds of reading, and a hundred times as long until the next.
    clock.now = 1000.0 + 2 + 200 - 0.01
    assert shown.summary("first")["rounds"] == 0
    clock.now += 0.01
    assert shown.summary("first")["rounds"] == 1
    clock.now += 1000
    assert shown.summary("first")["rounds"] == 1


def test_equal_requests_are_read_once(run: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Watched(run.parent)
    first = shown.candidates("first", 0)
    clock.now += 10
    # Nothing changed.
    assert shown.candidates("first", 0) is first
    os.utime(run / "run.db", (1.0, 1.0))
    # The same interval for all clients.
    again = shown.candidates("first", 0)
    assert again == first
    assert again is not first
    clock.now += 0.49
    os.utime(run / "run.db", (2.0, 2.0))
    assert shown.candidates("first", 0) is again
    clock.now += 0.01
    assert shown.candidates("first", 0) is not again
    monkeypatch.setattr(watched, "SHARED_ROWS", 11)
    assert shown.candidates("first", 1) is shown.candidates("first", 1)
    assert shown.candidates("first", 0) is not shown.candidates("first", 0)


def test_a_page_that_is_too_large_or_a_link_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_talk(tmp_path / "talk", 1.0, "page.html")
    (tmp_path / "outside.html").write_text("outside")
    (tmp_path / "talk/link.html").symlink_to(tmp_path / "outside.html")
    shown = Watched(tmp_path)
    assert shown.read_page("talk/page.html") == b"page.html"
    for path in ("talk/link.html", "outside.html", "talk/../outside.html", "talk/converse.json", "talk/none.html"):
        with pytest.raises(StoreError):
            shown.read_page(path)
    monkeypatch.setattr(watched, "MAX_PAGE", 9)
    assert shown.read_page("talk/page.html")
    monkeypatch.setattr(watched, "MAX_PAGE", 8)
    with pytest.raises(StoreError):
        shown.read_page("talk/page.html")


def test_only_a_search_has_a_reader(tmp_path: Path) -> None:
    make_talk(tmp_path / "talk", 1.0)
    with pytest.raises(StoreError):
        Watched(tmp_path).reader("talk")


# What is read of a database that anybody may have written, in bounded pieces.


def test_reading_a_run_writes_nothing(run: Path) -> None:
    with Store(run / "run.db") as store:
        store._db.execute("DROP TABLE moments")
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.iterdir()}
    reader = RunReader(run)
    reader.read_summary()
    reader.read_candidates()
    # There is no best.py with a header.
    assert read_trust(reader)["head"] == []
    read_ideas(reader)
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.iterdir()} == before


def test_acts_and_tasks_that_wait_are_shown(run: Path) -> None:
    (run / "steering").mkdir()
    (run / "steering" / "1.json").write_text(json.dumps({"act": "hint", "value": "short \x1b"}))
    (run / "running.json").write_text(json.dumps([{"what": "sweep", "since": 5.0}]))
    summary = RunReader(run).read_summary()
    assert [(act["act"], act["value"]) for act in summary.waiting] == [("hint", "short \\u001b")]
    # Nothing runs.
    assert summary.tasks == []
    with (run / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert RunReader(run).read_summary().tasks == [{"what": "sweep", "since": 5.0}]


def test_the_first_page_of_rows_is_small(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "FIRST_ROWS", 3)
    monkeypatch.setattr(snapshot, "PAGE_ROWS", 5)
    reader = RunReader(run)
    sizes, after = [], 0
    while rows := reader.read_candidates(after).round:
        sizes.append(len(rows))
        after = reader.read_candidates(after).after
    assert sizes == [3, 5, 4]
    assert reader.read_candidates(12).after == 12
    assert len(reader.read_candidates(0, 7).round) == 7


def test_of_equal_scores_the_shortest_program_leads_and_then_the_oldest(tmp_path: Path) -> None:
    longer, short = f"{SEED}A = 1 + 2\n", SEED.replace("1.0", "2.0")
    describe(tmp_path)
    write(tmp_path, [[Made(SEED, 9.0, (0, 0), (), "seed")], [Made(longer, 5.0, (1, 1))], [Made(short, 5.0, (2, 2))], [
        Made(short.replace("2.0", "3.0"), 5.0, (3, 2))]])  # fmt: skip
    reader = RunReader(tmp_path)
    with reader.opened() as database:
        leaders = find_leaders(database, reader.about.direction)
    assert (leaders.seed, leaders.best, leaders.seed_score, leaders.best_score) == ("0.0", "2.0", 9.0, 5.0)


def test_a_run_without_a_score_has_no_leader(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, [[Made(SEED, None)]])
    summary = RunReader(tmp_path).read_summary()
    assert (summary.seed, summary.best, summary.seed_score, summary.best_score) == ("", "", None, None)
    assert read_trust(RunReader(tmp_path))["sets"] == []
    with pytest.raises(StoreError):
        write_offline(tmp_path, tmp_path / "page.html")


def test_a_run_that_has_just_begun_spent_nothing(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, [])
    summary = RunReader(tmp_path).read_summary()
    assert (summary.rounds, summary.evaluations, summary.cpu_s, summary.best) == (0, 0, 0.0, "")
    assert set(summary.spent.values()) == {0}


def test_long_texts_are_cut_and_say_by_how_much(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "TEXT", 20)
    message = "m" * 20 + "x" * 400
    made = Made("def f( x ):\n\n  return 1", None, message=message)
    parents = tuple(f"0.{number}" for number in range(11))
    longest = Made("def g(x):\n    return  x", None, parents=parents, message="y" * snapshot.MESSAGE)
    short = Made("def f( x ):return  1", 3.0)
    with Store(run / "run.db") as store:
        for each in (made, longest, short):
            store.keep_evaluation(each.candidate.fingerprint, each.candidate.evaluation, 1.23456)
        store.commit(
            12, [(made.candidate, ""), (longest.candidate, ""), (short.candidate, "")], Spent(2, money=0.5), 130.0
        )
    reader = RunReader(run)
    detail = reader.read_candidate("12.0")
    assert detail["source"].startswith(made.source[:20])
    assert detail["source"].endswith(f" {len(made.source) - 20} characters left out")
    assert detail["message"].startswith("m" * 20)
    assert detail["message"].endswith(" 400 characters left out")
    # A program that is too long is not laid out.
    assert detail["layout"] == detail["source"]
    assert reader.read_candidate("12.2")["source"] == short.source
    assert reader.read_candidate("12.2")["layout"].startswith("def f(x):\n")
    columns = reader.read_candidates(12)
    assert [len(columns.messages[at]) for at in columns.message] == [snapshot.MESSAGE, snapshot.MESSAGE, 0]
    assert columns.parents[1] == [f"0.{number}" for number in range(8)]
    assert reader.read_candidate("12.1")["parents"] == list(parents)
    assert columns.at == [1.235] * 3
    assert columns.money == [0.5] * 3


def test_a_program_in_its_own_layout_is_not_shown_twice(run: Path) -> None:
    assert RunReader(run).read_candidate("1.0")["layout"] != ""
    describe(run.parent / "plain")
    write(run.parent / "plain", [[Made("def f(x):\n    return x\n", 3.0, (0, 0), (), "seed")]])
    assert RunReader(run.parent / "plain").read_candidate("0.0")["layout"] == ""


def test_replies_are_found_in_pieces_of_a_query(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [Made(f"{SEED}# {number}", 3.0, call=number) for number in range(5)]
    with Store(run / "run.db") as store:
        for made in calls:
            store.keep_evaluation(made.candidate.fingerprint, made.candidate.evaluation, 1.0)
        store.commit(12, [(made.candidate, "NEW") for made in calls], Spent(5), 130.0)
        for number in (0, 1, 3):
            reply(store, 12, number, model=f"m{number}")
    for pieces in (1, 2, 900):
        monkeypatch.setattr(snapshot, "MAX_VALUES", pieces)
        columns = RunReader(run).read_candidates(12)
        assert [columns.models[at] for at in columns.model] == ["m0", "m1", "", "m3", ""]
        assert columns.key == ["12.0", "12.1", "", "12.3", ""]


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("a\x1b", "a\\u001b"), ({"\x1b": (1, 2.5)}, {"\\u001b": [1, 2.5]}), (float("nan"), "nan"), (float("-inf"), "-inf"),
        ([None, True, {"a": []}], [None, True, {"a": []}]), (b"x", "b'x'"),
    ],
)  # fmt: skip
def test_values_of_a_run_are_plain(value: object, clean: object) -> None:
    assert clean_value(value) == clean
    json.dumps(clean_value(value), allow_nan=False)


def test_a_value_changes_with_each_file_that_the_page_shows(run: Path) -> None:
    reader, seen = RunReader(run), set()
    for name in ("run.db-wal", "running.json", "check.yaml", "test.yaml", "fresh.yaml", "run.db"):
        seen.add(reader.version())
        with (run / name).open("ab") as file:
            file.write(b"x")
    assert len(seen | {reader.version()}) == 7


def test_guarantees_and_notes_are_bounded(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(run / "run.db") as store:
        store.note(ISOLATION, json.dumps({"held": ["g" * 300] * 50, "missing": []}))
        notes = [RoundNote(20, "lesson", f"lesson {number:03} {'x' * 5000}") for number in range(250)]
        store.commit(
            20, [], Spent(), 300.0, [*notes, RoundNote(20, "other", '{"a": "b c"}'), RoundNote(20, "o", "word")]
        )
    held = read_trust(RunReader(run))["isolation"]["held"]
    assert [len(text) for text in held] == [evidence.MAX_GUARANTEE] * evidence.MAX_GUARANTEES
    memory = read_ideas(RunReader(run))["memory"]
    assert len(memory) == evidence.MAX_NOTES
    assert [row[2][:10] for row in memory[:2]] == ["lesson 249", "lesson 248"]
    assert {len(row[2]) for row in memory} == {evidence.MAX_NOTE}
    assert {row[1] for row in memory} == {"lesson"}


@pytest.mark.parametrize(("bytes_", "programs"), [(1, 1), (3000, 2), (1 << 20, 5)])
def test_a_file_holds_programs_up_to_a_size(
    bytes_: int, programs: int, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offline, "MAX_BYTES", bytes_)
    monkeypatch.setattr(offline, "MAX_DETAILS", 5)
    page = json.loads(write_offline(run, run / "page.html").read_text().split('id="data">')[1].split("</script>")[0])
    details, summary = page["details"], page["summary"]
    if programs == 2:
        sizes = [len(offline.escape_json(detail)) for detail in details.values()]
        assert sum(sizes) <= bytes_
        assert len(details) >= 2
    else:
        assert len(details) == programs
    assert list(details)[:2] == [summary["best"], summary["seed"]][: len(details)]


def test_an_evaluation_without_a_round_counts_for_the_time_of_a_run(run: Path) -> None:
    with Store(run / "run.db") as store:
        store.keep_evaluation("later", Evaluation(Status.OK, 1.0, cpu_s=0.12345), 500.5)
    summary = RunReader(run).read_summary()
    assert summary.spent["seconds"] == 500.5
    assert summary.rounds == 12
    assert (summary.cpu_s * 1000) == pytest.approx(round(summary.cpu_s * 1000))
