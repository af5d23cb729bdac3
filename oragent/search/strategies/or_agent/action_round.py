"""A round of one action: one call that writes several programs, or a parameter sweep without a call."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from oragent._base.errors import BudgetExhausted, CandidateError, ConfigError, OragentError, ReplyError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.job import KEPT_METRIC
from oragent.programs.blocks import fence_text, language_tag
from oragent.programs.helper_functions import list_helpers
from oragent.programs.inspection import documentation
from oragent.programs.kept_arrays import MAX_BYTES
from oragent.programs.parameters import read_parameters
from oragent.search.calibration import SHARE, calibrate, lower_work, work_parameter
from oragent.search.candidate import Candidate, Elite
from oragent.search.coarse_times import describe_seconds, round_down
from oragent.search.experiments import (
    MIN_S,
    PRACTICE,
    ProbeResult,
    SweepResult,
    SweepRow,
    read_places,
    scale_seconds,
)
from oragent.search.prompting.example_call import describe_example
from oragent.search.prompting.instance_values import (
    describe_bound,
    describe_instances,
    describe_remaining,
    describe_sizes,
)
from oragent.search.prompting.programs import describe_lineage
from oragent.search.prompting.prompt_templates import (
    INSTANCES,
    TOTAL,
    bin_meanings,
    blocks_hint,
    describe_places,
    finished_share,
    program_request,
    task_messages,
)
from oragent.search.prompting.search_summary import (
    LESSON,
    best_elites,
    describe_tried,
    program_mark,
    program_titles,
    set_title,
    summarise_search,
    title_of,
)
from oragent.search.round_context import RoundContext
from oragent.search.store import CORE
from oragent.search.strategies.asking import ask_and_read, repair_request
from oragent.search.strategies.or_agent import prompt_sections
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
    find_helpers,
    library_programs,
    read_drafts,
    read_lesson,
)
from oragent.search.strategies.or_agent.experiments import (
    MAX_SETTINGS,
    MEASURED,
    experiment_words,
    setting_words,
    sweep_line,
    sweep_seconds,
)
from oragent.search.strategies.or_agent.tree import Idea, account_of, remember_account

# Maximum share of the function's time limit for a setting of a sweep.
NEARLY = 0.95
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
# Kind of notes that hold the label of a probe on the first line, then its program.
PROBE_NOTE = "probe program"
# Number of latest probes whose programs a reply may edit.
MAX_PROBES = 40
# Maximum number of functions of earlier programs that a prompt offers.
MAX_HELPERS = 24
BUILD_ON = (
    "A part that builds on one of these probes has the line FROM: with its number below its title, and only edits "
    "or the functions and constants that change."
)
# Kind of notes that name a program whose parameters were swept.
SWEPT = "swept"
FUNCTIONS = (
    "or only the functions and constants that change, which replace those of the same name in the program to change, "
)
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
    may_sweep = read_parameters(best.source).parameters and not is_swept and run.experiments.cpu_s_left >= MIN_S
    missing = set() if may_sweep else {ActionKind.SWEEP}
    if not _list_mates(run):
        missing.add(ActionKind.CROSSOVER)
    return [action for action in PRIORS if action not in missing]


async def _sweep_parameters(run: RoundContext, best: Elite) -> None:
    run.note(SWEPT, program_mark(best.source))
    words = [parameter.name for parameter in read_parameters(best.source).parameters]
    least = MIN_SETTINGS_PER_NUMBER * len(words) if _is_bounded(run) else 0
    swept = await _sweep(run, best.source, words, best, least)
    source = swept.source
    if source != best.source and not swept.problem:
        candidate = await run.evaluate(source, [best.id], "tune")
        run.note(SWEPT, program_mark(source))
        named = title_of(best.source, program_titles(run, run.moment))
        set_title(run, source, f"swept numbers of {named or best.id}")
        if candidate.score is not None and (account := account_of(run, best.source)):
            remember_account(run, source, Idea(account.idea, account.idea))


def _is_bounded(run: RoundContext) -> bool:
    return run.settings.strategy.experiment_s is not None


@dataclass(frozen=True)
class _Prepared:
    """Program with the numbers with which it is scored."""

    # Text of the program.
    source: str
    # Description of the measurements; empty if there are none.
    report: str = ""
    # Reason why it is not scored; empty if it is scored.
    problem: str = ""


async def _sweep(
    run: RoundContext, source: str, words: Sequence[str], scored: Elite | None, least: int = 0
) -> _Prepared:
    """Return a program with the best values of some parameters.

    ``scored`` is the program itself if it was scored, otherwise its parent. Settings that would exceed the function's
    time limit are left out; if practice instances show that all would, no program is scored. No setting is tried if the
    CPU seconds allow fewer than ``least`` settings.
    """
    try:
        result = await run.experiments.sweep(source, words, run.experiments.instances, least=least)
    except (ConfigError, CandidateError) as problem:
        return _Prepared(source, f"The sweep failed: {problem}")
    ranked = [(row, _expected_seconds(run, source, scored, result, row)) for row in result.ranked]
    proven = result.rows[0] if scored is not None and source == scored.source else None
    scorable = [(row, seconds) for row, seconds in ranked if row.score is not None]
    fitting = [(row, seconds) for row, seconds in scorable if row is proven or _has_time(run, seconds)]
    is_practice = result.subset.mode == PRACTICE
    shown, chosen = ranked[:MAX_SETTINGS], fitting[:1]
    if is_practice:
        shown += [pair for pair in chosen if pair not in shown]
    lines = [sweep_line(row, seconds) for row, seconds in shown]
    if is_practice and scorable and not fitting:
        if lowered := _lower_to_fit(run, result, scorable):
            program, row = lowered
            work = work_parameter(program)
            value = f"{work.name} = {work.value:g}" if work is not None else ""
            lines.append(
                f"None of these fits the time limit; {setting_words(row)} is scored with {value}, which should."
            )
            return _Prepared(program, "\n".join(lines))
        excess = _describe_excess(run, min(scorable, key=lambda pair: pair[1] or 0.0))
        return _Prepared(source, "\n".join(lines), excess)
    if is_practice and chosen:
        lines.append(f"Of these, {setting_words(chosen[0][0])} is scored.")
    if chosen:
        source = result.write_program(chosen[0][0])
    return _Prepared(source, "\n".join(lines))


def _lower_to_fit(
    run: RoundContext, result: SweepResult, scorable: Sequence[tuple[SweepRow, float | None]]
) -> tuple[str, SweepRow] | None:
    """Return the best setting with so much less work that it should fit the time limit; None if that is unknown."""
    limit_s = run.problem.heuristic_s(run.settings.limits) or 0.0
    for row, seconds in scorable:
        if seconds and (program := lower_work(result.write_program(row), seconds, {}, 1.0, limit_s)):
            return program, row
    return None


def _describe_excess(run: RoundContext, fastest: tuple[SweepRow, float | None]) -> str:
    """State that no setting of a sweep fits the time limit, and what share of the fastest setting's work would fit."""
    row, seconds = fastest
    limit_s = run.problem.heuristic_s(run.settings.limits) or 0.0
    percent = round_down(100 * NEARLY * limit_s / seconds if seconds else 100.0)
    return (
        f"no setting of the sweep fits the time limit of {limit_s:g} s: the fastest, {setting_words(row)}, would take "
        f"{describe_seconds(seconds or 0.0)} when it is scored; values with {percent:g} % of its work fit"
    )


