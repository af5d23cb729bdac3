"""The command line as a person meets it: real processes, real files, a real server."""

import itertools
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from oragent.cli import app as cli
from oragent.report.live.evidence import read_trust
from oragent.report.live.snapshot import RunReader
from oragent.search.store import Store
from tests.forked import command
from tests.llm.chat_server import Answer, ChatServer, failure, ok

ROOT = Path(__file__).parents[2]


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return kept | {"COLUMNS": "120", "PYTHONPATH": str(ROOT)} | extra


def oragent(*words: object, cwd: Path, **extra: str) -> subprocess.CompletedProcess:
    return command([*map(str, words)], cwd, environment(**extra))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """The same in this process: for what ends before anything begins."""

    def run(*words: object) -> subprocess.CompletedProcess:
        command = ["oragent", *map(str, words)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return subprocess.CompletedProcess(command, ended.value.code, *capsys.readouterr())

    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    return run


def only_run(root: Path) -> Path:
    (folder,) = (root / "outputs" / "toy").iterdir()
    return folder


def complaint(done: subprocess.CompletedProcess) -> str:
    """The one line of an error; anything more is a failure of the test."""
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.slow
def test_problems_lists_what_ships() -> None:
    listed = oragent("problems", cwd=ROOT).stdout
    for name in ("tsp_constructive", "tsp_aco", "bpp_online"):
        assert name in listed


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["80", "200"])
def test_titles_of_problems_are_not_folded_into_a_narrow_column(columns: str) -> None:
    words = [sys.executable, "-m", "oragent", "problems"]  # a console measures the terminal when it is made
    shown = subprocess.run(
        words, cwd=ROOT, env=environment(COLUMNS=columns), capture_output=True, text=True, check=True
    )
    listed = shown.stdout.splitlines()
    assert max(map(len, listed)) <= int(columns)
    (row,) = (line for line in listed if line.split()[:1] == ["tsp_lehd"])
    assert "Travelling salesman by LEHD: a bias for attention" in row
    assert len(listed) < 4 * sum(bool(line.strip()) and not line.startswith("  ") for line in listed)
    assert "select_next_node" in "\n".join(listed)


@pytest.mark.slow
def test_no_workers_are_all_cores_and_fewer_are_refused_in_a_line(here, toy: Path, tmp_path: Path) -> None:
    for words in (
        ["run"],
        ["compare"],
        ["bench", "study"],
        ["bench", "formulate"],
        ["bench", "converse"],
        ["bench", "workspace"],
    ):
        told = " ".join(here(*words, "--help").stdout.replace("│", " ").split())
        assert "0 is as many as there are cores" in told, words
    wrong = here("run", "toy", "--workers", "-1")
    assert wrong.returncode != 0
    assert "greater than or equal to 0" in wrong.stderr or "x>=0" in wrong.stderr  # as Typer or Click puts it
    assert oragent("run", "toy", "--evaluations", 2, "--workers", 0, cwd=tmp_path).returncode == 0


