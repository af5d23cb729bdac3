"""The role *experiment*: small steps on one solution, each measured, each taken back unless it is better."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from oragent._base.protocol import Status
from oragent.programs.blocks import NEAREST, fence, tag
from oragent.search.candidate import Candidate, Elite, ParentProgram
from oragent.search.prompting import asked, entitle, fill, history, meanings, standing, wanted
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_and_read
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.accounts import remember
from oragent.search.strategies.or_agent.actions import (
    Action,
    EditAction,
    Instrument,
    Probe,
    StopAction,
    Tune,
    read_action,
    read_lesson,
)
from oragent.search.strategies.or_agent.coding import debug
from oragent.search.strategies.or_agent.constants import Constant, Range, constants
from oragent.search.strategies.or_agent.notes import MEASURING, ExperimentStep
from oragent.search.strategies.or_agent.reflection import gradient, report
from oragent.search.strategies.or_agent.tree import Idea
from oragent.search.strategies.or_agent.tuning import tune

MEASURED = 1500  # characters of what a probe printed that the model is shown
SHORT = 40  # lines of a program that a small model is asked to write out for a change of one
MORE = " in this turn; in the next one those that gain have more"  # said where turns follow
TOLD = "What the observer printed:\n"  # how an evaluator begins what an observer printed, at the end of its log


@dataclass
class ExperimentSession:
    """The experiments on one solution, as far as they have come.

    Attributes:
        idea: Idea that the solution implements.
        parents: Programs that it was made from, the one that was changed last.
        latest: Program that was evaluated last: at first the solution as it was coded and mended.
        best: Best solution seen: what is kept at the end, whatever came after it. None as long as none has a score.
        memory: Long-term memory, as the round is told it.
        others: Account of the other ideas for the same leaf, in words, as far as they have come.
        goes_on: Whether another turn of experiments follows.
        is_over: Whether the model has stopped.
        begun: Score at the beginning; None where the experiments start from a failure.
        steps: Experiments so far, in their order.
        measured: Output of the latest probe.
        report: Report on the experiments, in words.
    """

    idea: Idea
    parents: Sequence[Elite]
    latest: Candidate
    best: Elite | None
    memory: str = ""
    others: str = ""
    goes_on: bool = False
    is_over: bool = False
    begun: float | None = field(init=False)
    steps: list[ExperimentStep] = field(default_factory=list)
    measured: str = ""
    report: str = ""

    def __post_init__(self) -> None:
        self.begun = self.latest.score

    @property
    def base(self) -> ParentProgram:
        """Program that the next experiment changes: the best, or while there is none the one that failed last."""
        return self.best or self.latest

    def may_begin(self, from_failure: str) -> bool:
        """Whether there is something to experiment on, as the setting of that name has it."""
        failed = self.latest.evaluation
        if self.best is not None or not failed.ran:
            return self.best is not None
        return from_failure == "always" or (from_failure == "timeout" and failed.status is Status.TIMEOUT)

    def mend(self, repaired: Candidate) -> None:
        """Take a repair of a solution that had no score until then."""
        self.latest, self.best = repaired, prompt_sections.scored(repaired)


async def experiment(run: RoundContext, session: ExperimentSession, most: int) -> None:
    """Experiment on a solution until the model stops or the limit is reached."""
    for number in range(most):
        action = await _chosen(run, session, most - number)
        if isinstance(action, StopAction):
            session.is_over = True
            break
        if isinstance(action, Probe | Instrument):
            await _measure(run, session, action)
        else:
            await _step(run, session, action)


async def conclude(run: RoundContext, session: ExperimentSession) -> None:
    """Have a report written on the experiments, if there were any, and keep it with the solution."""
    if session.steps:
        session.report = await report(run, session.idea, *_ends(run, session), session.steps)
        if session.best is not None:
            remember(run, session.best.source, session.idea, report=session.report, lesson=_lesson(session))


async def _chosen(run: RoundContext, session: ExperimentSession, left: int) -> Action:
    """Ask what to do next; a model that cannot say it stops."""
    agent, base = run.own, session.base.source
    tunable = session.best is not None and agent.tuning_evaluations
    offered = constants(base, run.problem.about.function) if tunable else []
    found = await ask_and_read(
        run,
        "experiment",
        asked(run, prompt(run, session, offered, left)),
        lambda text: read_action(run, text, base, offered),
        lambda problem: _complaint(run, problem, base),
        run.temperature("experiment"),
    )
    if session.steps and not session.steps[-1].lesson and (lesson := read_lesson(found.reply.text)):
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)
        if session.steps[-1].better and session.best is not None:
            remember(run, session.best.source, session.idea, lesson=lesson)
    return found.value or StopAction(found.problem)


def _complaint(run: RoundContext, problem: str, base: str) -> str:
    """What a reply without an action is answered, in the form that was asked for, but where an edit just missed."""
    style = run.style if _written_out(run, base) and NEAREST not in problem else "strong"
    return fill("or_agent_experiment_repair", style, **wanted(run), problem=problem, shape=_shape(base))


def prompt(run: RoundContext, session: ExperimentSession, offered: Sequence[Constant], left: int) -> str:
    """Write the prompt: the problem, what is known, the solution with its figures, the experiments, the constants."""
    best = session.best
    return fill(
        "or_agent_experiment",
        run.style,
        **wanted(run),
        title=session.idea.title,
        idea=session.idea.text,
        memory=prompt_sections.known(session.memory),
        parents=_after(prompt_sections.parents(run, session.parents)),
        others=_after(session.others),
        program=prompt_sections.program(run, "The program", best) if best else prompt_sections.failing(session.latest),
        printed=_after(prompt_sections.printed(session.latest, MEASURED)),
        features=meanings(run),
        steps=prompt_sections.steps(session.steps),
        measured=_after(session.measured),
        instrument=_instrument(run),
        tuning=_tuning(run, offered),
        standing=standing(run, best),
        history=_after(history(run, best)) if best else "",
        left=left,
        more=MORE if session.goes_on else "",
        form=_form(run, session),
    )


def _form(run: RoundContext, session: ExperimentSession) -> str:
    """The form of a reply."""
    base = session.base.source
    return fill(
        "or_agent_experiment_whole" if _written_out(run, base) else "or_agent_experiment_lines",
        run.style,
        **wanted(run),
        lesson=f"{fill('or_agent_experiment_lesson')}\n" if _owed(run, session) else "",
        line=base.rstrip().split("\n")[-1],
        shape=_shape(base),
    )


def _written_out(run: RoundContext, base: str) -> bool:
    """Whether a program is written out to be changed: small models seldom copy the lines that an edit replaces."""
    return run.style == "small" and base.rstrip().count("\n") < SHORT


def _shape(base: str) -> str:
    return fence("the whole program", tag(base.strip()))


def _after(text: str) -> str:
    return f"\n\n{text}" if text else ""


def _owed(run: RoundContext, session: ExperimentSession) -> bool:
    """Whether the reply is to say what the last experiment taught, in place of a call of its own."""
    return bool(session.steps) and not own_calls(run) and session.steps[-1].kind not in MEASURING


def own_calls(run: RoundContext) -> bool:
    """Whether lessons are asked for by calls of their own: small models do one thing at a time."""
    chosen = run.own.reflection_calls
    return run.style == "small" if chosen == "auto" else bool(chosen == "own")


def _tuning(run: RoundContext, offered: Sequence[Constant]) -> str:
    """The action of tuning; without constants there is none."""
    if not offered:
        return ""
    lines = "\n".join(f"c{constant.number} = {constant.value:g} in `{constant.line[:100]}`" for constant in offered)
    first = Range.around(offered[0])
    shown = {"first": offered[0].number, "low": f"{first.low:g}", "high": f"{first.high:g}", "constants": lines}
    left = (run.case.allowance - run.used).evaluations
    return fill("or_agent_experiment_tune", cost=min(run.own.tuning_evaluations, left), **shown) + "\n"


def _instrument(run: RoundContext) -> str:
    """The action of watching; where the evaluator has no hooks there is none."""
    if not run.hooks or not run.own.instrument:
        return ""
    hooks = "\n".join(f"  `{name}`: {meaning}" for name, meaning in run.hooks.items())
    return fill("or_agent_experiment_instrument", hooks=hooks) + "\n"


async def _measure(run: RoundContext, session: ExperimentSession, action: Probe | Instrument) -> None:
    """Run a program for what it, or who watches it, prints; it is never the solution, even if it scores."""
    watching = isinstance(action, Instrument)
    if isinstance(action, Instrument):
        candidate = await run.probe(session.base.source, [session.base.id], observer=action.observer)
    else:
        candidate = await run.probe(action.source, [session.base.id])
    result = candidate.evaluation
    printed = result.log.partition(TOLD)[2] if watching else result.log
    said = prompt_sections.ends(printed.strip(), MEASURED) or "(nothing)"
    if result.score is None:
        said = prompt_sections.ends(
            "\n".join([prompt_sections.trouble(result), *([printed.strip()] if watching else [])]), MEASURED
        )
    session.measured = f"{'The observer' if watching else 'The probe'} printed:\n{said}"
    outcome = (
        "it ran" if result.score is not None else prompt_sections.outcome(candidate)
    )  # its score is of few instances
    session.steps.append(ExperimentStep("instrument" if watching else "probe", action.thought, outcome, better=False))


async def _step(run: RoundContext, session: ExperimentSession, action: EditAction | Tune) -> None:
    """Change the solution, evaluate it, keep it if it is better, and ask what is to be learned."""
    best, before, failed = session.best, session.base, session.latest
    if isinstance(action, Tune) and best is not None:
        kind, names = "tune", ", ".join(f"c{axis.constant.number}" for axis in action.ranges)
        tried = await tune(run, best, action.ranges, run.own.tuning_evaluations)
        words = f"{names} over {len(tried)} evaluations"
    elif isinstance(action, EditAction):
        kind, words = "edit", action.thought
        made = await run.evaluate(action.source, [before.id], "experiment")
        # Where all fails the next experiment is the repair.
        tried = [made if best is None else await debug(run, made, run.own.debugging)]
    else:
        return
    candidate = _best(run, tried)
    if candidate is None:
        return
    after = prompt_sections.scored(candidate)
    better = after is not None and (best is None or run.archive.fitness(after.score) > run.archive.fitness(best.score))
    session.latest = candidate
    words = words or prompt_sections.change(before.source, candidate.source)
    session.steps.append(ExperimentStep(kind, words, prompt_sections.outcome(candidate), better))
    if after is not None and better:
        session.best, session.measured = after, ""  # what a probe measured was about another program
    if after is not None:
        entitle(run, after.source, f"{session.idea.title}; {kind}: {words}")
        remember(run, after.source, session.idea)
    if own_calls(run):
        lesson = await gradient(run, best or failed, candidate)
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)
        if after is not None:
            remember(run, after.source, session.idea, lesson=lesson)


def _ends(run: RoundContext, session: ExperimentSession) -> tuple[str, str]:
    """The scores at the beginning and at the end of the experiments, in words."""
    start = "none, as it failed" if session.begun is None else f"{session.begun:.6g}"
    if session.best is None:
        return start, f"none: {prompt_sections.outcome(session.latest)}"
    end = f"{session.best.score:.6g}"
    return (
        start,
        end if session.begun is None else f"{end}, {prompt_sections.verdict(run, session.begun, session.best.score)}",
    )


def _lesson(session: ExperimentSession) -> str:
    """What the last experiment taught that became the solution."""
    return next((step.lesson for step in reversed(session.steps) if step.better), "")


def _best(run: RoundContext, candidates: list[Candidate]) -> Candidate | None:
    """The best of some candidates, one without a score only where none has any."""
    scored = [(run.archive.fitness(t.evaluation.score), t) for t in candidates if t.evaluation.score is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else next(iter(candidates), None)