async def _calibrate(run: RoundContext, source: str) -> _Prepared:
    """Set the work parameter of a program, if it declares one, based on its time on practice instances."""
    limit_s, planned = run.problem.heuristic_s(run.settings.limits), _scored_instances(run)
    is_possible = run.experiments.instances.mode == PRACTICE and limit_s is not None and type(planned) is int
    if (
        not is_possible
        or type(planned) is not int
        or work_parameter(source) is None
        or run.experiments.cpu_s_left < MIN_S
    ):
        return _Prepared(source)

    async def measure(text: str) -> ProbeResult:
        return await run.experiments.probe_train(text, run.experiments.instances)

    try:
        calibrated = await calibrate(measure, source, limit_s or 0.0, planned)
    except (ConfigError, CandidateError):
        # No CPU seconds are left.
        return _Prepared(source)
    return _Prepared(calibrated.source, calibrated.report, calibrated.problem)


def _expected_seconds(
    run: RoundContext, source: str, scored: Elite | None, result: SweepResult, row: SweepRow
) -> float | None:
    """Return the expected CPU seconds of the function when a setting is scored; None if unknown.

    Training instances may have other sizes. The estimate is then in proportion to the seconds of a scored program.
    """
    present = result.rows[0]
    if result.subset.mode == PRACTICE:
        return scale_seconds(row.seconds, row.places, row.instances, _scored_instances(run))
    total = None if scored is None else scored.metrics.get(TOTAL)
    if scored is None or not isinstance(total, int | float) or row.seconds is None or not present.seconds:
        return None
    if source == scored.source:
        return total * row.seconds / present.seconds
    if row is present or not _is_bounded(run):
        return None
    places = read_places(scored.metrics)
    shares = [places[name] for size in result.subset.sizes if (name := f"size {size}") in places]
    if len(shares) == len(result.subset.sizes) and sum(shares) > 0:
        return row.seconds * total / sum(shares)
    return None


