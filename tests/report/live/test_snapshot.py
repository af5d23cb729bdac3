"""A run as plain data: whole, bounded, and one line where its database is not what a run writes."""

import ast
import json
import shlex
import sqlite3
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.errors import ConfigError, StoreError
from oragent.api.results import make_rows
from oragent.report.live.evidence import read_elites, read_ideas, read_trust
from oragent.report.live.offline import write_parquet
from oragent.report.live.snapshot import RunReader
from oragent.report.run import load_run
from oragent.search.archive import Grid
from oragent.search.running_work import RUNNING
from oragent.search.store import Store
from oragent.search.user_commands import post_act
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
        before = reader.version()
        (tmp_path / RUNNING).write_text('[{"what": "sweep, round 7: setting 4 of 9", "since": 5.0}]')
        assert reader.version() != before
        summary = reader.read_summary()
        assert summary.state == "running"
        assert summary.tasks == [{"what": "sweep, round 7: setting 4 of 9", "since": 5.0}]
    # A file that a killed run left names nothing that runs.
    assert reader.read_summary().tasks == []


def test_acts_that_wait_are_in_the_summary(tmp_path: Path) -> None:
    reader = made(tmp_path)
    before = reader.version()
    post_act(tmp_path, "hint", "short edges")
    post_act(tmp_path, "pause")
    assert reader.version() != before
    assert [(act["act"], act["value"]) for act in reader.read_summary().waiting] == [
        ("hint", "short edges"),
        ("pause", ""),
    ]


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
        with closing(sqlite3.connect(path)) as database, database:
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
        assert store._db.query_row("PRAGMA trusted_schema")[0] == 0
        assert store._db.query_row("PRAGMA query_only")[0] == 1


def test_a_folder_that_is_not_a_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not the folder of a run"):
        RunReader(tmp_path)


def test_evidence_names_the_best_and_its_sentences(tmp_path: Path) -> None:
    found = read_trust(made(tmp_path))
    assert found["best"] == load_run(tmp_path).best.id
    assert found["problem"] == ""
    json.dumps(found, allow_nan=False)


def test_leaders_agree_with_the_archive_also_where_scores_are_equal(tmp_path: Path) -> None:
    longer = [[Made(f"{SEED}{'x = 1; ' * (3 - n)}\n", 5.0, (n, 0))] for n in range(3)]
    summary = made(tmp_path, [[Made(SEED, 7.0, (0, 0), (), "seed")], *longer]).read_summary()
    assert (summary.seed, summary.best) == ("0.0", "3.0") == (load_run(tmp_path).seed.id, load_run(tmp_path).best.id)


def test_measured_features_come_with_the_bins_of_the_archive(tmp_path: Path) -> None:
    made(tmp_path)
    before = RunReader(tmp_path).read_summary()
    grid = Grid((4, 3), ((0.0, 1.0), (2.0, 5.0)), (True, True))
    with Store(tmp_path / "run.db") as store:
        store.note("grid", grid.dumps())
    after = RunReader(tmp_path).read_summary()
    assert (before.grid, after.grid) == (None, json.loads(grid.dumps()))
    assert before.revision != after.revision


def test_programs_come_in_one_layout_for_comparisons(tmp_path: Path) -> None:
    written = ast.unparse(ast.parse(SEED)) + "\n"
    reader = made(tmp_path, [[Made(SEED, 7.0, (0, 0), (), "seed")], [Made(written, 6.0)], [Made("no ( program", None)]])
    assert reader.read_candidate("0.0")["layout"].strip() == written.strip()
    assert reader.read_candidate("1.0")["layout"] == ""
    assert reader.read_candidate("2.0")["layout"] == ""


def test_the_table_is_written_as_parquet_where_pyarrow_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, columns = made(tmp_path), {}
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(table=lambda table: table))
    writer = SimpleNamespace(write_table=lambda table, out: (columns.update(table), out.write(b"PAR1")))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", writer)
    assert write_parquet(reader) == b"PAR1"
    records = load_run(tmp_path).records
    assert columns["candidate"] == [record.id for record in records]
    assert columns["status"] == [str(record.candidate.evaluation.status) for record in records]
    assert {len(column) for column in columns.values()} == {len(records)}
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="CSV needs nothing"):
        write_parquet(reader)


