"""A run as plain data: whole, bounded, and one line where its database is not what a run writes."""

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path

import pytest

from oragent._base.errors import StoreError
from oragent.report.live.snapshot import RunReader, read_trust
from oragent.report.run import load_run
from oragent.search.store import Store
from tests.report.runs import SEED, Made, describe, reply, searched, write

HOSTILE = "</script><script>alert(1)</script> \x1b[31m \u202e"


def made(folder: Path, rounds: list[list[Made]] | None = None) -> RunReader:
    describe(folder)
    write(folder, rounds or searched(40), end="200 evaluations used")
    return RunReader(folder)


def test_columns_agree_with_what_the_report_reads(tmp_path: Path) -> None:
    reader, data = made(tmp_path), load_run(tmp_path)
    columns = reader.read_candidates()
    assert [f"{a}.{b}" for a, b in zip(columns.round, columns.number, strict=True)] == [r.id for r in data.records]
    assert columns.score == [record.score for record in data.records]
    assert [columns.origins[at] for at in columns.origin] == [record.candidate.origin for record in data.records]
    assert [columns.statuses[at] for at in columns.status] == [str(r.candidate.evaluation.status) for r in data.records]
    assert [tuple(parents) for parents in columns.parents] == [record.candidate.parents for record in data.records]
    assert columns.size == [len(record.source) for record in data.records]


def test_pages_of_candidates_follow_one_another(tmp_path: Path) -> None:
    reader = made(tmp_path)
    whole, parts, after = reader.read_candidates(), [], 0
    while (part := reader.read_candidates(after, 7)).round:
        parts += part.round
        after = part.after
    assert parts == whole.round
    assert part.after == after == whole.after


def test_the_summary_has_spending_state_and_calls(tmp_path: Path) -> None:
    made(tmp_path)
    with Store(tmp_path / "run.db") as store:
        reply(store, 1, role="mutate", tokens_cached=300)
        reply(store, 2, role="mutate", money=None)
    summary = RunReader(tmp_path).read_summary()
    assert (summary.state, summary.end, summary.rounds) == ("ended", "200 evaluations used", 40)
    assert summary.spent["evaluations"] == 40
    assert summary.budget == {"evaluations": 200}
    (group,) = summary.calls
    assert (group.role, group.calls, group.tokens_in, group.tokens_cached, group.unpriced) == (
        "mutate",
        2,
        2000,
        300,
        1,
    )
    json.dumps(asdict(summary), allow_nan=False)


def test_a_run_whose_lock_is_held_is_running(tmp_path: Path) -> None:
    import fcntl

    reader = made(tmp_path)
    with (tmp_path / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert reader.read_summary().state == "running"


def test_a_candidate_has_program_prompt_reply_and_metrics(tmp_path: Path) -> None:
    reader = made(tmp_path, [[Made(SEED, 7.0, (0, 0), (), "seed")], [Made(f"# {HOSTILE}", 6.0, call=0)]])
    with Store(tmp_path / "run.db") as store:
        reply(store, 1, prompt=json.dumps([{"role": "user", "content": HOSTILE}]), text="answer")
    found = reader.read_candidate("1.0")
    assert (found["score"], found["parents"]) == (6.0, ["0.0"])
    assert found["calls"][0]["reply"] == "answer"
    for text in (found["source"], found["calls"][0]["prompt"][0]["text"]):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\u202e" in text


@pytest.mark.parametrize("name", ["", "x", "1", "1.x", "-1.0", "9.9", "1.0; DROP TABLE candidates", "9" * 50 + ".0"])
def test_an_unknown_candidate_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        made(tmp_path).read_candidate(name)
    assert "\n" not in str(caught.value)


def _truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _execute(*statements: str):
    def change(path: Path) -> None:
        with sqlite3.connect(path) as database:
            for statement in statements:
                database.execute(statement)
        database.close()

    return change


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS round, '{}' AS spent, x AS elapsed_s FROM n"


@pytest.mark.parametrize(
    "change",
    [
        _truncate,
        lambda path: path.write_bytes(b"no database at all"),
        lambda path: path.write_bytes(b""),
        _execute("UPDATE meta SET value = '99' WHERE key = 'version'"),
        _execute("UPDATE rounds SET spent = 'no JSON'"),
        _execute("UPDATE rounds SET spent = '" + "[" * 100_000 + "'"),
        _execute("DROP TABLE evaluations"),
        _execute("DROP TABLE rounds", f"CREATE VIEW rounds AS {ENDLESS}"),
    ],
    ids=["truncated", "text", "empty", "newer", "not JSON", "deep JSON", "no table", "endless view"],
)
def test_a_database_that_is_not_a_runs_is_one_line(tmp_path: Path, change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oragent.report.live.snapshot.QUERY_S", 0.3)
    reader = made(tmp_path)
    change(tmp_path / "run.db")
    with pytest.raises(StoreError) as caught:
        reader.read_summary()
        reader.read_candidates()
    assert "\n" not in str(caught.value)


def test_reading_writes_nothing(tmp_path: Path) -> None:
    reader = made(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (
        reader.read_summary(),
        reader.read_candidates(),
        reader.read_candidate("0.0"),
        reader.read_calls(),
        read_trust(reader),
    )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_foreign_schema_cannot_write_or_call_functions(tmp_path: Path) -> None:
    made(tmp_path)
    with Store(tmp_path / "run.db", readonly=True) as store:
        assert store._db.row("PRAGMA trusted_schema")[0] == 0
        assert store._db.row("PRAGMA query_only")[0] == 1


def test_a_folder_that_is_not_a_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not the folder of a run"):
        RunReader(tmp_path)


def test_evidence_names_the_best_and_its_sentences(tmp_path: Path) -> None:
    found = read_trust(made(tmp_path))
    assert found["best"] == load_run(tmp_path).best.id
    assert found["problem"] == ""
    json.dumps(found, allow_nan=False)
