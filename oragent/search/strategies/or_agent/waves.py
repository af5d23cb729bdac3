"""A round of one action: one call writes several programs, or none and parameters are swept."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from oragent._base.errors import BudgetExhausted, CandidateError, ConfigError, OragentError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.programs.inspection import documentation
from oragent.programs.parameters import read_parameters
from oragent.search.candidate import Candidate, Elite
from oragent.search.experiments import LEAST_S, Subset, SweepResult, SweepRow
from oragent.search.prompting import (
    best_elites,
    bin_meanings,
    blocks_hint,
    describe_lineage,
    describe_standing,
    describe_tried,
    fill_template,
    program_request,
    set_title,
    task_messages,
)
from oragent.search.prompting.frame import INSTANCES, PLACES, PLANNED, TOTAL
from oragent.search.prompting.standing import LESSON, program_mark, program_titles, title_of
from oragent.search.round_context import RoundContext
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
from oragent.search.strategies.or_agent.coding import ProgramDraft, debug_program, read_drafts, read_lesson
from oragent.search.strategies.or_agent.experiments import MEASURED, MOST_SETTINGS, sweep_line, sweep_seconds
from oragent.search.strategies.or_agent.tree import Idea, account_of, remember_account

NEARLY = 0.95  # of the limit of the function, for what a sweep may choose
LEAST_PER_NUMBER = 2  # settings of each number for which the CPU seconds of a sweep must last: fewer show nothing
SWEPT = "swept"  # kind of the notes that name programs whose parameters were swept
FUNCTIONS = (
    "or only the functions and constants that change, which replace those of the same name in the last program above, "
)
ROLES = {ActionKind.EDIT: "experiment", ActionKind.OPENING: "idea", ActionKind.IDEA: "idea", ActionKind.RESTART: "idea"}


async def play_action(run: RoundContext) -> None:
    """Choose an action, do it, and record what it gained."""
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
    """Write down what an action cost and gained."""
    scores = [candidate.score for candidate in run.solutions if candidate.score is not None]
    reached = max((run.archive.fitness(score) for score in scores), default=-float("inf"))
    gain = max(reached - run.archive.fitness(best.score), 0.0)
    run.note(ACTION, ActionRecord(action, run.used.evaluations, run.used.tokens, gain).dump())


def _available_actions(run: RoundContext, best: Elite) -> list[ActionKind]:
    is_swept = any(note.text == program_mark(best.source) for note in run.recall(SWEPT))
    may_sweep = read_parameters(best.source).parameters and not is_swept and run.experiment_s_left >= LEAST_S
    missing = set() if may_sweep else {ActionKind.SWEEP}
    if not _list_mates(run):
        missing.add(ActionKind.CROSSOVER)
    return [action for action in PRIORS if action not in missing]


async def _sweep_parameters(run: RoundContext, best: Elite) -> None:
    """Search the declared ranges of a program on training instances, and score the best setting."""
    run.note(SWEPT, program_mark(best.source))
    words = [parameter.name for parameter in read_parameters(best.source).parameters]
    least = LEAST_PER_NUMBER * len(words) if _is_bounded(run) else 0
    source, _ = await _sweep(run, best.source, words, best, least)
    if source != best.source:
        candidate = await run.evaluate(source, [best.id], "tune")
        run.note(SWEPT, program_mark(source))
        named = title_of(best.source, program_titles(run, run.moment))
        set_title(run, source, f"swept numbers of {named or best.id}")
        if candidate.score is not None and (account := account_of(run, best.source)):
            remember_account(run, source, Idea(account.idea, account.idea))


def _is_bounded(run: RoundContext) -> bool:
    """Whether the run bounds sweeps, which those of earlier versions do not."""
    return run.settings.strategy.experiment_s is not None


async def _sweep(
    run: RoundContext, source: str, words: Sequence[str], scored: Elite | None, least: int = 0
) -> tuple[str, str]:
    """Return a program with the best values of some parameters, and the results in words.

    Args:
        run: Branch that sweeps.
        source: Text of the program.
        words: Parameters, as ``read_axes`` reads them.
        scored: The program itself if it was scored, or its parent; None: there is none. Settings that would use up the
            limit of the function, by their times on training instances and those of this program, are left out.
        least: Number of settings for which the CPU seconds must last; otherwise none is tried.
    """
    try:
        result = await run.sweep(source, words, Subset(), least=least)
    except (ConfigError, CandidateError) as problem:
        return source, f"The sweep failed: {problem}"
    rows = "\n".join(map(sweep_line, result.ranked[:MOST_SETTINGS]))
    used_s = _expected_seconds(run, source, scored, result) if scored else None
    within = [row for row in result.ranked if row.score is not None and _has_time(run, row, result.rows[0], used_s)]
    best = within[0] if within else None
    return source if best is None else result.write_program(best), rows


def _expected_seconds(run: RoundContext, source: str, scored: Elite, result: SweepResult) -> float | None:
    """Return the CPU seconds of the function on ``val`` with the present values; None: unknown.

    For a program that was not scored, they are those on training instances, times the share of a scored one's seconds
    that the sizes of ``train`` took.
    """
    total, places, present = scored.metrics.get(TOTAL), scored.metrics.get(PLACES), result.rows[0].seconds
    if source == scored.source or not _is_bounded(run):
        return total if source == scored.source else None
    if not isinstance(places, dict) or not isinstance(total, int | float) or not present:
        return None
    shares = [places.get(f"size {size}") for size in result.subset.sizes]
    known = [share for share in shares if isinstance(share, int | float)]
    return present * total / sum(known) if len(known) == len(shares) and sum(known) > 0 else None


def _has_time(run: RoundContext, row: SweepRow, present: SweepRow, used_s: float | None) -> bool:
    """Whether a setting stays within the limit of the function where the present values took ``used_s``."""
    limit_s = run.problem.heuristic_s(run.settings.limits)
    if limit_s is None or not used_s or not present.seconds or row.seconds is None:
        return True
    return row is present or used_s * row.seconds / present.seconds <= NEARLY * limit_s


async def _write_programs(run: RoundContext, action: ActionKind, best: Elite) -> None:
    """Ask for programs by one call, and score them side by side; probes are answered by another call."""
    parents = _choose_parents(run, action, best)
    base = _shown_text(run, parents[-1]) if parents else None
    role, measured = ROLES.get(action, "code"), ""
    for is_last in (False, True):  # again after a reply that measures alone
        count = _program_count(run, action)
        answer = await ask_and_read(
            run,
            role,
            task_messages(run, write_prompt(run, action, parents, count, measured)),
            partial(read_drafts, run, base=base, limit=2 * count),
            partial(repair_request, run),
            run.temperature(role),
        )
        if answer.value is None:
            run.reject(answer.reply.text, answer.problem, [parent.id for parent in parents], role, answer.reply.call)
            return
        if lesson := read_lesson(answer.reply.text):
            run.note(LESSON, lesson)
        drafts = answer.value[: count + sum(draft.is_probe for draft in answer.value)]
        work = partial(_try_draft, parents=parents, role=role, call=answer.reply.call)
        islands = [at % run.archive.islands for at in range(len(drafts))] if action is ActionKind.OPENING else []
        results = await run.fork([partial(work, draft=draft) for draft in drafts], islands)
        measured = "\n\n".join(filter(None, results))
        if is_last or not measured or any(not draft.is_probe for draft in drafts):
            return


def _program_count(run: RoundContext, action: ActionKind) -> int:
    """Number of programs to ask for: no more than can be evaluated; the opening takes a part of the budget."""
    remaining, whole = run.case.allowance - run.used, run.settings.budget.remaining(run.spent)
    if action is ActionKind.OPENING:
        return max(1, min(int(run.own.wave), remaining.evaluations, max(whole.evaluations // OPENING_PART, 2)))
    return max(1, min(int(run.own.programs), remaining.evaluations))


def _choose_parents(run: RoundContext, action: ActionKind, best: Elite) -> list[Elite]:
    """Programs that a prompt shows, the one to be changed last."""
    if action is ActionKind.RESTART:
        return []
    if action is not ActionKind.CROSSOVER:
        return [best]
    others = _list_mates(run)
    weights = [1 / (rank + 1) for rank in range(len(others))]
    total = sum(weights)
    return [others[int(run.rng.choice(len(others), p=[weight / total for weight in weights]))], best]


def _list_mates(run: RoundContext) -> list[Elite]:
    """Programs that the best one may be joined with, best first; the seed heuristic is none."""
    return [elite for elite in best_elites(run)[1:] if elite.source != run.problem.seed]


def write_prompt(
    run: RoundContext, action: ActionKind, parents: Sequence[Elite], count: int, measured: str = ""
) -> str:
    """Write the prompt: the state of the search, the programs, the action, the form of the reply."""
    last = parents[-1] if parents else None
    # No numbers are read in programs of other languages.
    has_numbers = run.problem.signature.language == "python" and run.experiment_s_left >= LEAST_S
    sizes = run.problem.about.sizes.get("train", ())
    swept = f" (sizes: {', '.join(map(str, sizes))})" if sizes else ""
    form = fill_template(
        "or_agent_wave_form",
        run.style,
        **program_request(run) | {"signature": run.problem.about.function},  # the task has the whole of it
        edits=_edits_request(run, last),
        sweep="SWEEP: NAME=15,23,40 OTHER=0.5,1\n" if has_numbers else "",
        probed=f" of size {min(sizes)}" if sizes else "",
        numbers=f"\n{fill_template('or_agent_wave_numbers', left=sweep_seconds(run), sizes=swept)}"
        if has_numbers
        else "",
    )
    shown = prompt_sections.programs_section(run, parents, "change", partial(_shown_text, run)) if parents else ""
    bins = bin_meanings(run).strip()
    return fill_template(
        "or_agent_wave",
        run.style,
        standing=describe_standing(run, last),
        tried=prompt_sections.with_blank_line(describe_tried(run)),
        # What never changes comes first, as servers read equal beginnings once.
        memory=prompt_sections.memory_section(run.problem.knowledge.strip()),
        features=f"{bins}\n\n" if bins else "",
        programs=prompt_sections.with_blank_line(shown),
        history=prompt_sections.with_blank_line(describe_lineage(run, last)) if last else "",
        measured=prompt_sections.with_blank_line(measured),
        task=fill_template(
            f"or_agent_wave_{action}", run.style, count=count, noun="program" if count == 1 else "programs"
        ),
        blocks=blocks_hint(run, last),
        form=form,
    )


def _edits_request(run: RoundContext, base: Elite | None) -> str:
    if base is None:
        return ""
    functions = FUNCTIONS if run.problem.signature.language == "python" else ""
    line = _shown_text(run, base).rstrip().split("\n")[-1]
    return "\n\n" + fill_template("or_agent_wave_edits", run.style, line=line, functions=functions)


def _shown_text(run: RoundContext, elite: Elite) -> str:
    """Text of a program to which edits apply: without the docstring where the task has the same."""
    signature, told = run.problem.signature, run.problem.documentation
    if signature.language != "python" or not told:
        return elite.source
    try:
        is_told = documentation(elite.source, signature.function) == told
    except CandidateError:  # written by another version of Python
        return elite.source
    return prompt_sections.drop_docstrings(elite.source) if is_told else elite.source


async def _try_draft(run: RoundContext, draft: ProgramDraft, parents: Sequence[Elite], role: str, call: int) -> str:
    """Probe or score a part of a reply; return what was measured beside the score."""
    ids = [parent.id for parent in parents]
    if not draft.source:
        run.reject(draft.text, draft.problem, ids, role, call)
        return ""
    try:
        if draft.is_probe:
            return _describe_probe(draft, await run.probe(draft.source, ids, call))
        like = parents[-1] if parents else None
        source, rows = (await _sweep(run, draft.source, draft.axes, like)) if draft.axes else (draft.source, "")
        candidate = await run.evaluate(source, ids, role, call)
        set_title(run, candidate.source, draft.title)
        if _is_worth_repair(candidate.evaluation, run.own.timeout_repaired):
            candidate = await debug_program(run, candidate, min(run.own.debugging, 1))
            set_title(run, candidate.source, draft.title)
    except BudgetExhausted:
        return ""
    if candidate.score is not None:
        sizes = ", ".join(map(str, run.problem.about.sizes.get("train", ()))) or "all"
        report = f"Swept on training instances (sizes: {sizes}):\n{rows}" if rows else ""
        remember_account(run, candidate.source, Idea(draft.title, draft.idea or draft.title), report=report)
    return ""


def _is_worth_repair(evaluation: Evaluation, share: float | None) -> bool:
    """Whether a program failed so that a repair may help: of those that ran out of time, one that did a share."""
    if evaluation.status is not Status.TIMEOUT:
        return evaluation.status not in (Status.OK, Status.SCREENED)
    finished, planned = (evaluation.metrics.get(name) for name in (INSTANCES, PLANNED))
    if share is None or not isinstance(finished, int) or not isinstance(planned, int):
        return False
    return finished >= share * planned > 0


def _describe_probe(draft: ProgramDraft, candidate: Candidate) -> str:
    result = candidate.evaluation
    printed = prompt_sections.head_and_tail(result.log.strip(), MEASURED)
    if result.score is None:
        failure = prompt_sections.describe_failure(replace(result, log=""))  # with the traceback alone
        printed = "\n".join(filter(None, [printed, failure]))
    return f"The probe {draft.title!r} printed:\n{printed or '(nothing)'}"
