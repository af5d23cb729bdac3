"""Evaluations that outlive runs: hits count, failures of the machine are tried again, and other conditions miss."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import oragent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem
from oragent.sandbox.messages import Limits
from oragent.search.caching import PARTS, Cache, hash_conditions
from oragent.search.store import Store
from tests.search.players import search
from tests.search.test_engine import scored

FOUND = Evaluation(Status.OK, 3.0, (1, 2), {"a": (1, 2), "b": "x"}, wall_s=1.5)


def job(toy: Path) -> Job:
    return Job(toy / "eval.py", "def guess(x): return 1", toy, Limits(20, 512))


def test_what_is_kept_is_found_again_by_an_equal_job_alone(toy: Path, tmp_path: Path) -> None:
    path, problem = tmp_path / "outputs" / "cache.db", load_problem(toy)
    cache = Cache(path, problem, tmp_path)
    assert cache.find("f", job(toy)) is None
    cache.keep("f", job(toy), FOUND)
    cache.close()
    cache = Cache(path, problem, tmp_path)
    known = cache.find("f", job(toy))
    assert known is not None
    assert (known.status, known.score, known.features, known.wall_s) == (Status.OK, 3.0, (1, 2), 1.5)
    for other in (
        replace(job(toy), mode="train"),
        replace(job(toy), problem_size=7),
        replace(job(toy), arguments=("--heuristic_s=3",)),
        replace(job(toy), limits=Limits(21, 512)),
    ):
        assert cache.find("f", other) is None
    assert cache.find("g", job(toy)) is None
    cache.close()


def test_a_changed_problem_or_other_data_miss(toy: Path, tmp_path: Path) -> None:
    before = hash_conditions(load_problem(toy), tmp_path)
    assert hash_conditions(load_problem(toy), tmp_path) == before
    (toy / "extra.txt").write_text("1")
    changed = hash_conditions(load_problem(toy), tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.npz").write_bytes(b"1")
    assert len({before, changed, hash_conditions(load_problem(toy), tmp_path)}) == 3


def test_what_the_machine_may_have_caused_is_not_kept(toy: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.db", load_problem(toy), tmp_path)
    for status in (Status.TIMEOUT, Status.MEMORY, Status.CRASHED):
        cache.keep("f", job(toy), Evaluation(status))
        assert cache.find("f", job(toy)) is None
    cache.close()


def test_a_broken_cache_is_no_cache(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"no database at all, " * 100)
    cache = Cache(tmp_path / "cache.db", load_problem(toy), tmp_path)
    cache.keep("f", job(toy), FOUND)
    assert cache.find("f", job(toy)) is None
    cache.close()


def test_a_second_run_pays_nothing_and_finds_the_same(begun) -> None:
    ran: list[str] = []

    def counted(job: Job) -> Evaluation:
        ran.append(job.source)
        return scored(job)

    settings = ("strategy.name=gp", "budget.evaluations=8", "cache=true")
    first, second, bound = begun(*settings), begun(*settings), begun(*settings, "budget.seconds=600")
    one = search(first, None, run=counted)
    paid = len(ran)
    two = search(second, None, run=counted)
    assert len(ran) == paid
    assert one.progress.spent.evaluations == two.progress.spent.evaluations == 8
    with Store(first.database, readonly=True) as a, Store(second.database, readonly=True) as b:
        assert [(r.id, r.source, r.score) for r in a.records()] == [(r.id, r.source, r.score) for r in b.records()]
    search(bound, None, run=counted)
    assert len(ran) == 2 * paid  # where seconds bind everyone pays


def test_the_key_covers_all_of_our_code_that_an_evaluator_imports() -> None:
    script = (
        "import sys, oragent.harness, oragent.domains.tsp, oragent.solvers.aco_tsp\n"
        "print(*(module.__file__ for name, module in sys.modules.items() if name.startswith('oragent.')), sep='\\n')"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    package = Path(oragent.__file__).parent
    loaded = {str(Path(line).relative_to(package)) for line in ended.stdout.splitlines()}
    assert "_base/protocol.py" in loaded
    covered = tuple(f"{part}/" for part in PARTS)
    assert {file for file in loaded if not file.startswith(covered)} == set()
    assert all((package / part).is_dir() for part in PARTS)


def test_conditions_do_not_depend_on_the_order_in_which_files_are_listed(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a", "b", "c"):
        (toy / f"{name}.txt").write_text(name)
        (tmp_path / "data" / f"{name}.npz").write_text(name)
    before, plain = hash_conditions(load_problem(toy), tmp_path), Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda folder, pattern: reversed([*plain(folder, pattern)]))
    assert hash_conditions(load_problem(toy), tmp_path) == before