def test_elites_are_those_of_the_archive_with_migrations(tmp_path: Path) -> None:
    found, data = read_elites(made(tmp_path)), load_run(tmp_path)
    assert [island["elites"] for island in found["islands"]] == list(map(len, data.islands))
    assert found["rows"][0]["id"] == data.best.id
    assert read_ideas(RunReader(tmp_path)) == {"research": None, "memory": []}


def test_the_command_continues_a_run_whose_budget_is_used_up(tmp_path: Path) -> None:
    describe(tmp_path)
    write(tmp_path, searched(5), end="the budget of 5 evaluations is used up")
    summary = RunReader(tmp_path).read_summary()
    assert summary.command == load_run(tmp_path).resume_command
    assert summary.folder == str(tmp_path)


def test_a_program_of_a_branch_comes_from_the_reply_around_it(tmp_path: Path) -> None:
    scored = [
        Made(f"# {at}", 6.0 + at, call=0, branch=branch) for at, branch in enumerate(["0.0/", "0.1/1.0/", "0.2/"])
    ]
    reader = made(tmp_path, [[Made(SEED, 7.0, (0, 0), (), "seed")], scored, [Made("# bred", 8.0)]])
    with Store(tmp_path / "run.db") as store:
        reply(store, 1, text="to the round")
        reply(store, 1, "0.1/0", model="other", text="to a branch")
    columns = reader.read_candidates()
    assert columns.key == ["", "1.0", "1.0.1/0", "1.0", ""]
    assert [columns.models[at] for at in columns.model] == ["", "gpt-4.1-mini", "other", "gpt-4.1-mini", ""]
    texts = [[call["reply"] for call in reader.read_candidate(f"1.{at}")["calls"]] for at in range(3)]
    assert texts == [["to the round"], ["to a branch"], ["to the round"]]
    rows = make_rows(load_run(tmp_path))[1]
    assert [row["model"] for row in rows] == [None, "gpt-4.1-mini", "other", "gpt-4.1-mini", None]


def test_the_memory_is_shown_as_it_grew_without_records_of_the_strategy(tmp_path: Path) -> None:
    reader = made(tmp_path, searched(3))
    notes = [
        ("lesson", "short edges are good"),
        ("lesson", "short edges are good"),
        ("event", '{"island": 1, "text": "a b"}'),
    ]
    notes += [("title", "0123456789abcdef a title"), ("played", "eoh"), ("hint", "try more\x1b[31m noise")]
    with Store(tmp_path / "run.db") as store:
        for number, (kind, text) in enumerate(notes):
            store._db.write_row("INSERT INTO", "notes", {"round": number, "number": 0, "kind": kind, "text": text})
    assert read_ideas(reader)["memory"] == [
        [5, "hint", "try more\\u001b[31m noise"], [0, "lesson", "short edges are good"],
    ]  # fmt: skip


def test_evidence_tells_limits_and_pairs_on_val(tmp_path: Path) -> None:
    sides = [{"by_instance": {"20": [value + at / 10 for at in range(4)]}} for value in (6.85, 5.85)]
    seed, best = Made(SEED, 7.0, (0, 0), (), "seed", metrics=sides[0]), Made("# best", 6.0, metrics=sides[1])
    reader = made(tmp_path, [[seed], [best]])
    (tmp_path / "best.py").write_text("# tsp: 6.0\n#| limits: 30 CPU seconds an evaluation\n#| parents: 0.0\n# best\n")
    found = read_trust(reader)
    assert found["head"] == ["limits: 30 CPU seconds an evaluation"]
    words = ["oragent", "eval", reader.about.problem_reference, "--candidate", f"{tmp_path}/best.py"]
    assert shlex.split(found["command"]) == words
