"""The role *experiment*: small changes of one solution. Each is measured, and reverted unless it is better."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from oragent._base.protocol import Status
from oragent.programs.blocks import NEAREST, fence_text, language_tag
from oragent.programs.parameters import read_parameters
from oragent.search.candidate import Candidate, Elite, ParentProgram
from oragent.search.experiments import MIN_S
from oragent.search.prompting.programs import describe_lineage
from oragent.search.prompting.prompt_templates import bin_meanings, program_request, task_messages
from oragent.search.prompting.search_summary import LESSON, describe_champion, set_title, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_and_read
from oragent.search.strategies.constants import Constant, Range, find_constants
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.actions import ExperimentAction, read_action, read_lesson
from oragent.search.strategies.or_agent.coding import debug_program
from oragent.search.strategies.or_agent.reflection import ask_lesson, ask_report
from oragent.search.strategies.or_agent.sweeps import experiment_words, sweep_numbers, sweep_seconds
from oragent.search.strategies.or_agent.tree import MEASURING, ExperimentStep, Idea, remember_account
from oragent.search.strategies.tuning import tune_constants

# Maximum number of characters of a lesson for other branches.
MAX_PUBLISHED = 400
# Minimum number of remaining evaluations for which tuning is offered.
MIN_TUNING_EVALUATIONS = 3
# Maximum number of characters of the output of a probe in a prompt.
MEASURED = 3000
# Maximum number of lines of a program that a small model rewrites as a whole to change one line.
SHORT = 40
# Text of prompts in a session that has later turns.
MORE = " in this turn; in the next one those that gain have more"
# Heading that an evaluator writes before the output of an observer, at the end of its log.
TOLD = "What the observer printed:\n"


@dataclass
class ExperimentSession:
    """Session of experiments on one solution."""

    # Idea that the solution implements.
    idea: Idea
    # Parents of the solution. The last one is the program that was changed.
    parents: Sequence[Elite]
    # Latest evaluated program. At first, this is the solution as implemented and repaired.
    latest: Candidate
    # Best solution so far, which is the result of the session. None until one has a score.
    best: Elite | None
    # Long-term memory of the round.
    memory: str = ""
    # Description of the other ideas for the same leaf and their results so far.
    others: str = ""
    # Whether another turn of experiments follows.
    goes_on: bool = False
    # True if the model chose STOP.
    is_over: bool = False
    # Score at the beginning. None if the experiments start from a failing program.
    begun: float | None = field(init=False)
    # Experiments so far, in order.
    steps: list[ExperimentStep] = field(default_factory=list)
    # Output of the latest probe.
    measured: str = ""
    # Report on the experiments, in words.
    report: str = ""
    # Changes since the idea was implemented, by the text of the resulting program.
    changes: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begun = self.latest.score

    @property
    def base(self) -> ParentProgram:
        """Program that the next experiment changes: the best one, or the latest failing one if none has a score."""
        return self.best or self.latest

    def changed_idea(self, source: str) -> Idea:
        """Return the idea with the changes that led to a program."""
        changes = self.changes.get(source, [])
        text = f"{self.idea.text} Changed since: {'; '.join(changes)}." if changes else self.idea.text
        return Idea(self.idea.title, text)

    def may_begin(self, from_failure: str) -> bool:
        """Return True if the session has a program to experiment on, given the setting ``from_failure``."""
        failed = self.latest.evaluation
        if self.best is not None or not failed.was_started:
            return self.best is not None
        return from_failure == "always" or (from_failure == "timeout" and failed.status is Status.TIMEOUT)

    def mend(self, repaired: Candidate) -> None:
        """Record a repair of a solution without a score."""
        self.latest, self.best = repaired, prompt_sections.scored_parent(repaired)


async def run_experiments(run: RoundContext, session: ExperimentSession, limit: int) -> None:
    """Experiment on a solution until the model stops or the limit is reached."""
    for number in range(limit):
        action = await _choose_action(run, session, limit - number)
        if action.kind == "stop":
            session.is_over = True
            break
        if action.kind in MEASURING:
            await _run_probe(run, session, action)
        else:
            await _change_solution(run, session, action)


async def conclude_session(run: RoundContext, session: ExperimentSession) -> None:
    """Ask for a report on the experiments, if there were any, and store it with the solution."""
    if session.steps:
        session.report = await ask_report(run, session.idea, *_describe_scores(run, session), session.steps)
        if session.best is not None:
            idea = session.changed_idea(session.best.source)
            lesson = next((step.lesson for step in reversed(session.steps) if step.better), "")
            remember_account(run, session.best.source, idea, report=session.report, lesson=lesson)


async def _choose_action(run: RoundContext, session: ExperimentSession, remaining: int) -> ExperimentAction:
    agent, base = run.own, session.base.source
    remaining_evaluations = (run.case.allowance - run.used).evaluations
    tunable = session.best is not None and agent.tuning_evaluations and remaining_evaluations >= MIN_TUNING_EVALUATIONS
    offered = find_constants(base, run.problem.about.function) if tunable else []
    messages = task_messages(run, write_prompt(run, session, offered, remaining))
    read = partial(read_action, run, source=base, constants=offered)
    complain = partial(_repair_request, run, base=base)
    answer = await ask_and_read(run, "experiment", messages, read, complain, run.temperature("experiment"))
    if session.steps and not session.steps[-1].lesson and (lesson := read_lesson(answer.reply.text)):
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)
        _publish_lesson(run, session)
        if session.steps[-1].better and session.best is not None:
            remember_account(run, session.best.source, session.changed_idea(session.best.source), lesson=lesson)
    return answer.value or ExperimentAction("stop", answer.problem)


def _repair_request(run: RoundContext, problem: str, base: str) -> str:
    """Write the request to repair a reply without an action.

    If the text of an edit nearly matched, ask for edits again.
    """
    style = run.style if _written_out(run, base) and NEAREST not in problem else "strong"
    shape = _program_format(base)
    return run.fill_template("or_agent_experiment_repair", style, **program_request(run), problem=problem, shape=shape)


def write_prompt(run: RoundContext, session: ExperimentSession, offered: Sequence[Constant], remaining: int) -> str:
    """Write the prompt: problem, memory, solution with its figures, experiments and constants."""
    best = session.best
    parents = prompt_sections.parents_section(run, session.parents, session.base.source)
    beside = [*session.parents, *([best] if best else [])]
    # Prompts for small models contain one task at a time.
    champion = describe_champion(run, beside) if run.style == "strong" else ""
    if best:
        program = prompt_sections.program_section(run, "The program", best, reported=session.idea.account)
    else:
        program = prompt_sections.failing_section(run, session.latest)
    return run.fill_template(
        "or_agent_experiment",
        run.style,
        **program_request(run),
        title=session.idea.title,
        idea=session.idea.text,
        memory=prompt_sections.memory_section(session.memory),
        parents=prompt_sections.with_blank_line(parents) + champion,
        others=prompt_sections.with_blank_line(session.others),
        program=program,
        printed=prompt_sections.with_blank_line(prompt_sections.printed_section(session.latest, MEASURED)),
        features=bin_meanings(run),
        steps=prompt_sections.list_steps(session.steps),
        measured=prompt_sections.with_blank_line(session.measured),
        instrument=_observer_action(run),
        tuning=_tuning_action(run, offered) + _sweep_action(run, session),
        standing=summarise_search(run, best),
        history=prompt_sections.with_blank_line(describe_lineage(run, best)) if best else "",
        left=remaining,
        more=MORE if session.goes_on else "",
        form=_reply_format(run, session),
    )


def _reply_format(run: RoundContext, session: ExperimentSession) -> str:
    base = session.base.source
    # The reply contains the lesson of the last experiment, unless a separate call asks for it.
    owes_lesson = session.steps and not own_calls(run) and session.steps[-1].kind not in MEASURING
    return run.fill_template(
        "or_agent_experiment_whole" if _written_out(run, base) else "or_agent_experiment_lines",
        run.style,
        **program_request(run),
        lesson=f"{run.fill_template('or_agent_experiment_lesson')}\n" if owes_lesson else "",
        line=base.rstrip().split("\n")[-1],
        shape=_program_format(base),
    )


def _written_out(run: RoundContext, base: str) -> bool:
    """Return True if replies contain whole programs, because small models often copy lines wrongly into edits."""
    return run.style == "small" and base.rstrip().count("\n") < SHORT


def _program_format(base: str) -> str:
    return fence_text("the whole program", language_tag(base.strip()))


def own_calls(run: RoundContext) -> bool:
    """Return True if separate calls ask for lessons, because small models get one task at a time."""
    chosen = run.own.reflection_calls
    if chosen == "auto":
        return run.style == "small"
    return bool(chosen == "own")


def _tuning_action(run: RoundContext, offered: Sequence[Constant]) -> str:
    if not offered:
        return ""
    lines = "\n".join(_constant_line(constant) for constant in offered)
    first = Range.around(offered[0])
    shown = {"first": offered[0].label, "low": f"{first.low:g}", "high": f"{first.high:g}", "constants": lines}
    remaining = (run.case.allowance - run.used).evaluations
    return (
        run.fill_template("or_agent_experiment_tune", cost=min(run.own.tuning_evaluations, remaining), **shown) + "\n"
    )


def _sweep_action(run: RoundContext, session: ExperimentSession) -> str:
    """Describe the action SWEEP; empty for a small model or a program without declared numbers."""
    declared = read_parameters(session.base.source).parameters if session.best and run.style == "strong" else ()
    if not declared or run.experiments.cpu_s_left < MIN_S:
        return ""
    first = declared[0]
    shown = {
        "instances": experiment_words(run),
        "left": sweep_seconds(run),
        "name": first.name,
        "low": f"{first.low:g}",
        "high": f"{first.high:g}",
    }
    return run.fill_template("or_agent_experiment_sweep", **shown) + "\n"


def _constant_line(constant: Constant) -> str:
    if constant.name:
        return f"{constant.name} = {constant.value:g}, declared {constant.low:g} to {constant.high:g}"
    return f"{constant.label} = {constant.value:g} in `{constant.line[:100]}`"


def _observer_action(run: RoundContext) -> str:
    if not run.experiments.hooks or not run.own.instrument:
        return ""
    hooks = "\n".join(f"  `{name}`: {meaning}" for name, meaning in run.experiments.hooks.items())
    return run.fill_template("or_agent_experiment_instrument", hooks=hooks) + "\n"


async def _run_probe(run: RoundContext, session: ExperimentSession, action: ExperimentAction) -> None:
    """Run a program for its output or that of its observer. It never becomes the solution, even with a score."""
    watching, base = action.kind == "instrument", session.base
    if watching:
        source, observer = (base.source, action.source)
    else:
        source, observer = (action.source, "")
    candidate = await run.experiments.probe(source, [base.id], observer=observer)
    result = candidate.evaluation
    printed = result.log.partition(TOLD)[2] if watching else result.log
    output = prompt_sections.head_and_tail(printed.strip(), MEASURED) or "(nothing)"
    if result.score is None:
        parts = [prompt_sections.describe_failure(result), *([printed.strip()] if watching else [])]
        output = prompt_sections.head_and_tail("\n".join(parts), MEASURED)
    session.measured = f"{'The observer' if watching else 'The probe'} printed:\n{output}"
    # The score is based on few instances.
    outcome = "it ran" if result.score is not None else prompt_sections.describe_outcome(candidate)
    session.steps.append(ExperimentStep(action.kind, action.thought, outcome, better=False))


async def _change_solution(run: RoundContext, session: ExperimentSession, action: ExperimentAction) -> None:
    best, base, failed, kind = session.best, session.base, session.latest, action.kind
    if kind == "tune" and best is not None:
        names = ", ".join(axis.constant.label for axis in action.ranges)
        tried = await tune_constants(run, best, action.ranges, run.own.tuning_evaluations)
        words = f"{names} over {len(tried)} evaluations"
    elif kind == "sweep" and best is not None:
        words, source = await _run_sweep(run, session, action)
        if not source:
            session.steps.append(ExperimentStep(kind, words, "the present values are the best", better=False))
            return
        tried = [await run.evaluate(source, [base.id], "tune")]
    elif kind == "edit":
        words = action.thought
        child = await run.evaluate(action.source, [base.id], "experiment")
        # If the session has only failing programs, the next experiment is a repair.
        tried = [child if best is None else await debug_program(run, child, run.own.debugging)]
    else:
        return
    candidate = _best_candidate(run, tried)
    if candidate is None:
        return
    after = prompt_sections.scored_parent(candidate)
    better = after is not None and (best is None or run.archive.fitness(after.score) > run.archive.fitness(best.score))
    session.latest = candidate
    words = words or prompt_sections.describe_change(base.source, candidate.source)
    session.steps.append(ExperimentStep(kind, words, prompt_sections.describe_outcome(candidate), better))
    if after is not None and better:
        session.best = after
        # The last probe measured a different program.
        if kind != "sweep":
            session.measured = ""
    if after is not None:
        session.changes[after.source] = [*session.changes.get(base.source, []), f"{kind}: {words}"]
        set_title(run, after.source, f"{kind}: {words} ({session.idea.title})")
        remember_account(run, after.source, session.changed_idea(after.source))
    if own_calls(run):
        lesson = await ask_lesson(run, best or failed, candidate)
        session.steps[-1] = replace(session.steps[-1], lesson=lesson)
        _publish_lesson(run, session)
        if after is not None:
            remember_account(run, after.source, session.changed_idea(after.source), lesson=lesson)


async def _run_sweep(run: RoundContext, session: ExperimentSession, action: ExperimentAction) -> tuple[str, str]:
    """Return a description of a sweep, and the program with better values; empty if none are shown to be better."""
    source = session.base.source
    swept = await sweep_numbers(run, source, action.words, session.best)
    session.measured = f"The latest sweep, on {experiment_words(run)}:\n{swept.report}"
    return " ".join(action.words), swept.source if swept.source != source else ""


def _publish_lesson(run: RoundContext, session: ExperimentSession) -> None:
    """Publish the lesson of the latest experiment to all other branches and rounds at once."""
    step = session.steps[-1]
    text = f"{session.idea.title}: {step.change} -> {step.outcome}. {step.lesson}"
    run.publish(LESSON, " ".join(text.split())[:MAX_PUBLISHED], f"{session.idea.title}~{len(session.steps)}")


def _describe_scores(run: RoundContext, session: ExperimentSession) -> tuple[str, str]:
    start = "none, as it failed" if session.begun is None else f"{session.begun:.6g}"
    if session.best is None:
        return start, f"none: {prompt_sections.describe_outcome(session.latest)}"
    end = f"{session.best.score:.6g}"
    if session.begun is None:
        return start, end
    return start, f"{end}, {prompt_sections.describe_verdict(run, session.begun, session.best.score)}"


def _best_candidate(run: RoundContext, candidates: list[Candidate]) -> Candidate | None:
    scored = [(run.archive.fitness(t.evaluation.score), t) for t in candidates if t.evaluation.score is not None]
    if scored:
        return max(scored, key=lambda pair: pair[0])[1]
    return next(iter(candidates), None)
