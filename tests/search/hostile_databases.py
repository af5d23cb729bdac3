"""Databases of runs as an adversary makes them: each changes the ``run.db`` of an honest run."""

import json
import os
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder
from oragent.search.strategies import STRATEGIES
from tests.conftest import write_toy
from tests.search.test_engine import search

Attack = Callable[[Path], None]
DEEP = "[" * 900 + "]" * 900
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


def honest_run(root: Path) -> RunFolder:
    """Search for the toy problem in a new project."""
    config = build_config({}, ["budget.evaluations=8", "strategy.name=gp"], "test")
    folder = make_folder(root, root / "outputs", load_problem(write_toy(root)), config)
    search(folder, STRATEGIES["gp"])
    return folder


def run_sql(script: str, *values: object) -> Attack:
    """Return an attack that runs statements; values belong to the last of them."""

    def attack(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            *first, last = [part for part in script.split(";\n") if part.strip()]
            database.executescript(";\n".join(first))
            database.execute(last, values)
            database.commit()
            database.execute("PRAGMA journal_mode=DELETE")

    return attack


def make_view(table: str) -> Attack:
    """Return an attack that replaces a table by a view without an end."""
    with_names = f"CREATE VIEW {table} AS {ENDLESS} SELECT o.*, x FROM old_{table} o, c"
    return run_sql(f"ALTER TABLE {table} RENAME TO old_{table};\n{with_names}")


def make_link(suffix: str, target: str = "") -> Attack:
    """Return an attack that puts a link in the place of a file beside the database."""

    def attack(path: Path) -> None:
        file, victim = path.with_name(path.name + suffix), path.with_name(target or "victim")
        if not suffix:
            path.rename(victim)
        elif not target:
            victim.write_text("precious")
        file.symlink_to(victim)

    return attack


def make_fifo(path: Path) -> None:
    """Put a pipe in the place of the database."""
    path.unlink()
    os.mkfifo(path)


def name_victim(path: Path) -> None:
    """Add a rollback journal that names another file, which SQLite deletes when it rolls back."""
    victim = path.with_name("victim")
    victim.write_text("precious")
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    header = magic + struct.pack(">IIIII", 0, 0, path.stat().st_size // 4096, 512, 4096)
    checksum = sum(struct.unpack(f"{len(name)}b", name)) & 0xFFFFFFFF
    end = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), checksum) + magic
    path.with_name("run.db-journal").write_bytes(header.ljust(512, b"\0") + end)


