"""Tools for runs: open, submit, archive, programs, differences, comparison on val, final report."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
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
from oragent.api.mcp.problems import Page, ProblemName, Program, describe_evaluation
from oragent.api.mcp.registry import ToolEntry, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.api.run_documents import describe_candidate, describe_set, rank_elites
from oragent.evals.duel.command import describe_duel
from oragent.evals.duel.contestants import find_contestants
from oragent.evals.duel.runner import DuelPlan, run_duel
from oragent.evals.duel.verdict import Decision
from oragent.evaluation.capabilities import PRACTICE
from oragent.evaluation.problem import evaluation_root
from oragent.report.fresh import score_fresh
from oragent.report.hardened import harden_best
from oragent.report.held_out import HeldOutScorer, check_best, score_held_out
from oragent.report.run import RunData, load_run
from oragent.report.significance import compare_pairs
from oragent.search.candidate import Committed
from oragent.search.config import read_config
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.folder import make_folder, reopen
from oragent.search.program_header import drop_head
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.submitted import SUBMITTED, Submission

# Maximum number of open runs per server.
MAX_RUNS = 8
# Log of the final report in the folder of a run.
FINAL_LOG = "final_report.json"
MAX_LOG = 1 << 20
# Id of the seed in each run.
SEED_ID = "0.0"

RunName = Annotated[str, Field(description="PROBLEM/NAME.")]
CandidateId = Annotated[str, Field(description="Such as 3.0; best; seed.")]


def run_tools(workplace: Workplace) -> Sequence[ToolEntry]:
    """Make the tools for runs."""

    @describe_tool("opened", again=True)
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
                return _describe_opened(workplace, await _continue_run(workplace, run, evaluations))
            names = {
                "strategy.name": SUBMITTED,
                "model.name": SUBMITTED,
                "budget.evaluations": evaluations,
                "seed": seed,
            }
            return _describe_opened(workplace, await _begin_run(workplace, problem, names, takes_programs=True))

    @describe_tool("opened")
    async def run_start(
        problem: ProblemName,
        strategy: Annotated[
            str, Field(description="gp and random are free; others, such as or_agent, need model.")
        ] = "gp",
        evaluations: Annotated[int, Field(ge=2, le=100_000)] = 200,
        seed: Annotated[int, Field(ge=0)] = 0,
        model: Annotated[str, Field(description="Language model.")] = "",
        money: Annotated[float, Field(gt=0, description="Bound of its costs in US dollars.")] = 1.0,
    ) -> object:
        """Start a search in the background; look at it with archive, end it with run_stop or final_report."""
        # A file would run with the rights of the server.
        if strategy not in STRATEGIES:
            raise ConfigError(f"no strategy {one_line(strategy, 40)!r}: expected one of {', '.join(STRATEGIES)}")
        names: dict[str, object] = {"strategy.name": strategy, "budget.evaluations": evaluations, "seed": seed}
        if model:
            names |= {"model.name": model, "budget.money": money}
        async with workplace.opening:
            return _describe_opened(workplace, await _begin_run(workplace, problem, names, takes_programs=False))

    @describe_tool("run", again=True)
    async def run_stop(run: RunName) -> object:
        """End an open run or a search in the background; its results stay, and open_run continues an open run."""
        folder = workplace.find_run(run)
        async with workplace.opening:
            agent_run = workplace.runs.pop(folder, None)
            if agent_run is not None:
                await agent_run.close("it was stopped")
        data = await workplace.work(lambda: load_run(folder))
        return {**_describe_state(data), "end": data.end}

    @describe_tool("hardened")
    async def harden(
        run: str = "",
        problem: str = "",
        program: Annotated[str, Field(description="Whole text, with problem; or name a run.")] = "",
    ) -> object:
        """Test a run's best program, or a program, with unusual sizes, ties, zeros and infeasible data."""
        if bool(run) == bool(program) or bool(program) != bool(problem):
            raise ConfigError("name either a run, or a problem with the text of a program")
        return await workplace.work(lambda: _harden(workplace, run, problem, program))

    @describe_tool("submission")
    async def submit(
        run: RunName,
        program: Program,
        parents: Annotated[list[str], Field(description="Ids of the candidates that it changes.")] = [],  # noqa: B006
        idea: Annotated[str, Field(description="What is new, one sentence.")] = "",
    ) -> object:
        """Score a program on val and add it to the archive of an open run; costs one evaluation."""
        agent_run = workplace.open_run(run)
        names = {"seed": SEED_ID, "best": agent_run.state.best}
        record = await agent_run.submit(Submission(program, tuple(names.get(name, name) for name in parents), idea))
        state = agent_run.state
        spent, bound = state.spent.evaluations, agent_run.folder.config.budget.evaluations
        return {
            "id": record.id,
            "placed": record.placed,
            "is_best": state.best == record.id,
            **describe_evaluation(record.candidate.evaluation),
            "best": {} if state.best == record.id else {"id": state.best, "score": state.best_score},
            "evaluations": {"spent": spent, "budget": bound},
        }

    @describe_tool("list", reads=True)
    async def archive(
        run: Annotated[str, Field(description="PROBLEM/NAME; empty: list the runs.")] = "", page: Page = 1
    ) -> object:
        """List the elites of a run, best first, with its spending and end; or the runs, the latest first."""
        if not run:
            return page_of(_list_runs(workplace), page)
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        rows = [describe_candidate(record) for record in rank_elites(data)]
        return {**_describe_state(data), "end": data.end, **page_of(rows, page)}

    @describe_tool("text", reads=True)
    async def get_program(
        run: RunName,
        id: CandidateId,
        against: Annotated[str, Field(description="Id; gives the unified diff from it.")] = "",
        page: Page = 1,
    ) -> object:
        """Return a candidate of a run: its program, parents, score and failure; or its difference from another."""
        data = await workplace.work(lambda: load_run(workplace.find_run(run)))
        record = _find_record(data, id)
        if against:
            return page_of_text(_write_difference(_find_record(data, against), record), page)
        return {
            **describe_candidate(record),
            "parents": record.candidate.parents,
            "message": one_line(record.candidate.evaluation.message, 400),
            **page_of_text(record.source, page),
        }

    @describe_tool("comparison", reads=True)
    async def compare(
        run: RunName,
        first: CandidateId,
        second: CandidateId,
        rounds: Annotated[int, Field(ge=0, le=50)] = 0,
    ) -> object:
        """Compare two candidates on val or in rounds of new instances: gain of the second, p-value."""
        folder = workplace.find_run(run)
        if rounds:
            return await workplace.work(lambda: _hold_duel(folder, (first, second), rounds))
        data = await workplace.work(lambda: load_run(folder))
        return _compare(data, _find_record(data, first), _find_record(data, second))

    @describe_tool("final", again=True)
    async def final_report(run: RunName) -> object:
        """End a run: score its best program and the seed on the test and fresh sets, once, and write its report."""
        folder = workplace.find_run(run)
        async with workplace.opening:
            agent_run = workplace.runs.pop(folder, None)
            if agent_run is not None:
                await agent_run.close("the final report was made")
            return await workplace.work(lambda: _make_final_report(folder))

    return [open_run, run_start, run_stop, submit, archive, get_program, compare, harden, final_report]


