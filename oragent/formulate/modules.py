"""Modules of ORMind (Wang et al. 2025): prompts and expected replies.

System 1 reads and drafts, system 2 checks errors and results, and the reflective mind writes the program.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace

from oragent._base.errors import ReplyError
from oragent._base.text_format import escape_text, one_line
from oragent.formulate.appeals import Citation, list_disputes, repeated_findings
from oragent.formulate.audit import find_foreign_figures
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.data import column_names, describe_data, describe_parts, map_leaves
from oragent.formulate.prompting import PERSON, PoolEntry
from oragent.formulate.requirements import KINDS, list_readings
from oragent.formulate.running import ExecutionResult
from oragent.formulate.session import FormulationAttempt, FormulationSession, empty_attempt
from oragent.modelling.data.solution import SolveVerdict

UNCHANGED = "\n\nThe program came back unchanged after this had been said once: the lines named must change."
MAX_READINGS = 2
# Maximum number of characters of a reviewed plan.
MAX_PLAN = 20_000
# Relative difference up to which two values are equal.
SAME = 1e-6
# Maximum number of cited characters.
MAX_CITED = 800
# Maximum number of rejected findings that a checker's author sees.
MAX_REJECTED = 12


async def interpret_terms(session: FormulationSession) -> None:
    """Explain terms, before the encoder."""
    prompt = session.fill_prompt("terminology", background=session.problem.background or "none")
    await session.ask_data("terminology", prompt, list)


async def encode_parameters(session: FormulationSession) -> None:
    """List the parameters; those with values in the text become data of the program.

    A figure that is not in the text is sent back once, with the reason. A figure of the user is kept.
    """
    prompt = session.fill_prompt("semantic_encoder")
    encoded = await session.ask_data("semantic_encoder", prompt, dict)
    foreign = find_foreign_figures(encoded or {}, session.problem_text, session.problem.data)
    entry = session.pool.newest_of("semantic_encoder")
    if foreign and entry is not None and entry.author != PERSON:
        reason = "Read these again, each from the text:\n" + "\n".join(f"- {complaint}" for complaint in foreign)
        await session.ask_data("semantic_encoder", f"{prompt}\n\n# Figures that may be misread\n{reason}", dict)
    session.audit_data()


async def formalize_model(session: FormulationSession) -> None:
    """Write variables, constraints and objective."""
    await session.ask_data("formalization", session.fill_prompt("formalization"), dict)


async def solve_readings(session: FormulationSession) -> None:
    """Solve the other reading of at most two sentences that the formalization reads in two ways."""
    answer = session.best_attempt()
    if answer.has_failed:
        return
    for reading in list_readings(session.pool.parsed_of("formalization"))[:MAX_READINGS]:
        prompt = session.fill_prompt(
            "reading", program=answer.source.strip(), sentence=reading.sentence, other=reading.other
        )
        try:
            source = await session.ask_program("reading", prompt)
            ran = await asyncio.to_thread(session.runner.run_program, source, session.problem.interface, session.data)
        except ReplyError as problem:
            ran = ExecutionResult(SolveVerdict.COMPILE_ERROR, str(problem))
        values = ran.aim_values
        record = {**asdict(reading), "status": str(ran.verdict or ran.status), "aims": list(values)}
        record["objective"] = values[0] if values else None
        session.readings.append(record | {"changed": _changed_decisions(answer.ran, ran)})


def _changed_decisions(ran: ExecutionResult, comparison: ExecutionResult) -> list[str] | None:
    """Return names of returned variables whose values differ; None if one reading has no solution."""
    if ran.solution is None or comparison.solution is None or not comparison.solution.status.has_point:
        return None
    names = column_names(ran.columns) or set(ran.solution.values)
    before, after = ran.solution.values, comparison.solution.values
    return sorted(
        name
        for name in names
        if name in before and name in after and abs(before[name] - after[name]) > SAME * max(1.0, abs(before[name]))
    )


async def compile_draft(session: FormulationSession) -> None:
    """Write a draft for the supervisor; the draft is not run."""
    await session.ask_words("compiler", session.fill_prompt("compiler"))


async def compile_program(session: FormulationSession) -> FormulationAttempt:
    """Write the program from the pool without a supervisor, and run it."""
    return await session.ask_and_run("compiler", session.fill_prompt("compiler"))


async def review_draft(session: FormulationSession) -> None:
    """Ask for remarks on the newest program in the pool."""
    await session.ask_words("reviewer", session.fill_prompt("reviewer"))


async def choose_module(
    session: FormulationSession, team: Mapping[str, str], consulted: list[str], remaining_calls: int
) -> str:
    """Choose the next module; an unknown name means the first remaining one."""
    remaining = [name for name in team if name not in consulted]
    team_text = "\n".join(f"- {name}: {what}" for name, what in team.items())
    prompt = session.fill_prompt(
        "conductor",
        team=team_text,
        asked=", ".join(consulted) or "nobody",
        left=", ".join(remaining),
        most=remaining_calls,
    )
    reply = await session.ask_words("conductor", prompt)
    return next((word for word in re.findall(r"[a-z_]+", reply.lower()) if word in remaining), remaining[0])


async def write_first_program(session: FormulationSession) -> FormulationAttempt:
    """Write the program, with units and readings in JSON, and run it.

    An interactive user may clarify the text before the first solve. Then the program is written again, and the checker
    also receives the clarification.
    """
    try:
        source = await session.ask_program_with_facts("program", session.fill_prompt("program"))
        if session.ask_person is not None:
            facts = session.pool.parsed_of("formalization")
            if clarification := await asyncio.to_thread(session.ask_person, facts):
                session.pool.append(PoolEntry("clarification", clarification, author=PERSON))
                text = f"{session.problem.text.strip()}\n\nClarification: {clarification}"
                session.problem = replace(session.problem, text=text)
                source = await session.ask_program_with_facts("program", session.fill_prompt("program"))
    except ReplyError as problem:
        session.attempts.append(empty_attempt("program", len(session.attempts), str(problem)))
        return session.newest
    return await session.run_program("program", source)


async def review_plan(session: FormulationSession, answer: FormulationAttempt) -> None:
    """Ask for remarks on parts of a plan that may be impractical."""
    if answer.ran.solution is None or not answer.ran.solution.status.has_point:
        return
    plan = escape_text(json.dumps(answer.ran.values, ensure_ascii=False))[:MAX_PLAN]
    prompt = session.fill_prompt("review", plan=plan, objective=answer.ran.objective)
    await session.ask_data("review", prompt, list)


async def write_program(session: FormulationSession) -> FormulationAttempt:
    """Write the program with the required interface from the pool, and run it."""
    return await session.ask_and_run("supervisor_forward", session.fill_prompt("supervisor_forward"))


async def revise_program(session: FormulationSession, feedback: str) -> FormulationAttempt:
    """Revise the program after the newest feedback, and run it."""
    newest = session.newest
    complaint = feedback.strip() + (UNCHANGED if newest.has_failed and _came_back(session) else "")
    prompt = session.fill_prompt("supervisor_backward", program=newest.source.strip(), feedback=complaint)
    return await session.ask_and_run("supervisor_backward", prompt)


def _came_back(session: FormulationSession) -> bool:
    """Return True if the newest program equals the one before it."""
    return len({attempt.source.strip() for attempt in session.attempts[-2:]}) < min(len(session.attempts), 2)


async def diagnose_failure(session: FormulationSession) -> str:
    """Return the error of the newest program with its diagnosis."""
    now = session.newest
    prompt = session.fill_prompt("syntax_analysis", program=now.source.strip() or "(no program)", error=now.error)
    return f"{now.error}\n\n{await session.ask_words('syntax_analysis', prompt)}"


def prompt_checker(session: FormulationSession) -> str:
    """Return the prompt for the author of a checker: the problem, the given data, and the names of the values."""
    return session.fill_prompt(
        "counterfactual",
        values=_describe_values(session),
        parameters=", ".join(session.problem.data) or "none",
        data=describe_data(session.problem.data, session.problem.notes),
    )


async def write_checker(session: FormulationSession) -> None:
    """Ask for a checker, once for all attempts, and check the newest attempt with it.

    The prompt has the problem, the given data and the names of the returned values. It excludes the program and the
    figures of the encoder, so that a misread figure cannot pass the check. A checker that does not run is sent back
    once. If it fails again, the answer counts as unchecked.
    """
    try:
        session.checker = await session.ask_program("counterfactual", prompt_checker(session), "checks")
        checked = (await session.check_newest()).checked
        if (
            checked is not None
            and checked.state is CheckStatus.UNCHECKED
            and checked.note.startswith("the checker does not")
        ):
            again = session.fill_prompt(
                "counterfactual_again",
                values=_describe_values(session),
                data=describe_data(session.problem.data, session.problem.notes),
                checker=session.checker,
                error=checked.note,
            )
            session.checker = await session.ask_program("counterfactual", again, "checks")
            await session.check_newest()
    except ReplyError as problem:
        session.add_note("checks", f"There is no checker: {problem}.")
        await session.check_newest()


async def reconsider_checker(session: FormulationSession, appeal: Citation | None = None) -> None:
    """Ask for the checker again if the program's author keeps the program against a finding.

    The prompt shows only the findings and the comments of the program. With an appeal, findings on which the checker
    insists are disputed.
    """
    checked = session.newest.checked
    assert checked is not None
    comments = [text.strip() for text in session.newest.source.splitlines() if text.strip().startswith("#")]
    if appeal is None:
        rejected = [finding for finding in checked.findings if finding.reason is Reason.FORBIDS]
    else:
        rejected = repeated_findings(session.attempts[-2].checked, checked)
    about = "\n".join(
        f"- {finding.name}: {finding.text}" if appeal else f"- {finding.name}" for finding in rejected[:MAX_REJECTED]
    )
    dispute = session.fill_prompt(
        "counterfactual_dispute",
        values=_describe_values(session),
        data=describe_data(session.problem.data, session.problem.notes),
        checker=session.checker,
        findings=about or "- that point",
        cited="\n".join([*([appeal.text] if appeal else []), *comments])[:MAX_CITED] or "nothing",
    )
    try:
        session.checker = await session.ask_program("counterfactual", dispute, "checks")
    except ReplyError:
        return
    now = (await session.check_newest()).checked
    insisted = repeated_findings(checked, now)
    if now is not None and now.state is not CheckStatus.UNCHECKED:
        names = {(finding.reason, finding.name) for finding in insisted}
        withdrawn = [finding for finding in rejected if (finding.reason, finding.name) not in names]
        cited = appeal or Citation(" ".join(comments), None)
        session.withdrawn = list_disputes(withdrawn, cited, session.problem.text)
    # A finding that is not disputed contradicts the plan as before.
    if appeal is not None and now is not None and len(insisted) == len(now.findings):
        session.disputes = list_disputes(insisted, appeal, session.problem.text)


def read_meanings(facts: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Yield the meaning and unit of each variable by its name, from "name: meaning, unit, kind, bounds"."""
    for entry in map(str, facts):
        name, _, rest = entry.partition(":")
        parts = [part.strip() for part in rest.split(",")]
        kind = next((position for position, part in enumerate(parts) if KINDS.search(part)), None)
        about = ", ".join(filter(None, parts[:kind]))
        if kind and about:
            yield re.split(r"[\[(\s_]", name.strip())[0].lower(), f"; {escape_text(one_line(about, 200))}"


def _describe_values(session: FormulationSession) -> str:
    """Describe the expression and the type of each value, one per line, with its meaning and unit if they are known."""
    facts = session.pool.parsed_of("formalization").get("VARIABLES")
    meanings = dict(read_meanings(facts if isinstance(facts, list) else ()))
    # Missing values of a program without an optimum are described as numbers.
    values = map_leaves(
        session.newest.ran.values, lambda leaf: 0.0 if leaf is None or isinstance(leaf, int | float) else leaf
    )
    parts = values.items() if isinstance(values, dict) else ()
    described = [
        (name, f"{kind}{meanings.get(str(key).lower(), '')}")
        for key, item in parts
        for name, kind in describe_parts(item, f"values[{escape_text(str(key))!r}]")
    ]
    return "\n".join(f"- {name}: {kind}" for name, kind in described or describe_parts(values, "values"))