def test_a_run_leaves_all_that_it_promises(toy: Path, tmp_path: Path) -> None:
    done = oragent("run", "toy", "--evaluations", 12, "--seed", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    for name in ("config.yaml", "run.db", "best.py", "report.html"):
        assert (folder / name).is_file(), name
    assert any((folder / "candidates").iterdir())
    with Store(folder / "run.db", readonly=True) as store:
        assert json.loads(store.meta("isolation") or "{}").keys() == {"held", "missing"}
    assert "12 evaluations" in done.stdout
    assert "seed     94" in done.stdout
    again = oragent(*shlex.split(read_trust(RunReader(folder))["command"])[1:], cwd=tmp_path)  # as the page shows it
    assert re.search(r"score +\d", again.stdout), again.stdout + again.stderr
    assert str(folder / "report.html") in done.stdout
    assert " lower than the seed (" in done.stdout
    assert f"oragent resume {folder} budget.evaluations=24" in done.stdout


@pytest.mark.slow
def test_a_killed_run_is_resumed_with_every_scored_candidate(toy: Path, tmp_path: Path) -> None:
    slow = (toy / "eval.py").read_text() + "\nimport time; time.sleep(0.1)\n"
    (toy / "eval.py").write_text(slow)
    command = [sys.executable, "-m", "oragent", "run", "toy", "--evaluations", "40"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while _committed(tmp_path) < 8:
        time.sleep(0.05)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _scored(only_run(tmp_path))
    done = oragent("resume", only_run(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = _scored(only_run(tmp_path))
    assert before.items() <= after.items()
    assert len(after) == 40
    assert "40 evaluations" in done.stdout


def _committed(root: Path) -> int:
    for database in root.glob("outputs/toy/*/run.db"):
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
                return int(db.execute("SELECT COUNT(*) FROM candidates").fetchone()[0])
        except sqlite3.OperationalError:
            break
    return 0


def _scored(folder: Path) -> dict[str, tuple]:
    with closing(sqlite3.connect(folder / "run.db")) as db:
        rows = db.execute("SELECT fingerprint, status, score, elapsed_s FROM evaluations").fetchall()
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
def test_ctrl_c_finishes_writes_and_says_how_to_go_on(toy: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "oragent", "run", "toy", "--evaluations", "5000"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    while _committed(tmp_path) < 5:
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped by Ctrl-C" in said
    assert f"oragent resume {only_run(tmp_path)}" in said
    assert (only_run(tmp_path) / "report.html").is_file()


@pytest.mark.slow
def test_a_model_behind_a_bad_line_drives_a_run_to_its_end(toy: Path, tmp_path: Path) -> None:
    numbers = itertools.count(10)

    def program(request: dict) -> Answer:
        number = next(numbers)
        return ok(f"Sure!\n```python\ndef guess(x):\n    return {number} + x\n```", usage=(100, 20))

    rubbish = ok("I cannot help with that.", usage=(100, 7))
    script = [ok("OK", usage=(5, 1)), failure(429, retry_after="0"), program, Answer(body="{rubbish"), program, rubbish]
    script += [program, failure(500), program, Answer(sent=0.0), rubbish, rubbish]
    with ChatServer(*script, *[program] * 60) as server:
        done = oragent(
            "run", "toy", "--model", "m", "--strategy", "funsearch", "--evaluations", 8, "model.backoff_s=0.01", "model.concurrency=1",
            "strategy.window=1", cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-secret",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    with closing(sqlite3.connect(folder / "run.db")) as db:
        replies = db.execute("SELECT role, tokens_in, tokens_out, text FROM replies").fetchall()
        rejected = db.execute(
            "SELECT COUNT(*) FROM candidates JOIN evaluations USING (fingerprint) WHERE status = 'rejected'"
        )
        assert rejected.fetchone()[0] == 1  # twice rubbish in a row; the first rubbish was mended
    assert [role for role, *_ in replies].count("repair") == 2
    assert all(
        tokens == (5, 1) if role == "check" else tokens == (100, 7 if "cannot" in text else 20)
        for role, *tokens, text in replies
        for tokens in [tuple(tokens)]
    )
    total = sum(row[1] + row[2] for row in replies)
    assert f"{len(replies)} model calls, {total:,} tokens" in done.stdout
    leftovers = [path for path in folder.rglob("*") if path.is_file() and b"sk-secret" in path.read_bytes()]
    assert leftovers == []


@pytest.mark.slow
def test_the_scripted_model_needs_no_server(toy: Path, tmp_path: Path) -> None:
    done = oragent("run", "toy", "--model", "scripted", "--evaluations", 6, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "by or_agent" in done.stdout


@pytest.mark.slow
def test_eval_scores_one_heuristic(toy: Path, tmp_path: Path) -> None:
    done = oragent("eval", "toy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "94" in done.stdout
    better = tmp_path / "better.py"
    better.write_text("def guess(x):\n    return 100\n")
    assert "score     0.0" in oragent("eval", "toy", "--candidate", better, cwd=tmp_path).stdout


@pytest.mark.slow
def test_show_and_report_read_a_run(toy: Path, tmp_path: Path) -> None:
    oragent("run", "toy", "--evaluations", 5, cwd=tmp_path)
    folder = only_run(tmp_path)
    assert "def guess" in oragent("show", folder, cwd=tmp_path).stdout
    (folder / "report.html").unlink()
    assert oragent("report", folder, cwd=tmp_path).returncode == 0
    assert "toy" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_a_report_scores_the_held_out_set_only_when_asked(tmp_path: Path) -> None:
    oragent("new", "sack", cwd=tmp_path)
    oragent("run", "sack", "--evaluations", 6, cwd=tmp_path)
    (folder,) = (tmp_path / "outputs" / "sack").iterdir()
    assert not (folder / "test.yaml").exists()
    done = oragent("report", folder, "--test", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "scored on test: seed " in done.stdout
    assert "share_500" in done.stdout
    assert (folder / "test.yaml").is_file()


@pytest.mark.slow
def test_a_check_reports_how_many_calls_were_repeated(tmp_path: Path) -> None:
    oragent("new", "sack", cwd=tmp_path)
    done = oragent("eval", "sack", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "repeated 20 calls" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "name a problem to search ('oragent problems' lists them), or a run to --replay"),
        (["run", "--replay", "nowhere"], "nowhere is not a run"),
        (["run", "tyo"], "unknown problem 'tyo': did you mean toy"),
        (["run", "toy", "budget.evaluation=3"], "unknown key 'budget.evaluation': did you mean 'evaluations'?"),
        (["run", "toy", "--config", "none.yaml"], "cannot read the configuration none.yaml"),
        (["run", "toy", "--strategy", "funsearch"], "name one with --model, or use --strategy gp"),
        (["run", "toy", "--model", "m"], "OPENAI_API_KEY is not set"),
        (
            ["run", "toy", "--model", "m", "model.base_url=http://127.0.0.1:9/v1"],
            "OPENAI_BASE_URL or model.base_url sets its address",
        ),
        (["run", "toy", "budget.money=2"], "budget.money would never end this search, as strategy 'gp' asks no model"),
        (["compare", "toy", "budget.money=2", "--model", "scripted"], "would never end this search"),
        (["resume", "nowhere"], "nowhere is not a run"),
        (["show", "nowhere"], "nowhere"),
        (["report", "nowhere"], "nowhere"),
        (["eval", "toy", "--candidate", "none.py"], "none.py"),
        (["problems", "--root", "/nonexistent"], "/nonexistent is not a folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_line(toy: Path, tmp_path: Path, here, words: list[str], said: str) -> None:
    quick = ["model.retries=0"] if "m" in words else []
    assert said in complaint(here(*words, *quick))
    assert not list(tmp_path.glob("outputs/toy/*"))


@pytest.mark.slow
def test_a_broken_seed_shows_its_own_error(toy: Path, tmp_path: Path) -> None:
    (toy / "heuristic.py").write_text("def guess(x):\n    return 1 / 0\n")
    done = oragent("run", "toy", cwd=tmp_path)
    assert done.returncode == 1
    assert "the seed heuristic of toy fails: error: division by zero" in done.stderr
    assert "return 1 / 0" in done.stderr
    assert list((tmp_path / "outputs").iterdir()) == []


@pytest.mark.slow
def test_a_package_that_is_missing_is_one_line_and_leaves_nothing(toy: Path, tmp_path: Path) -> None:
    missing = 'import sys\nsys.modules["torch"] = None\nfrom oragent.harness.neural import need_torch\nneed_torch()\n'
    (toy / "eval.py").write_text(missing)
    line = complaint(oragent("run", "toy", "--evaluations", 5, cwd=tmp_path))
    assert re.search(r"torch is not installed: .*pip install .*\[neural\]", line)
    assert "{" not in line
    assert list((tmp_path / "outputs").iterdir()) == []


@pytest.mark.slow
def test_a_size_that_the_problem_has_not_is_one_clear_line(tmp_path: Path) -> None:
    line = complaint(oragent("run", "tsp_constructive", "problem_size=7", "--outputs", str(tmp_path), cwd=ROOT))
    assert "the evaluator refuses its arguments: unknown problem_size 7 in mode val: choose one of " in line


def test_a_candidate_with_a_syntax_error_is_rejected_with_its_line(toy: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def guess(x):\n    return (x\n")
    said = complaint(oragent("eval", "toy", "--candidate", broken, cwd=tmp_path))
    assert "line 2" in said
    assert "return (x" in said


def test_a_candidate_that_is_no_text_is_one_line(toy: Path, tmp_path: Path, here) -> None:
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00" * 100)
    assert "not UTF-8 text" in complaint(here("eval", "toy", "--candidate", binary))


@pytest.mark.slow
def test_a_corrupted_database_is_one_line(toy: Path, tmp_path: Path, here) -> None:
    oragent("run", "toy", "--evaluations", 3, cwd=tmp_path)
    folder = only_run(tmp_path)
    (folder / "run.db").write_bytes(b"rubbish" * 1000)
    for name in ("run.db-wal", "run.db-shm"):
        (folder / name).unlink(missing_ok=True)
    for verb in ("resume", "show", "report"):
        assert "corrupted" in complaint(here(verb, folder))


@pytest.mark.slow
def test_doctor_says_what_is_held_and_what_is_not(tmp_path: Path) -> None:
    bare = oragent("doctor", cwd=tmp_path, ORAGENT_ISOLATION="limits")
    assert bare.returncode == 1
    assert "forbidden by ORAGENT_ISOLATION=limits" in bare.stdout
    assert "NOT HELD  read your files" in bare.stdout
    assert "held      print or patch its way" in bare.stdout
    assert "held" in oragent("doctor", cwd=tmp_path).stdout


def test_a_run_says_first_what_nothing_holds(toy: Path, tmp_path: Path) -> None:
    done = oragent("run", "toy", "--evaluations", 2, cwd=tmp_path, ORAGENT_ISOLATION="limits")
    assert done.returncode == 0, done.stderr
    assert "careful: on this machine nothing keeps a candidate from this: " in done.stdout
    assert "open a network connection" in done.stdout


def _history(folder: Path) -> list[tuple]:
    with closing(sqlite3.connect(folder / "run.db")) as db:
        query = "SELECT round, number, source, parents, origin, placed, score FROM candidates JOIN evaluations"
        return db.execute(f"{query} USING (fingerprint) ORDER BY round, number").fetchall()


@pytest.mark.slow
def test_a_run_is_replayed_from_its_replies_without_a_model(toy: Path, tmp_path: Path) -> None:
    assert oragent("run", "toy", "--model", "scripted", "--evaluations", 12, cwd=tmp_path).returncode == 0
    first = only_run(tmp_path)
    again = oragent("run", "--replay", first, "--workers", 1, "zygote=false", "--outputs", "second", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    (second,) = (tmp_path / "second" / "toy").iterdir()
    assert _history(first) == _history(second)
    assert (first / "best.py").read_text().splitlines()[1:] == (second / "best.py").read_text().splitlines()[1:]


@pytest.mark.slow
def test_a_replay_goes_where_runs_go_and_leaves_the_folder_of_the_problem_alone(toy: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart" / "mine"
    apart.parent.mkdir()
    toy.rename(apart)
    work = tmp_path / "work"
    work.mkdir()
    assert oragent("run", apart, "--evaluations", 4, cwd=work).returncode == 0
    (first,) = work.glob("outputs/*/*")
    before = sorted(apart.rglob("*"))
    done = oragent("run", "--replay", first, cwd=work)
    assert done.returncode == 0, done.stderr
    assert sorted(apart.rglob("*")) == before
    assert len([*work.glob("outputs/*/*")]) == 2


@pytest.mark.slow
def test_a_replay_that_goes_on_beyond_its_replies_says_so(toy: Path, tmp_path: Path) -> None:
    assert oragent("run", "toy", "--model", "scripted", "--evaluations", 6, cwd=tmp_path).returncode == 0
    words = ["--replay", only_run(tmp_path), "budget.evaluations=60", "--outputs", "second"]
    longer = oragent("run", *words, cwd=tmp_path)
    assert longer.returncode == 3
    assert "the recorded run has no reply to this prompt" in longer.stdout
