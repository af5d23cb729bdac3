"""Arrays that a probe keeps and programs of the run load: in prompts, evaluations, files, and after a resume."""

import runpy
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import CandidateError, OragentError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.job import KEEP, KEPT_METRIC
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.harness.kept_arrays import write_arrays
from oragent.programs.inspection import read_program
from oragent.search.folder import RunFolder, reopen
from oragent.search.starting import gather_start
from oragent.search.store import Store
from tests.search.players import Players, search
from tests.search.test_engine import scored

ROOT = Path(__file__).parents[2]
ACTIONS = "model.name=m", "or_agent.rounds=actions", "strategy.tuning=0", "strategy.patience=9", "model.style=strong"
OFFERS = frozenset([KEEP, "practice", "--instances"])
PROBE = """PROBE: fit
```python
import numpy as np
KEPT_ARRAYS = {{"table": np.full(3, {}), "sizes": np.arange(2)}}


def guess(x):
    return 0
```
"""
PROGRAM = """LESSON: fitted.
PROGRAM: {0}
IDEA: The table.
```python
TABLE = load_array("{0}")


def guess(x):
    return float(TABLE[-1])
```
"""
REPLIES = [
    PROBE.format(30.0),
    PROGRAM.format("table"),
    PROBE.format(60.0),
    PROGRAM.format("table"),
    PROGRAM.format("tabel"),
]


def keeping(job: Job) -> Evaluation:
    """An evaluation in our own process, with the arrays that the program keeps."""
    evaluation = scored(job)
    if not job.keeps_arrays:
        return evaluation
    assert job.mode == "practice"
    names: dict = {}
    exec(job.source, names)
    return replace(evaluation, metrics=evaluation.metrics | {KEPT_METRIC: write_arrays(names["KEPT_ARRAYS"])})


def players(first: int = 0) -> Players:
    replies = iter([*REPLIES[first:], *[REPLIES[-1]] * 9])
    return Players(**dict.fromkeys(("idea", "experiment", "code"), lambda prompt: next(replies)))


def start(begun) -> RunFolder:
    folder: RunFolder = begun(*ACTIONS, "budget.model_calls=5", "strategy.window=1")
    return folder


def outcomes(folder: RunFolder) -> list[tuple]:
    with Store(folder.database, readonly=True) as store:
        return [(each.id, each.score, each.candidate.evaluation.status, each.source) for each in store.records()]


def test_a_program_loads_the_latest_array_of_a_name_and_older_ones_by_their_digest(begun) -> None:
    folder, model = start(begun), players()
    search(folder, model, run=keeping, offers=OFFERS, workers=1)
    with Store(folder.database, readonly=True) as store:
        records = [record for record in store.records() if record.round]
    solutions = [record for record in records if not record.candidate.is_probe]
    assert [record.score for record in solutions] == [70, 40, None]
    assert len({record.candidate.fingerprint for record in solutions}) == 3
    assert solutions[-1].candidate.evaluation.status is Status.REJECTED
    prompts = [prompt for _, prompt, _ in model.asked]
    assert "Kept so far" not in prompts[0]
    assert "It kept the arrays table, sizes." in prompts[1]
    assert "float64 of shape (3,)" in prompts[1]
    first, second = (record.candidate.evaluation.metrics[KEPT_METRIC]["table"][0] for record in records[::2][:2])
    assert first != second
    assert f'load_array("table", "{first}")' in solutions[0].source
    assert f'load_array("table", "{second}")' in solutions[1].source
    for prompt in prompts:
        assert "frombuffer" not in prompt


def test_files_of_a_run_hold_the_arrays_that_their_programs_load(begun, tmp_path: Path) -> None:
    folder = start(begun)
    search(folder, players(), run=keeping, offers=OFFERS, workers=1)
    for file in (folder.best, *folder.path.glob("candidates/*/heuristic.py")):
        runpy.run_path(str(file))["guess"](3)
    assert runpy.run_path(str(folder.best))["guess"](3) == 60
    text = read_program(folder.best, folder.problem.signature)
    assert scored(folder.problem.make_job(text, ROOT, folder.problem.make_limits(LimitSettings()))).score == 40
    initial = gather_start([str(folder.best), str(folder.path)], folder.problem, tmp_path)
    with Store(tmp_path / "other.db") as store:
        store.add_initial_programs(initial.sources)
        assert all(len(source) < 1000 for source in store.initial_sources())
        assert store.array(outcomes(folder)[4][3].partition(', "')[2][:16]) is not None


def test_a_bare_reference_outside_its_run_is_refused_in_one_line(begun, tmp_path: Path) -> None:
    folder = start(begun)
    search(folder, players(), run=keeping, offers=OFFERS, workers=1)
    file = tmp_path / "bare.py"
    file.write_text(outcomes(folder)[-2][3])
    with pytest.raises(CandidateError) as refused:
        read_program(file, folder.problem.signature)
    assert "\n" not in str(refused.value)


def test_a_run_that_ends_after_a_probe_goes_on_with_its_arrays(begun) -> None:
    whole = start(begun)
    search(whole, players(), run=keeping, offers=OFFERS, workers=1)

    def fails(job: Job) -> Evaluation:
        if "frombuffer" in job.source:
            raise OSError("the machine stops")
        return keeping(job)

    folder = start(begun)
    with pytest.raises(OragentError):
        search(folder, players(), run=fails, offers=OFFERS, workers=1)
    folder = reopen(folder.path)
    search(folder, players(2), run=keeping, offers=OFFERS, workers=1)
    assert outcomes(folder) == outcomes(whole)


def test_a_program_whose_array_was_deleted_is_rejected_and_the_run_goes_on(begun) -> None:
    folder = start(begun)

    def delete(job: Job) -> Evaluation:
        evaluation = keeping(job)
        if job.keeps_arrays:
            return evaluation
        with closing(sqlite3.connect(folder.database)) as database, database:
            database.execute("DELETE FROM arrays")
        return evaluation

    search(folder, players(), run=delete, offers=OFFERS, workers=1)
    assert outcomes(folder)


@pytest.mark.slow
def test_an_evaluator_brings_the_arrays_of_practice_and_refuses_those_of_val() -> None:
    problem = load_problem(ROOT / "problems" / "mkp_aco")
    program = (
        "import numpy as np\nKEPT_ARRAYS = {}\n\n\ndef heuristics(prize, weight):\n"
        "    KEPT_ARRAYS['calls'] = np.append(KEPT_ARRAYS.get('calls', []), len(prize))\n    return prize\n"
    )
    limits = problem.make_limits(LimitSettings())
    job = replace(problem.make_job(program, ROOT, limits, "practice", 100, ("--instances=2",)), keeps_arrays=True)
    large = replace(job, source=program.replace("len(prize))", "np.ones(200_000))"))
    with EvaluationRunner() as run:
        kept, refused, held_out = run(job), run(large), run(replace(job, mode="val", arguments=()))
    assert '"calls": ["<f8", [2]' in kept.metrics[KEPT_METRIC]
    assert "bytes" in refused.metrics[KEPT_METRIC]
    assert refused.score is not None
    assert (held_out.status, held_out.score) == (Status.ERROR, None)