def _list_runs(workplace: Workplace) -> list[dict[str, object]]:
    folders = sorted(workplace.outputs.glob("*/*/run.db"), reverse=True)
    return [
        {"run": workplace.name_run(path.parent), "open": path.parent.resolve() in workplace.runs}
        for path in folders
        if path.resolve().is_relative_to(workplace.root)
    ]


def _describe_opened(workplace: Workplace, agent_run: AgentRun) -> dict[str, object]:
    state = agent_run.state
    return {
        "run": workplace.name_run(agent_run.path),
        "seed": {"score": state.seed_score},
        "best": {"id": state.best, "score": state.best_score},
        "spent": {"evaluations": state.spent.evaluations},
        "budget": {"evaluations": agent_run.folder.config.budget.evaluations},
    }


def _describe_state(data: RunData) -> dict[str, object]:
    return {
        "better": data.about.direction.comparative,
        "seed": {"id": data.seed.id, "score": data.seed.score},
        "best": {"id": data.best.id, "score": data.best.score},
        "spent": {
            "evaluations": data.spend.evaluations,
            "cpu_s": round(data.spend.cpu_s, 2),
            "tokens": data.spend.calls.tokens or None,
            "money": data.spend.calls.cost or None,
        },
    }


def _write_difference(old: Committed, new: Committed) -> str:
    texts = old.source.splitlines(), new.source.splitlines()
    return "\n".join(difflib.unified_diff(*texts, old.id, new.id, lineterm="")) or "(equal programs)"


def _harden(workplace: Workplace, run: str, problem: str, program: str) -> dict[str, object]:
    """Test the best program of a run, or a program, with unusual arguments."""
    if run:
        path = workplace.find_run(run)
        folder = reopen(path, changed=True, only_read=True)
        with ExperimentRunner(folder.problem, folder.root) as runner:
            hardened = harden_best(path, lambda source: runner.harden(drop_head(source)))
    else:
        loaded = workplace.find_problem(problem)
        with ExperimentRunner(loaded, evaluation_root(loaded)) as runner:
            hardened = runner.harden(Submission(program).program)
    return {"sentence": hardened.sentence, "cases": len(hardened.cases), "failures": hardened.failures}


async def _begin_run(
    workplace: Workplace, problem: str, settings: Mapping[str, object], *, takes_programs: bool
) -> AgentRun:
    _check_room(workplace)
    loaded = workplace.find_problem(problem)
    config = read_config(None, [f"{name}={value}" for name, value in settings.items()])
    home = evaluation_root(loaded)
    agent_run = AgentRun(make_folder(home, workplace.outputs, loaded, config), takes_programs=takes_programs)
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
        raise ConfigError(
            f"{MAX_RUNS} runs are open already: stop one of them (run_stop) or make its final report first"
        )


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


def _hold_duel(folder: Path, ids: tuple[str, str], rounds: int) -> dict[str, object]:
    """Compare candidates on newly drawn practice instances until the difference is above the noise."""
    run = reopen(folder, changed=True, only_read=True)
    # The gain is that of the second one.
    problem, contestants = find_contestants([f"{folder}#{id}" for id in reversed(ids)], None, run.root)
    plan = DuelPlan(problem, run.root, contestants, replace(run.config, cluster=None), on=PRACTICE, rounds=rounds)
    document = describe_duel(run_duel(plan))
    names = (
        "problem",
        "set",
        "level",
        "gain",
        "interval",
        "p",
        "instances",
        "by_size",
        "cpu_ratio",
        "further",
        "verdict",
    )
    winner = {Decision.FIRST: ids[1], Decision.SECOND: ids[0]}.get(Decision(str(document["decision"])))
    return {"first": ids[0], "second": ids[1], "winner": winner, **{name: document[name] for name in names}}


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
    best = {"id": data.best.id, "score": data.best.score}
    replace_file(log, json.dumps({"begun": begun, "best": best}))
    scorer = HeldOutScorer(reopen(folder, only_read=True))
    result: dict[str, object] = {
        "begun": begun,
        "best": best,
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