def _scored_instances(run: RoundContext) -> object:
    return best_elites(run)[0].metrics.get(INSTANCES)


def _has_time(run: RoundContext, seconds: float | None) -> bool:
    limit_s = run.problem.heuristic_s(run.settings.limits)
    return limit_s is None or seconds is None or seconds <= NEARLY * limit_s


async def _write_programs(run: RoundContext, action: ActionKind, best: Elite) -> None:
    parents = _choose_parents(run, action, best)
    base = _shown_text(run, parents[-1]) if parents else None
    outcomes: list[str] = []
    results: list[str] = []
    role, asks = ROLES.get(action, "code"), 2 if run.settings.strategy.practice is None else MAX_ROUND_CALLS
    measured, beside = _recall_measured(run), None
    if run.style == "strong":
        example = await describe_example(run)
    else:
        example = ""
    # Ask again after a reply that contains only probes.
    for _ in range(asks):
        count = _program_count(run, action)
        shown = [*_recall_outcomes(run), *measured]
        messages = task_messages(run, write_prompt(run, action, parents, count, _join_measured(shown), example))
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
        drafts = answer.value[: count + sum(draft.is_probe for draft in answer.value)]
        drafts, calls = await _repair_drafts(run, drafts, answer.reply.call, base, read)
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
        outcomes += [
            f"- {draft.name}: {part.outcome}" for draft, part in zip(drafts, tried, strict=True) if part.outcome
        ]
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
    return f"not scored, because it cannot be used: {problem[:MAX_COMPLAINT]}"


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
        f"It cannot be used: {drafts[at].problem[:MAX_COMPLAINT]}"
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
            idea, axes = first.idea or draft.idea, draft.axes
            drafts[at] = replace(draft, title=first.title, idea=idea, axes=axes, is_probe=first.is_probe)
            calls[at] = reply.call
    return drafts, calls


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
    weights = [1 / (rank + 1) for rank in range(len(others))]
    total = sum(weights)
    return [others[int(run.rng.choice(len(others), p=[weight / total for weight in weights]))], best]


def _list_mates(run: RoundContext) -> list[Elite]:
    return [elite for elite in best_elites(run)[1:] if elite.source != run.problem.seed]


def write_prompt(
    run: RoundContext, action: ActionKind, parents: Sequence[Elite], count: int, measured: str = "", example: str = ""
) -> str:
    """Write the prompt: the state of the search, the programs, the action, and the form of the reply."""
    last = parents[-1] if parents else None
    # Only Python programs have parameters.
    has_numbers = run.problem.signature.language == "python" and run.experiments.cpu_s_left >= MIN_S
    form = run.fill_template(
        "or_agent_wave_form",
        run.style,
        # The task section has the whole signature.
        **program_request(run) | {"signature": run.problem.about.function},
        edits=_edits_request(run, last) + _helpers_request(run),
        sweep="SWEEP: NAME=15,23,40 OTHER=0.5,1\n" if has_numbers else "",
        probe=_probe_request(run),
        numbers=_numbers_request(run) if has_numbers else "",
    )
    shown = prompt_sections.programs_section(run, parents, "change", partial(_shown_text, run)) if parents else ""
    bins = bin_meanings(run).strip()
    return run.fill_template(
        "or_agent_wave",
        run.style,
        standing=_describe_standing(run, last),
        tried=prompt_sections.with_blank_line(describe_tried(run)),
        # Constant text comes first, because servers cache equal prefixes.
        memory=prompt_sections.memory_section(run.problem.knowledge.strip()) + _describe_setting(run, example),
        features=f"{bins}\n\n" if bins else "",
        programs=prompt_sections.with_blank_line(shown),
        history=prompt_sections.with_blank_line(describe_lineage(run, last)) if last else "",
        measured=prompt_sections.with_blank_line(measured),
        task=run.fill_template(
            f"or_agent_wave_{action}", run.style, amount="one program" if count == 1 else f"up to {count} programs"
        ),
        # A strong model needs no building blocks.
        blocks="" if run.style == "strong" else blocks_hint(run, last),
        form=form,
    )


