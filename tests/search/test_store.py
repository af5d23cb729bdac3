"""The store keeps what happened, and what it cannot read it says in one line."""

import sqlite3
from pathlib import Path

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import StoreError
from oragent._base.protocol import Result, Status, format_result, parse
from oragent.evaluation import Evaluation
from oragent.ledger import RecordedReply
from oragent.search.candidate import Candidate, Committed
from oragent.search.store import RoundNote, Store

SCORED = Evaluation(Status.OK, 3.5, (1, 2), {"a": 1.5, "b": [1, 2]}, wall_s=1.0, cpu_s=0.5, peak_mb=30.0)
FAILED = Evaluation(Status.INVALID, message="no tour", traceback="...", log="x", wall_s=0.1)
REPLY = RecordedReply("1.0", "code", "[]", "text", "m", 10, 20, 0.5, 1.0, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def candidate(name: str, evaluation: Evaluation) -> Candidate:
    return Candidate(
        source=f"source {name}",
        fingerprint=name,
        parents=("0.0",),
        origin="jitter",
        island=1,
        call=None,
        evaluation=evaluation,
    )


def test_what_was_written_is_read_after_reopening(path: Path) -> None:
    with Store(path) as store:
        store.keep_evaluation("a", SCORED, 4.0)
        store.keep_evaluation("b", FAILED, 5.0)
        store.replies.store_reply(REPLY, "hash")
        store.commit(1, [(candidate("a", SCORED), "NEW"), (candidate("b", FAILED), "")], Spent(2, 1, 30, 0.5), 6.0)
        store.note("end", "done")
    with Store(path, readonly=True) as store:
        assert store.evaluation("a") == SCORED
        assert store.records() == [
            Committed(id="1.0", candidate=candidate("a", SCORED), placed="NEW", elapsed_s=4.0),
            Committed(id="1.1", candidate=candidate("b", FAILED), placed="", elapsed_s=5.0),
        ]
        assert store.replies.all_replies() == [REPLY]
        assert store.rounds() == {1: Spent(2, 1, 30, 0.5)}
        assert store.elapsed_s() == 6.0
        assert store.meta("end") == "done"
        assert store.meta("nothing") is None


@pytest.mark.parametrize("bits", [999, 1000, 1001, 1025, 12_000, 16_600])
def test_whole_numbers_of_an_evaluator_are_refused_or_read_back(path: Path, bits: int) -> None:
    """A hexadecimal number can be longer than the decimal numbers that Python reads."""
    number = hex(2**bits - 1)
    block = format_result(Result({"size": [0]}, (1,), 1.0))
    for text in (block.replace("[0]", f"[-{number}]"), block.replace("(1,)", f"(1, -{number})")):
        parsed = parse(text)
        assert isinstance(parsed, Result) is (bits <= 1000)
        if isinstance(parsed, Result):
            scored = Evaluation(Status.OK, parsed.score, parsed.features, parsed.metrics)
            with Store(path) as store:
                store.keep_evaluation("a", scored, 1.0)
            with Store(path, readonly=True) as store:
                assert store.evaluation("a") == scored


def test_records_come_in_the_order_of_rounds(path: Path) -> None:
    with Store(path) as store:
        store.keep_evaluation("a", SCORED, 1.0)
        for number in (10, 9, 2):
            store.commit(number, [(candidate("a", SCORED), "NEW")], Spent(), 1.0)
        assert [record.id for record in store.records()] == ["2.0", "9.0", "10.0"]
        assert [record.id for record in store.records(9)] == ["9.0"]


def test_a_round_is_written_whole_or_not_at_all(path: Path) -> None:
    with Store(path) as store:
        store.commit(1, [], Spent(), 1.0)
        with pytest.raises(StoreError):
            store.commit(1, [(candidate("a", SCORED), "NEW")], Spent(), 2.0)
        store.close()
    with Store(path) as store:
        assert store.records() == []
        assert store.elapsed_s() == 1.0


def test_a_corrupted_file_is_one_line(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError):
        Store(path)


def test_a_torn_file_is_one_line(path: Path) -> None:
    with Store(path) as store:
        for number in range(200):
            store.keep_evaluation(str(number), SCORED, 1.0)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError), Store(path) as store:
        store.records()
        store.evaluation("5")


def test_another_layout_is_refused(path: Path) -> None:
    Store(path).close()
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="format 99"):
        Store(path)


def test_a_missing_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Store(tmp_path / "run.db", readonly=True)


def test_a_full_disk_says_how_to_go_on(path: Path) -> None:
    with Store(path) as store:
        store._db.execute("PRAGMA max_page_count = 12")
        with pytest.raises(StoreError, match="oragent resume"):
            for number in range(1000):
                store.keep_evaluation(str(number), SCORED, 1.0)
        assert store.evaluation("0") == SCORED


def test_notes_are_committed_with_their_round_and_read_in_order(path: Path) -> None:
    with Store(path) as store:
        store.commit(2, [], Spent(), 1.0, [RoundNote(2, "memory", "b"), RoundNote(2, "tree", "{}")])
        store.commit(1, [], Spent(), 1.0, [RoundNote(1, "memory", "a")])
        assert store.notes() == [RoundNote(1, "memory", "a"), RoundNote(2, "memory", "b"), RoundNote(2, "tree", "{}")]


def test_what_reads_one_round_does_not_count_all_of_them(path: Path) -> None:
    with Store(path) as store:
        store.keep_evaluation("a", SCORED, 1.0)
        for number in range(9):
            store.commit(number, [(candidate("a", SCORED), "")], Spent(1), 1.0)
        statements: list[str] = []
        store._db._db.set_trace_callback(statements.append)
        assert [record.id for record in store.records(7)] == ["7.0"]
    # A resumed run reads each of its rounds: a statement about all of them takes quadratic time.
    assert [text for text in statements if "WHERE round = 7" not in text and text.startswith("SELECT")] == []
