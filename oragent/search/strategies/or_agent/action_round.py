"""A round of one action: one call that writes several programs, or a parameter sweep without a call."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from oragent._base.errors import BudgetExhausted, CandidateError, ConfigError, OragentError, ReplyError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.job import KEPT_METRIC
from oragent.programs.blocks import NEAREST, fence_text, language_tag
from oragent.search.calibration import lower_work
from oragent.search.candidate import Candidate, Elite
from oragent.search.coarse_times import describe_seconds
from oragent.search.experiments import MIN_S, PRACTICE, read_details, read_places, scale_seconds
from oragent.search.prompting.example_call import describe_example
from oragent.search.prompting.prompt_templates import INSTANCES, TOTAL, describe_places, finished_share, task_messages
from oragent.search.prompting.search_summary import (
    LESSON,
    best_elites,
    program_mark,
    program_titles,
    set_title,
    title_of,
)
from oragent.search.round_context import RoundContext
from oragent.search.run_end import holds_code
from oragent.search.strategies.asking import ask_and_read, repair_request
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.action_prompt import BUILD_ON, PromptRequest, shown_text, write_prompt
from oragent.search.strategies.or_agent.allocation import (
    ACTION,
    OPENING_PART,
    PRIORS,
    ActionKind,
    ActionRecord,
    choose_action,
)
from oragent.search.strategies.or_agent.coding import (
    ProgramDraft,
    debug_program,
    library_programs,
    read_drafts,
    read_lesson,
)
from oragent.search.strategies.or_agent.experiments import MEASURED
from oragent.search.strategies.or_agent.sweeps import (
    calibrate_work,
    experiment_words,
    has_time,
    list_numbers,
    scored_counts,
    scored_instances,
    sweep_numbers,
)
from oragent.search.strategies.or_agent.tree import Idea, account_of, remember_account

# Minimum number of settings per parameter that the CPU seconds of a sweep must allow.
MIN_SETTINGS_PER_NUMBER = 2
# Maximum number of calls of a round. All replies but the last may contain only probes.
MAX_ROUND_CALLS = 4
# Kind of notes that hold the results of probes after the last prompt of a round.
MEASURED_NOTE = "measured"
# Kind of notes that say what became of each program of a reply, for the next prompt.
OUTCOME_NOTE = "outcomes"
# Maximum number of characters of the message about a program that was not scored.
MAX_COMPLAINT = 1500
# Maximum number of characters of the nearest lines in such a message.
MAX_NEAREST = 180
# Kind of notes that hold the label of a probe on the first line, then its program.
PROBE_NOTE = "probe program"
# Number of latest probes whose programs a reply may edit.
MAX_PROBES = 40
# Kind of notes that name a program whose parameters were swept.
SWEPT = "swept"
ROLES = {ActionKind.EDIT: "experiment", ActionKind.OPENING: "idea", ActionKind.IDEA: "idea", ActionKind.RESTART: "idea"}


async def play_action(run: RoundContext) -> None:
    """Choose an action, perform it, and record its gain."""
    best = best_elites(run)[0]
    action = choose_action(run, _available_actions(run, best))
    try:
        if action is ActionKind.SWEEP:
            await _sweep_parameters(run, best)
        else:
            await _write_programs(run, action, best)
    except OragentError:
        _record_action(run, action, best)
        raise
    _record_action(run, action, best)


def _record_action(run: RoundContext, action: ActionKind, best: Elite) -> None:
    scores = [candidate.score for candidate in run.solutions if candidate.score is not None]
    reached = max((run.archive.fitness(score) for score in scores), default=-float("inf"))
    gain = max(reached - run.archive.fitness(best.score), 0.0)
    run.note(ACTION, ActionRecord(action, run.used.evaluations, run.used.tokens, gain).dump())


def _available_actions(run: RoundContext, best: Elite) -> list[ActionKind]:
    is_swept = any(note.text == program_mark(best.source) for note in run.recall(SWEPT))
    may_sweep = list_numbers(run, best.source) and not is_swept and run.experiments.cpu_s_left >= MIN_S
    missing = set() if may_sweep else {ActionKind.SWEEP}
    if not _list_mates(run):
        missing.add(ActionKind.CROSSOVER)
    return [action for action in PRIORS if action not in missing]


async def _sweep_parameters(run: RoundContext, best: Elite) -> None:
    run.note(SWEPT, program_mark(best.source))
    words = list_numbers(run, best.source)
    least = MIN_SETTINGS_PER_NUMBER * len(words) if run.settings.strategy.experiment_s is not None else 0
    swept = await sweep_numbers(run, best.source, words, best, least)
    source, named = swept.source, title_of(best.source, program_titles(run, run.moment)) or best.id
    run.note(MEASURED_NOTE, f"What a sweep of {named!r} on {experiment_words(run)} taught:\n{swept.report}")
    if source != best.source and not swept.problem:
        candidate = await run.evaluate(source, [best.id], "tune")
        run.note(SWEPT, program_mark(source))
        set_title(run, source, f"swept numbers of {named}")
        if candidate.score is not None and (account := account_of(run, best.source)):
            remember_account(run, source, Idea(account.idea, account.idea))


async def _write_programs(run: RoundContext, action: ActionKind, best: Elite) -> None:
    parents = _choose_parents(run, action, best)
    base = shown_text(run, parents[-1]) if parents else None
    outcomes: list[str] = []
    results: list[str] = []
    role, asks = ROLES.get(action, "code"), 2 if run.settings.strategy.practice is None else MAX_ROUND_CALLS
    measured, beside = _recall_measured(run), None
    example = await describe_example(run)
    # Ask again after a reply that contains only probes.
    for _ in range(asks):
        count = _program_count(run, action)
        shown = [*_recall_outcomes(run), *measured]
        request = PromptRequest(action, parents, count, _join_measured(shown), example)
        messages = task_messages(run, write_prompt(run, request))
        probes = _probe_sources(run)
        read = partial(read_drafts, run, base=base, limit=2 * count, probes=probes, libraries=library_programs(run))
        complain = partial(repair_request, run)
        answer = await ask_and_read(run, role, messages, read, complain, run.temperature(role))
        if answer.value is None:
            run.reject(answer.reply.text, answer.problem, [parent.id for parent in parents], role, answer.reply.call)
            outcomes.append(f"- the reply: {_describe_rejection(answer.problem)}")
            results = []
            break
        if lesson := read_lesson(answer.reply.text):
            run.note(LESSON, lesson)
        most = count + sum(draft.is_probe for draft in answer.value)
        drafts, surplus = answer.value[:most], answer.value[most:]
        outcomes += [f"- {draft.name}: not scored, because at most {count} were asked for" for draft in surplus]
        drafts, calls = await _repair_drafts(run, drafts, answer.reply.call, base, read)
        if not any(draft.source for draft in drafts) and not holds_code(answer.reply.text, run.problem.about.function):
            # Titles without programs do not show that the model works.
            run.reply_problems[-1] = drafts[0].problem
        if beside is None and any(draft.is_probe for draft in drafts):
            beside = await _practice_score(run)
        labels = _label_probes(run, drafts)
        work = partial(_try_draft, parents=parents, role=role, beside=beside)
        islands = [at % run.archive.islands for at in range(len(drafts))] if action is ActionKind.OPENING else []
        works = [
            partial(work, draft=draft, label=label, call=call)
            for draft, label, call in zip(drafts, labels, calls, strict=True)
        ]
        tried = await run.fork(works, islands)
        for draft, part in zip(drafts, tried, strict=True):
            ignored = f"its line SWEEP was not followed in all: {draft.remark}" if draft.remark else ""
            if ignored:
                run.context.scoring.tell(f"round {run.number}, {draft.name}: {ignored}")
            if said := "; ".join(filter(None, [part.outcome, ignored])):
                outcomes.append(f"- {draft.name}: {said}")
        results = [part.report for part in tried if part.report]
        measured = [*measured, *results] if run.settings.strategy.practice is not None else results
        if not results or any(not draft.is_probe for draft in drafts):
            break
    # No prompt has shown these results yet.
    if outcomes:
        run.note(OUTCOME_NOTE, "\n".join(outcomes))
    if results:
        run.note(MEASURED_NOTE, "\n\n".join(results))


def _describe_rejection(problem: str) -> str:
    reason, mark, nearest = problem.partition(NEAREST)
    # The next prompt shows the program with these lines.
    return f"not scored, because it cannot be used: {reason[:MAX_COMPLAINT]}{mark}{nearest[:MAX_NEAREST].rstrip()}"


async def _repair_drafts(
    run: RoundContext,
    drafts: list[ProgramDraft],
    call: int,
    base: str | None,
    read: Callable[[str], list[ProgramDraft]],
) -> tuple[list[ProgramDraft], list[int]]:
    """Ask once for all parts of a reply that cannot be used; return the parts, and the call of each."""
    calls = [call] * len(drafts)
    broken = [at for at, draft in enumerate(drafts) if not draft.source and draft.text.strip()]
    if not broken or not run.own.debugging:
        return drafts, calls
    parts = [
        f"{'PROBE' if drafts[at].is_probe else 'PROGRAM'}: {drafts[at].title}\n{fence_text(drafts[at].text)}\n"
        f"It cannot be used: {_without_nearest(drafts[at].problem, base)[:MAX_COMPLAINT]}"
        for at in broken
    ]
    program = "(none)" if base is None else fence_text(base.strip(), language_tag(base))
    text = run.fill_template("or_agent_wave_repair", run.style, parts="\n\n".join(parts), program=program)
    try:
        reply = await run.ask("repair", task_messages(run, text), run.temperature("code"))
        repaired = [draft for draft in await asyncio.to_thread(read, reply.text) if draft.source]
    except (ReplyError, BudgetExhausted):
        return drafts, calls
    by_title = {draft.title: draft for draft in repaired}
    for at, following in zip(broken, [*repaired, *[None] * len(broken)], strict=False):
        draft = by_title.get(drafts[at].title) or (following if len(repaired) == len(broken) else None)
        if draft is not None:
            first = drafts[at]
            drafts[at] = replace(draft, title=first.title, idea=first.idea or draft.idea, is_probe=first.is_probe)
            calls[at] = reply.call
    return drafts, calls


def _without_nearest(problem: str, base: str | None) -> str:
    """Return a message without the nearest lines of a program that the same prompt shows."""
    reason, mark, nearest = problem.partition(NEAREST)
    return reason.rstrip(" .") if base is not None and nearest.strip() in base else f"{reason}{mark}{nearest}"


def _recall_outcomes(run: RoundContext) -> list[str]:
    """Return what became of the programs of the latest replies, as one text; none if there are no programs."""
    texts = [note.text for note in run.recall(OUTCOME_NOTE) if note.round >= _first_shown_round(run)]
    return ["\n".join(["What became of the programs of the latest reply:", *texts])] if texts else []


def _join_measured(measured: Sequence[str]) -> str:
    text = "\n\n".join(measured)
    if any(result.startswith("Probe ") for result in measured):
        text += f"\n\n{BUILD_ON}"
    return text


def _probe_sources(run: RoundContext) -> dict[str, str]:
    """Return the programs of the latest probes of this and earlier rounds, by label."""
    notes = [note for note in (*run.recall(PROBE_NOTE), *run.notes) if note.kind == PROBE_NOTE]
    texts = [note.text.partition("\n") for note in notes[-MAX_PROBES:]]
    return {label: source for label, _, source in texts}


def _label_probes(run: RoundContext, drafts: Sequence[ProgramDraft]) -> list[str]:
    """Label each probe of a reply by round and number, and store its program. Other programs get an empty label."""
    count = sum(note.kind == PROBE_NOTE for note in run.notes)
    labels = []
    for draft in drafts:
        if draft.is_probe and draft.source:
            count += 1
            labels.append(f"{run.number}.{count}")
            run.note(PROBE_NOTE, f"{labels[-1]}\n{draft.source}")
        else:
            labels.append("")
    return labels


def _recall_measured(run: RoundContext) -> list[str]:
    notes = run.recall(MEASURED_NOTE) if run.settings.strategy.practice is not None else []
    return [note.text for note in notes if note.round >= _first_shown_round(run)]


def _first_shown_round(run: RoundContext) -> int:
    """Return the first round whose results the next prompt shows.

    A sweep has no prompt, so it leaves the results of the rounds before it to the next one.
    """
    sweeps = {note.round for note in run.recall(ACTION) if ActionRecord.load(note.text).action is ActionKind.SWEEP}
    first = run.number - run.window
    while first in sweeps:
        first -= 1
    return first


def _program_count(run: RoundContext, action: ActionKind) -> int:
    """Return the number of programs to ask for: at most the remaining evaluations, or the share of the opening."""
    remaining, whole = run.case.allowance - run.used, run.settings.budget.remaining(run.spent)
    if action is ActionKind.OPENING:
        return max(1, min(int(run.own.wave), remaining.evaluations, max(whole.evaluations // OPENING_PART, 2)))
    return max(1, min(int(run.own.programs), remaining.evaluations))


def _choose_parents(run: RoundContext, action: ActionKind, best: Elite) -> list[Elite]:
    if action is ActionKind.RESTART:
        return []
    if action is not ActionKind.CROSSOVER:
        return [best]
    others = _list_mates(run)
    weights = np.reciprocal(np.arange(1.0, len(others) + 1))
    return [others[int(run.rng.choice(len(others), p=weights / weights.sum()))], best]


def _list_mates(run: RoundContext) -> list[Elite]:
    return [elite for elite in best_elites(run)[1:] if elite.source != run.problem.seed]


@dataclass(frozen=True)
class _TriedPart:
    """What the next prompt shows of a part of a reply."""

    # Measurements; empty if there are none.
    report: str
    # Score or failure, on one line; empty for a probe.
    outcome: str


async def _try_draft(
    run: RoundContext,
    draft: ProgramDraft,
    parents: Sequence[Elite],
    role: str,
    call: int,
    beside: float | None,
    label: str,
) -> _TriedPart:
    """Probe or score a part of a reply; return what the next prompt shows."""
    ids = [parent.id for parent in parents]
    if not draft.source:
        run.reject(draft.text, draft.problem, ids, role, call)
        return _TriedPart("", _describe_rejection(draft.problem))
    candidate: Candidate | None = None
    try:
        if draft.is_probe:
            probed = await run.experiments.probe(draft.source, ids, call)
            return _TriedPart(_describe_probe(run, draft, label, probed, beside), "")
        like = parents[-1] if parents else None
        if draft.axes:
            prepared = await sweep_numbers(run, draft.source, draft.axes, like)
        else:
            prepared = await calibrate_work(run, draft.source)
        if prepared.problem:
            run.reject(prepared.source, prepared.problem, ids, role, call)
            report = f"The program {draft.title!r} was not scored: {prepared.problem}.\n{prepared.report}"
            return _TriedPart(report, "not scored, as said below")
        candidate = await run.evaluate(prepared.source, ids, role, call)
        set_title(run, candidate.source, draft.title)
        if lowered := _lower_work(run, candidate):
            candidate = await run.evaluate(lowered, ids, role, call)
            set_title(run, candidate.source, draft.title)
        elif _is_worth_repair(candidate.evaluation, run.own.timeout_repaired):
            candidate = await debug_program(run, candidate, min(run.own.debugging, 1))
            set_title(run, candidate.source, draft.title)
    except BudgetExhausted:
        if candidate is None:
            return _TriedPart("", "not scored, because the budget was used up")
        return _TriedPart("", prompt_sections.describe_outcome(candidate))
    if prepared.report and draft.axes:
        report = f"Swept on {experiment_words(run)}:\n{prepared.report}"
    else:
        report = prepared.report
    if candidate.score is not None:
        remember_account(run, candidate.source, Idea(draft.title, draft.idea or draft.title), report=report)
    # The next prompt reports it for every parent.
    outcome = prompt_sections.describe_outcome(candidate)
    return _TriedPart(f"What the numbers of {draft.title!r} ({outcome}) taught. {report}" if report else "", outcome)


def _lower_work(run: RoundContext, candidate: Candidate) -> str:
    """Return a program that ran out of time with less work, if it declares its work; otherwise an empty text."""
    metrics, limit_s = candidate.evaluation.metrics, run.problem.heuristic_s(run.settings.limits)
    seconds, finished = metrics.get(TOTAL), finished_share(metrics)
    if candidate.evaluation.status is not Status.TIMEOUT or not isinstance(seconds, int | float):
        return ""
    if not finished or limit_s is None:
        return ""
    return lower_work(candidate.source, float(seconds), read_places(metrics), finished, limit_s)


def _is_worth_repair(evaluation: Evaluation, share: float | None) -> bool:
    """Return True if a repair may help a failed program; after a timeout, only if it finished a share of instances."""
    if evaluation.status is not Status.TIMEOUT:
        return evaluation.status not in (Status.OK, Status.SCREENED)
    finished = finished_share(evaluation.metrics)
    return share is not None and finished is not None and finished >= share


async def _practice_score(run: RoundContext) -> float | None:
    if run.experiments.instances.mode != PRACTICE:
        return None
    with suppress(ConfigError, CandidateError):
        return (await run.experiments.probe_train(best_elites(run)[0].source, run.experiments.instances)).score
    return None


def _describe_probe(
    run: RoundContext, draft: ProgramDraft, label: str, candidate: Candidate, best: float | None
) -> str:
    result = candidate.evaluation
    printed = prompt_sections.head_and_tail(result.log.strip(), MEASURED)
    if kept := _describe_kept(run, result):
        printed = f"{printed}\n{kept}".strip()
    if result.score is None:
        # The description includes the traceback, not the log.
        failure = prompt_sections.describe_failure(replace(result, log=""))
        printed = "\n".join(filter(None, [printed, failure]))
    if run.experiments.instances.mode != PRACTICE or result.score is None:
        return f"Probe {label}, {draft.title!r}, printed:\n{printed or '(nothing)'}"
    beside = "" if best is None else f", where the best program so far scores {best:.6g}"
    measured = f"scored {result.score:.6g} on practice instances{beside}{_describe_practice_time(run, result)}."
    return f"Probe {label}, {draft.title!r}, {measured}" + (f" It printed:\n{printed}" if printed else "")


def _describe_kept(run: RoundContext, result: Evaluation) -> str:
    """State which arrays a probe kept, or why it kept none; empty if it wanted to keep none."""
    listed = result.metrics.get(KEPT_METRIC)
    if isinstance(listed, str):
        return f"No array was kept: {listed}."
    if not isinstance(listed, dict):
        return ""
    notes = run.experiments.list_arrays()
    names = [name for name in listed if name in notes and notes[name].digest == listed[name][0]]
    return f"It kept the arrays {', '.join(names)}." if names else ""


def _describe_practice_time(run: RoundContext, result: Evaluation) -> str:
    total, count = result.metrics.get(TOTAL), result.metrics.get(INSTANCES)
    if not isinstance(total, int | float) or type(count) is not int:
        return ""
    places, details = read_places(result.metrics), read_details(result.metrics)
    expected = scale_seconds(total, places, count, scored_instances(run), details, scored_counts(run))
    limit_s = run.problem.heuristic_s(run.settings.limits)
    scored = "" if expected is None else f", which comes to {describe_seconds(expected)} when it is scored"
    if limit_s is not None and scored:
        scored += f"; {limit_s:g} s are allowed{'' if has_time(run, expected) else ', so that it may run out of time'}"
    return f"; {describe_seconds(total)} on {count} instances{describe_places(result.metrics)}{scored}"