def _describe_setting(run: RoundContext, example: str) -> str:
    """Return the speed of a core and an example of the arguments, for a strong model, before a blank line."""
    if run.style != "strong":
        return ""
    return "".join(f"{part}\n\n" for part in (run.context.store.meta(CORE), example) if part)


def _describe_standing(run: RoundContext, last: Elite | None) -> str:
    """Describe the state of the search. A strong model also sees sizes, values of instances and the known bound."""
    parts = [summarise_search(run, last)]
    if run.style == "strong":
        best = next(iter(best_elites(run)), None)
        bound = describe_bound(best.metrics) if best is not None else ""
        sentences = describe_remaining(run), describe_sizes(run), bound
        parts += [" ".join(filter(None, sentences)), describe_instances(run, last)]
    return "\n\n".join(filter(None, parts))


def _numbers_request(run: RoundContext) -> str:
    """Ask for ranges of numbers, and for a work parameter if it can be set to fit the time limit."""
    text = run.fill_template("or_agent_wave_numbers", left=sweep_seconds(run), instances=experiment_words(run))
    if run.experiments.instances.mode == PRACTICE and run.problem.heuristic_s(run.settings.limits) is not None:
        text += "\n" + run.fill_template("or_agent_wave_work", share=f"{100 * SHARE:.0f}")
    return f"\n{text}"


def _probe_request(run: RoundContext) -> str:
    """Describe a probe: it is measured on practice instances, or prints on a few training instances."""
    arrays = _describe_arrays(run)
    if run.experiments.instances.mode == PRACTICE:
        return run.fill_template("or_agent_wave_practice", run.style, instances=experiment_words(run)) + arrays
    sizes = run.problem.about.sizes.get("train", ())
    return (
        run.fill_template("or_agent_wave_probe", run.style, probed=f" of size {min(sizes)}" if sizes else "") + arrays
    )


def _describe_arrays(run: RoundContext) -> str:
    """Describe how a probe keeps arrays, and list those of the run, for a strong model; otherwise empty."""
    if run.style != "strong" or not run.experiments.keeps_arrays:
        return ""
    text = "\n" + run.fill_template("or_agent_wave_arrays", run.style, most=f"{MAX_BYTES:,}")
    kept = run.experiments.list_arrays().values()
    if kept:
        text += " Kept so far:\n" + "\n".join(f"- {note.call}, by a probe of round {note.round}" for note in kept)
    return text


def _helpers_request(run: RoundContext) -> str:
    """Offer the functions of earlier programs to a strong model; empty if there are none."""
    if run.style != "strong":
        return ""
    calls = []
    for name, source in find_helpers(run, library_programs(run)).items():
        calls.append(f"- `{list_helpers(source, ())[name]}`")
    if not calls:
        return ""
    return "\n\n" + run.fill_template("or_agent_wave_helpers", run.style, functions="\n".join(calls[:MAX_HELPERS]))


def _edits_request(run: RoundContext, base: Elite | None) -> str:
    if base is None:
        return ""
    functions = FUNCTIONS if run.problem.signature.language == "python" else ""
    line = _shown_text(run, base).rstrip().split("\n")[-1]
    return "\n\n" + run.fill_template("or_agent_wave_edits", run.style, line=line, functions=functions)


def _shown_text(run: RoundContext, elite: Elite) -> str:
    """Return the text of a program to which edits apply, without the docstring if the task shows the same one."""
    signature, described = run.problem.signature, run.problem.documentation
    if signature.language != "python" or not described:
        return elite.source
    try:
        is_told = documentation(elite.source, signature.function) == described
    except CandidateError:
        # The program is written for another version of Python.
        return elite.source
    if is_told:
        return prompt_sections.drop_docstrings(elite.source)
    return elite.source


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
            prepared = await _sweep(run, draft.source, draft.axes, like)
        else:
            prepared = await _calibrate(run, draft.source)
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
    is_late = candidate.evaluation.status is Status.TIMEOUT and isinstance(seconds, int | float)
    if not is_late or not finished or limit_s is None:
        return ""
    return lower_work(candidate.source, float(seconds or 0.0), read_places(metrics), finished, limit_s)


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
    expected = scale_seconds(total, read_places(result.metrics), count, _scored_instances(run))
    limit_s = run.problem.heuristic_s(run.settings.limits)
    scored = "" if expected is None else f", which comes to {describe_seconds(expected)} when it is scored"
    if limit_s is not None and scored:
        scored += f"; {limit_s:g} s are allowed{'' if _has_time(run, expected) else ', so that it may run out of time'}"
    return f"; {describe_seconds(total)} on {count} instances{describe_places(result.metrics)}{scored}"