def repeat_pages(path: Path) -> None:
    """Let each inner page of a table lead to the same page below many times: few pages hold endless rows."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
        database.execute("DELETE FROM replies")
        database.execute("INSERT INTO replies VALUES ('1.0', 'h', 'code', '[]', 'x', '[]', 'm', 1, 1, 1.0, 1.0, 0, 0)")
        for _ in range(12):  # free pages
            database.execute("CREATE TABLE room (x)")
            database.execute("INSERT INTO room VALUES (zeroblob(60000))")
            database.execute("DROP TABLE room")
        database.commit()
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'replies'").fetchone()
        (pages,) = database.execute("PRAGMA page_count").fetchone()
    content = bytearray(path.read_bytes())
    leaf = bytes(content[(root - 1) * 4096 : root * 4096])
    content[(pages - 1) * 4096 : pages * 4096] = leaf
    children = [pages, *range(pages - 1, pages - 8, -1)]
    for child, page in zip(children, [*children[1:], root], strict=True):
        cells = 400
        pointers, body = b"", b""
        for number in range(cells):
            offset = 4096 - 5 * (number + 1)
            pointers += struct.pack(">H", offset)
            body = struct.pack(">IB", child, min(number, 127)) + body
        head = struct.pack(">BHHHBI", 5, 0, cells, 4096 - 5 * cells, 0, child)
        inner = (head + pointers).ljust(4096 - len(body), b"\0") + body
        content[(page - 1) * 4096 : page * 4096] = inner
    path.write_bytes(content)


BIG = "CREATE TABLE IF NOT EXISTS big (x);\nUPDATE candidates SET source = ? WHERE round = 1"
ATTACKS: dict[str, Attack] = {
    "candidates are an endless view": make_view("candidates"),
    "evaluations are an endless view": make_view("evaluations"),
    "replies are an endless view": make_view("replies"),
    "meta is an endless view": make_view("meta"),
    "a trigger": run_sql("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM candidates; END"),
    "a generated column": run_sql("ALTER TABLE notes ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))"),
    "a column that is SQL": run_sql('ALTER TABLE evaluations ADD COLUMN "x) VALUES (1); --" TEXT'),
    "an index on an expression": run_sql("CREATE INDEX i ON candidates (hex(zeroblob(10)))"),
    "infinite scores": run_sql("UPDATE evaluations SET score = 9e999"),
    "text as scores": run_sql("UPDATE evaluations SET score = 'a lot'"),
    "bytes as scores": run_sql("UPDATE evaluations SET score = x'00ff'"),
    "a score of a failure": run_sql("UPDATE evaluations SET status = 'error'"),
    "no scores": run_sql("UPDATE evaluations SET score = NULL"),
    "an unknown status": run_sql("UPDATE evaluations SET status = 'superb'"),
    "80 MB of source": run_sql(BIG, "x = 1\n" * (80 << 20 >> 3)),
    "30 MB of source": run_sql(BIG, "x" * (30 << 20)),
    "70 MB of nothing": run_sql("UPDATE candidates SET source = zeroblob(70000000) WHERE round = 1"),
    "bytes as source": run_sql("UPDATE candidates SET source = x'00ff00'"),
    "deep metrics": run_sql("UPDATE evaluations SET metrics = ?", f'{{"x": {DEEP}}}'),
    "very deep metrics": run_sql("UPDATE evaluations SET metrics = ?", f'{{"x": {"[" * 100_000}{"]" * 100_000}}}'),
    "long numbers in metrics": run_sql("UPDATE evaluations SET metrics = ?", f'{{"value": {"9" * 4000}}}'),
    "numbers without an end in metrics": run_sql("UPDATE evaluations SET metrics = ?", f'{{"value": {"9" * 9000}}}'),
    "NaN in metrics": run_sql("UPDATE evaluations SET metrics = ?", '{"value": NaN, "other": Infinity}'),
    "a list as metrics": run_sql("UPDATE evaluations SET metrics = '[1]'"),
    "deep features": run_sql("UPDATE evaluations SET features = ?", DEEP),
    "NaN in features": run_sql("UPDATE evaluations SET features = '[NaN]'"),
    "text in features": run_sql("UPDATE evaluations SET features = '[\"a\"]'"),
    "a million features": run_sql("UPDATE evaluations SET features = ?", json.dumps([1] * 1_000_000)),
    "large features": run_sql("UPDATE evaluations SET features = ?", f"[{10**300}]"),
    "parents that are no texts": run_sql("UPDATE candidates SET parents = '[[1]]'"),
    "parents that are a number": run_sql("UPDATE candidates SET parents = '7'"),
    "an island beyond all": run_sql("UPDATE candidates SET island = 1000000000000000"),
    "text as island": run_sql("UPDATE candidates SET island = 'here'"),
    "a round beyond all": run_sql("UPDATE candidates SET round = 9223372036854775807 WHERE round = 1"),
    "negative rounds": run_sql("UPDATE candidates SET round = -round"),
    "more rounds than ended": run_sql("DELETE FROM rounds"),
    "rounds that are no numbers": run_sql('UPDATE rounds SET spent = \'{"evaluations": "many"}\''),
    "rounds that cost infinity": run_sql("UPDATE rounds SET spent = '{\"money\": Infinity}'"),
    "rounds that cost something else": run_sql("UPDATE rounds SET spent = '{\"blood\": 3}'"),
    "rounds that are a list": run_sql("UPDATE rounds SET spent = '[]'"),
    "deep rounds": run_sql("UPDATE rounds SET spent = ?", DEEP),
    "remarks that are no texts": run_sql("INSERT OR REPLACE INTO meta VALUES ('remarks', '[{}, 3]')"),
    "deep remarks": run_sql("INSERT OR REPLACE INTO meta VALUES ('remarks', ?)", DEEP),
    "resets that are text": run_sql("INSERT OR REPLACE INTO meta VALUES ('resets', '\"x\"')"),
    "resets at NaN": run_sql("INSERT OR REPLACE INTO meta VALUES ('resets', '{\"1\": NaN}')"),
    "a grid of nothing": run_sql("INSERT OR REPLACE INTO meta VALUES ('grid', '{}')"),
    "a grid of infinity": run_sql(
        "INSERT OR REPLACE INTO meta VALUES ('grid', ?)", '{"bins": [1e400], "bounds": [[0, 1]], "measured": [true]}'
    ),
    "steering that is a number": run_sql("INSERT OR REPLACE INTO meta VALUES ('steering', '3')"),
    "packages that are a number": run_sql("INSERT OR REPLACE INTO meta VALUES ('packages', '3')"),
    "founders that are a number": run_sql("INSERT OR REPLACE INTO meta VALUES ('founders', '3')"),
    "offers that are a number": run_sql("INSERT OR REPLACE INTO meta VALUES ('offers', '3')"),
    "a memory that is a number": run_sql("INSERT INTO notes VALUES (0, 99, 'memory', '3')"),
    "a tree of ideas that is deep": run_sql("INSERT INTO notes VALUES (0, 99, 'tree', ?)", DEEP),
    "replies with text as tokens": run_sql(
        "INSERT INTO replies VALUES ('1.0', 'h', 'code', '[]', 'x', '[]', 'm', 'many', 1, 1.0, 1.0, 0, 0)"
    ),
    "replies that cost infinity": run_sql(
        "INSERT INTO replies VALUES ('1.0', 'h', 'code', '[]', 'x', '[]', 'm', 1, 1, 9e999, 1.0, 0, 0)"
    ),
    "replies with a strange key": run_sql(
        "INSERT INTO replies VALUES ('x', 'h', 'code', '[]', 'x', '[]', 'm', 1, 1, 1.0, 1.0, 0, 0)"
    ),
    "replies with strange tools": run_sql(
        "INSERT INTO replies VALUES ('1.0', 'h', 'code', '[]', 'x', '[{\"id\": 3}]', 'm', 1, 1, 1.0, 1.0, 0, 0)"
    ),
    "a journal that is a number": run_sql("INSERT INTO journal VALUES (0, 'x', 1, 'candidate', '3')"),
    "a journal of another kind": run_sql("INSERT INTO journal VALUES (0, 'x', 1, 'surprise', '{}')"),
    "a deep journal": run_sql("INSERT INTO journal VALUES (0, 'x', 1, 'note', ?)", DEEP),
    "another schema": run_sql("DROP TABLE candidates;\nCREATE TABLE candidates (x, y)"),
    "no tables": run_sql("DROP TABLE candidates;\nDROP TABLE rounds;\nDROP TABLE evaluations"),
    "text that is not UTF-8": run_sql("UPDATE candidates SET source = CAST(x'fffe' AS TEXT)"),
    "half of a file": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a link as database": make_link("", "other.db"),
    "a link as write-ahead log": make_link("-wal"),
    "a link as journal": make_link("-journal"),
    "a link as shared memory": make_link("-shm"),
    "a pipe as database": make_fifo,
    "a journal that names a victim": name_victim,
    "pages that repeat": repeat_pages,
}
