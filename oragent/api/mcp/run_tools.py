"""Tools for runs: open, submit, archive, programs, differences, comparison on val, final report."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from oragent import report as reports
from oragent._base.errors import ConfigError, OragentError
from oragent._base.files import read_bounded, replace_file
from oragent._base.text_format import one_line
from oragent.api.mcp.agent_runs import AgentRun
from oragent.api.mcp.answers import page_of, page_of_text
from oragent.api.mcp.problems import Page, Program, describe_evaluation
from oragent.api.mcp.registry import ToolFunction
from oragent.api.mcp.workplace import Workplace
from oragent.api.run_documents import describe_candidate, describe_set, rank_elites
from oragent.evaluation.problem import evaluation_root
from oragent.report.fresh import score_fresh
from oragent.report.held_out import HeldOutScorer, check_best, score_held_out
from oragent.report.run import RunData, load_run
from oragent.report.significance import compare_pairs
from oragent.search.candidate import Committed
from oragent.search.config import read_config
from oragent.search.folder import make_folder, reopen
from oragent.search.strategies.submitted import SUBMITTED, Submission

# Maximum number of open runs per server.
MAX_RUNS = 8
# Log of the final report in the folder of a run.
FINAL_LOG = "final_report.json"
MAX_LOG = 1 << 20

RunName = Annotated[str, Field(description="PROBLEM/NAME.")]
CandidateId = Annotated[str, Field(description="Such as 3.0; best; seed.")]


def run_tools(workplace: Workplace) -> Sequence[ToolFunction]:
    """Make the tools for runs."""

    async def open_run(
        problem: str = "",
        run: str = "",
        evaluations: Annotated[int, Field(ge=2, le=100_000, description="Budget of the whole run.")] = 50,
        seed: Annotated[int, Field(ge=0)] = 0,
    ) -> object:
        """Begin a run of a problem, or continue the run named; then submit programs to it."""
        if bool(problem) == bool(run):
            raise ConfigError("name either a problem to begin a run, or a run to continue")
        async with workplace.opening:
            if run:
                agent_run = await _continue_run(workplace, run, evaluations)
            else:
                agent_run = await _begin_run(workplace, problem, evaluations, seed)
        budget = agent_run.folder.config.budget.evaluations
        return {"run": workplace.name_run(agent_run.path), "budget": budget, **asdict(agent_run.state)}

    async def submit(
        run: RunName,
        program: Program,
        parents: Annotated[list[str], Field(description="Ids of the candidates that it changes.")] = [],  # noqa: B006
        idea: Annotated[str, Field(description="What is new, one sentence.")] = "",
    ) -> object:
        """Score a program on val and add it to the archive of an open run; costs one evaluation."""
        agent_run = workplace.open_run(run)
        record = await agent_run.submit(Submission(program, tuple(parents), idea))
        state = agent_run.state
        spent, bound = state.spent.evaluations, agent_run.folder.config.budget.evaluations
        return {
            "id": record.id,
            "placed": record.placed,
            "is_best": state.best == record.id,
            **describe_evaluation(record.candidate.evaluation),
            "best": {"id": state.best, "score": state.best_score},
            "evaluations": {"spent": spent, "budget": bound},
        }

    async def list_runs(page: Page = 1) -> object:
        """List runs: name and whether this server holds them open."""
        folders = sorted(workplace.outputs.glob("*/*/run.db"), reverse=True)
        rows = [
            {"run": workplace.name_run(path.parent), "open": path.parent.resolve() in workplace.runs}
            for path in folders
            if path.resolve().is_relative_to(workplace.root)
        ]
        return page_of(rows, page)

    async def archive(run: RunName, page: Page = 1) -> object:
        """List the elites of a run, best first, with the spending and the end of the run."""
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        rows = [describe_candidate(record) for record in rank_elites(data)]
        spent = {"evaluations": data.spend.evaluations, "cpu_s": round(data.spend.cpu_s, 2)}
        head = {
            "better": data.about.direction.comparative,
            "seed": data.seed.score,
            "best": describe_candidate(data.best),
        }
        return {**head, "spent": spent, "end": data.end, **page_of(rows, page)}

    async def get_program(run: RunName, id: CandidateId, page: Page = 1) -> object:
        """Return a candidate of a run: its program, parents, score and failure."""
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        record = _find_record(data, id)
        return {
            **describe_candidate(record),
            "parents": record.candidate.parents,
            "message": one_line(record.candidate.evaluation.message, 400),
            **page_of_text(record.source, page),
        }

    async def diff(run: RunName, first: CandidateId, second: CandidateId, page: Page = 1) -> object:
        """Return the difference of two programs of a run, as a unified diff."""
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        old, new = _find_record(data, first), _find_record(data, second)
        texts = old.source.splitlines(), new.source.splitlines()
        lines = difflib.unified_diff(texts[0], texts[1], old.id, new.id, lineterm="")
        return page_of_text("\n".join(lines) or "(equal programs)", page)

    async def compare(run: RunName, first: CandidateId, second: CandidateId) -> object:
        """Compare two candidates of a run instance by instance on val: gain of the second, interval, p-value."""
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        return _compare(data, _find_record(data, first), _find_record(data, second))

    async def final_report(run: RunName) -> object:
        """End a run: score its best program and the seed on the test and fresh sets, once, and write its report."""
        folder = workplace.find_run(run)
        async with workplace.opening:
            agent_run = workplace.runs.pop(folder, None)
            if agent_run is not None:
                await agent_run.close("the final report was made")
            return await workplace.work(lambda: _make_final_report(folder))

    return [open_run, submit, list_runs, archive, get_program, diff, compare, final_report]


async def _begin_run(workplace: Workplace, problem: str, evaluations: int, seed: int) -> AgentRun:
    _check_room(workplace)
    loaded = workplace.find_problem(problem)
    names = {"strategy.name": SUBMITTED, "model.name": SUBMITTED, "budget.evaluations": evaluations, "seed": seed}
    config = read_config(None, [f"{name}={value}" for name, value in names.items()])
    home = evaluation_root(loaded)
    agent_run = AgentRun(make_folder(home, workplace.outputs, loaded, config))
    await agent_run.begin()
    workplace.runs[agent_run.path.resolve()] = agent_run
    return agent_run


async def _continue_run(workplace: Workplace, run: str, evaluations: int) -> AgentRun:
    folder = workplace.find_run(run)
    if (folder / FINAL_LOG).exists():
        raise ConfigError(f"the final report of {one_line(run)} was made, so it is closed: begin a new run")
    present = workplace.runs.get(folder)
    if present is not None and present.is_open:
        return present
    _check_room(workplace)
    opened = reopen(folder, [f"budget.evaluations={evaluations}"])
    if opened.config.strategy_name != SUBMITTED:
        raise ConfigError(
            f"{one_line(run)} is a run of the strategy {opened.config.strategy_name}: it takes no programs of clients"
        )
    agent_run = AgentRun(opened)
    await agent_run.begin()
    workplace.runs[folder] = agent_run
    return agent_run


def _check_room(workplace: Workplace) -> None:
    if sum(agent_run.is_open for agent_run in workplace.runs.values()) >= MAX_RUNS:
        raise ConfigError(f"{MAX_RUNS} runs are open already: make the final report of one of them first")


def _find_record(data: RunData, name: str) -> Committed:
    if name in ("best", "seed"):
        return data.best if name == "best" else data.seed
    record = next((entry for entry in data.records if entry.id == name), None)
    if record is None:
        raise ConfigError(f"no candidate {one_line(name, 40)!r} in this run: the tool archive lists ids")
    return record


def _compare(data: RunData, first: Committed, second: Committed) -> dict[str, object]:
    for record in (first, second):
        if record.score is None:
            raise ConfigError(f"candidate {record.id} has no score: {one_line(record.candidate.evaluation.message)}")
    figures = [{**record.candidate.evaluation.metrics, "score": record.score} for record in (first, second)]
    paired = compare_pairs(data.about.direction, figures[0], figures[1])
    head: dict[str, object] = {"first": first.id, "second": second.id, "scores": [first.score, second.score]}
    if paired is None:
        return {**head, "paired": None, "note": "the evaluator prints no results by instance"}
    return {**head, "set": "val", "paired": asdict(paired)}


def _make_final_report(folder: Path) -> dict[str, object]:
    log = folder / FINAL_LOG
    if log.is_symlink():
        raise ConfigError(f"{log.name} of this run is a link: it is not read")
    if log.exists():
        recorded = json.loads(read_bounded(log, MAX_LOG))
        return {**recorded, "note": "made before; a run has one final report"}
    begun = datetime.now().isoformat(timespec="seconds")
    data = load_run(folder)
    # The log is written first, because the run accepts no programs after this.
    replace_file(log, json.dumps({"begun": begun, "best": data.best.id}))
    scorer = HeldOutScorer(reopen(folder, only_read=True))
    result: dict[str, object] = {
        "begun": begun,
        "best": data.best.id,
        "val": {"seed": data.seed.score, "best": data.best.score},
        "test": _score_set(lambda: score_held_out(folder, scorer)),
        "fresh": _score_set(lambda: score_fresh(folder, scorer)),
    }
    check = check_best(folder)
    result["check"] = {"passed": check.passed, "sentence": check.sentence}
    result["report"] = Path(reports.write(folder)).name
    replace_file(log, json.dumps(result))
    return result


def _score_set(score: Callable[[], Mapping[str, Any] | None]) -> dict[str, object]:
    try:
        return describe_set(score())
    except OragentError as problem:
        return {"missing": one_line(str(problem), 300)}
