"""The role *experiment*: small steps on one solution, each measured, each taken back unless it is better."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from oragent.programs.blocks import fence, tag
from oragent.search.candidate import Candidate, Elite
from oragent.search.prompting import asked, entitle, fill, history, meanings, standing, wanted
from oragent.search.run import Run
from oragent.search.strategies.asking import ask_and_read
from oragent.search.strategies.or_agent import telling
from oragent.search.strategies.or_agent.actions import Action, Edit, Probe, Stop, Tune, read_action, read_lesson
from oragent.search.strategies.or_agent.coding import debug
from oragent.search.strategies.or_agent.constants import Constant, Range, constants
from oragent.search.strategies.or_agent.notes import Step
from oragent.search.strategies.or_agent.reflection import gradient, report
from oragent.search.strategies.or_agent.tree import Idea
from oragent.search.strategies.or_agent.tuning import tune

__all__ = ["Session", "experiment"]

MEASURED = 1500  # characters of what a probe printed that the model is shown


@dataclass
class Session:
    """The experiments on one solution, as far as they have come.

    Attributes:
        idea: Idea that the solution implements.
        start: Solution before the experiments.
        best: Best solution seen: what is kept at the end, whatever came after it.
        steps: Experiments so far, in their order.
        measured: Output of the latest probe.
        report: Report on the experiments, in words.
    """

    idea: Idea
    start: Elite
    best: Elite
    steps: list[Step] = field(default_factory=list)
    measured: str = ""
    report: str = ""


async def experiment(run: Run, session: Session) -> None:
    """Experiment on a solution until the model stops or the limit is reached, then have a report written."""
    agent = run.own
    for number in range(agent.experiments):
        action = await _chosen(run, session, agent.experiments - number)
        if isinstance(action, Stop):
            break
        if isinstance(action, Probe):
            await _probe(run, session, action)
        else:
            await _step(run, session, action)
    if session.steps:
        session.report = await report(run, session.idea, session.start, session.best, session.steps)


async def _chosen(run: Run, session: Session, left: int) -> Action:
    """Ask what to do next; a model that cannot say it stops."""
    agent = run.own
    offered = constants(session.best.source, run.problem.about.function) if agent.tuning_evaluations else []
    best = session.best.source.strip()
    found = await ask_and_read(
        run,
        "experiment",
        asked(run, prompt(run, session, offered, left)),
        lambda text: read_action(run, text, session.best.source, offered),
        lambda problem: fill("or_agent_experiment_repair", run.style, problem=problem, program=fence(best, tag(best))),
        run.temperature("experiment"),
    )
    if session.steps and not session.steps[-1].lesson and (lesson := read_lesson(found.reply.text)):
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)
    return found.value or Stop(found.problem)


def prompt(run: Run, session: Session, offered: Sequence[Constant], left: int) -> str:
    """Write the prompt: the problem, the solution with its figures, the experiments so far, the constants."""
    return fill(
        "or_agent_experiment",
        run.style,
        **wanted(run),
        title=session.idea.title,
        idea=session.idea.text,
        program=telling.program(run, "The program", session.best),
        features=meanings(run),
        steps=telling.steps(session.steps),
        measured=f"\n\nThe probe printed:\n{session.measured}" if session.measured else "",
        line=session.best.source.rstrip().split("\n")[-1],
        tuning=_tuning(run, offered),
        standing=standing(run, session.best),
        history=f"\n\n{told}" if (told := history(run, session.best)) else "",
        lesson=f"{fill('or_agent_experiment_lesson')}\n" if _owed(run, session) else "",
        left=left,
    )


def _owed(run: Run, session: Session) -> bool:
    """Whether the reply is to say what the last experiment taught, in place of a call of its own."""
    return bool(session.steps) and not own_calls(run) and session.steps[-1].kind != "probe"


def own_calls(run: Run) -> bool:
    """Whether lessons are asked for by calls of their own: small models do one thing at a time."""
    chosen = run.own.reflection_calls
    return run.style == "small" if chosen == "auto" else bool(chosen == "own")


def _tuning(run: Run, offered: Sequence[Constant]) -> str:
    """The action of tuning; without constants there is none."""
    if not offered:
        return ""
    lines = "\n".join(f"c{constant.number} = {constant.value:g} in `{constant.line[:100]}`" for constant in offered)
    first = Range.around(offered[0])
    shown = {"first": offered[0].number, "low": f"{first.low:g}", "high": f"{first.high:g}", "constants": lines}
    left = (run.case.allowance - run.used).evaluations
    return fill("or_agent_experiment_tune", cost=min(run.own.tuning_evaluations, left), **shown) + "\n"


async def _probe(run: Run, session: Session, probe: Probe) -> None:
    """Run a program for what it prints; a probe is never the solution, even if it scores."""
    candidate = await run.probe(probe.source, [session.best.id])
    result = candidate.evaluation
    session.measured = telling.ends(result.log.strip(), MEASURED) or "(nothing)"
    if result.score is None:
        session.measured = telling.ends(telling.trouble(result), MEASURED)
    outcome = "it ran" if result.score is not None else telling.outcome(candidate)  # its score is of few instances
    session.steps.append(Step("probe", probe.thought, outcome, better=False))


async def _step(run: Run, session: Session, action: Edit | Tune) -> None:
    """Change the solution, evaluate it, keep it if it is better, and ask what is to be learned."""
    before = session.best
    if isinstance(action, Tune):
        kind, names = "tune", ", ".join(f"c{axis.constant.number}" for axis in action.ranges)
        tried = await tune(run, before, action.ranges, run.own.tuning_evaluations)
        words = f"{names} over {len(tried)} evaluations"
    else:
        kind, words = "edit", action.thought
        tried = [await debug(run, await run.evaluate(action.source, [before.id], "experiment"))]
    candidate = _best(run, tried)
    if candidate is None:
        return
    after = telling.scored(candidate)
    better = after is not None and run.archive.fitness(after.score) > run.archive.fitness(before.score)
    if after is not None and better:
        session.best, session.measured = after, ""  # what a probe measured was about another program
    words = words or telling.change(before.source, candidate.source)
    session.steps.append(Step(kind, words, telling.outcome(candidate), better))
    if after is not None:
        entitle(run, after.source, f"{session.idea.title}; {kind}: {words}")
    if own_calls(run):
        lesson = await gradient(run, before, candidate)
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)


def _best(run: Run, candidates: list[Candidate]) -> Candidate | None:
    """The best of some candidates, one without a score only where none has any."""
    scored = [(run.archive.fitness(t.evaluation.score), t) for t in candidates if t.evaluation.score is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else next(iter(candidates), None)
