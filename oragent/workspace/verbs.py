"""Verbs of a workspace: build, revise, ask; each is a recorded case of its study, so that it can be resumed."""

import asyncio
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import ReplyError, WorkspaceError
from oragent._base.text_format import one_line
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import Study
from oragent.llm.dialogue import ask_until_read
from oragent.llm.model import Message
from oragent.milp.explanation import explain
from oragent.milp.plain import number
from oragent.milp.solution import SolveStatus
from oragent.programs.replies import extract_json
from oragent.workspace import tables
from oragent.workspace.citations import check_citations
from oragent.workspace.comparing import list_changes
from oragent.workspace.data_edits import MOST_EDITS, list_edits, split_edits
from oragent.workspace.folder import (
    RECORDS,
    WorkspaceFolder,
    add_parameters,
    row_figures,
    with_values,
    write_records_of,
)
from oragent.workspace.objective import describe_change, find_change_span, is_within_tolerance
from oragent.workspace.reading import decode_text, encode_like, list_files, read_bytes
from oragent.workspace.records import are_stale, describe_conflict
from oragent.workspace.roles import BEGIN, NAME, TEMPERATURE, AgentWork, fill_prompt, track_text, work_in_session
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.sources import find_program
from oragent.workspace.tools import ToolSession, describe_run
from oragent.workspace.versions import Versions

FIGURES = f"data/{tables.PARAMETERS_FILE}"
PRESERVED = 1e-4
# Maximum number of differences that are stored.
MOST = 40
# Maximum number of characters of a file in a prompt.
MOST_SHOWN = 20_000


@dataclass(frozen=True)
class VerbRunner:
    """The verbs of one workspace."""

    folder: WorkspaceFolder
    study: Study
    versions: Versions
    runner: ProgramRunner
    # Whether to write a revision that does not preserve the former rules.
    accept: bool = False

    @property
    def _track_text(self) -> str:
        return track_text(seconds=self.runner.limits.cpu_s)

    async def build_program(self, case: LedgerCase) -> dict[str, Any]:
        """Build a program from documents and data; write it if its model has an optimum."""
        contents = await self._read_contents(case)
        draft = self.folder.write_draft(case.name, contents)
        session = ToolSession(draft, self.runner, ("src",))
        prompt = fill_prompt("builder", place=f"src/{NAME}", track=self._track_text)
        agent_work = await work_in_session(case, "builder", prompt, BEGIN, session)
        program_run = await self._run_submission(draft, agent_work.path)
        result = self._summarise(agent_work, program_run, "build", "")
        if program_run is not None and program_run.has_solution:
            reason = f"built, objective {number(result['objective'])} ({result['standing'] or 'no model'})"
            self._write_draft(case, session, contents, result, ("builder", reason), program_run)
        return result

    async def revise_program(self, case: LedgerCase, request: str) -> dict[str, Any]:
        """Plan a revision, make it in a draft, compare both versions, and write it if it preserves the former rules."""
        contents = await self._read_contents(case)
        path = self._request_path(case, request)
        self.versions.write_version({path: request.rstrip() + "\n"}, "request", f"request {case.name}", verb=case.name)
        contents[path] = f"{request.rstrip()}\n".encode()
        draft = self.folder.write_draft(case.name, contents)
        program = find_program(list_files(draft))
        if not program:
            raise WorkspaceError("there is no program to revise; 'oragent workspace build' makes one")
        run_before = await asyncio.to_thread(self.runner.run, draft, program)
        plan = await self._ask_plan(case, request, contents)
        new_parameters = [parameter for parameter in plan["data"] if isinstance(parameter, dict)]
        figures = contents.get(FIGURES, b"")
        table = encode_like(add_parameters(decode_text(figures, FIGURES), new_parameters), figures)
        session = ToolSession(draft, self.runner, ("src", "data"))
        plan_text = json.dumps(plan, indent=1, ensure_ascii=False) + "\n"
        for name, content in ((FIGURES, table), ("plan.json", plan_text.encode())):
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_bytes(content)
        value = run_before.printed_objective.value
        if value is None:
            objective = "no objective"
        else:
            objective = number(value)
        prompt = fill_prompt("change", request=path, program=program, track=self._track_text, objective=objective)
        agent_work = await work_in_session(case, "reviser", prompt, BEGIN, session)
        run_after = await self._run_submission(draft, agent_work.path)
        result = self._summarise(agent_work, run_after, "revise", request) | {"plan": plan}
        result["before"] = _objective_of(run_before)
        result["change"] = _describe_gap(run_before, run_after)
        result["rows_before"] = row_figures(run_before)
        result["differences"] = [*_missing_rows(plan, run_after), *_describe_differences(run_before, run_after)]
        result["data_edits"], result["unplanned_edits"] = _list_data_edits(session, contents, plan)
        neutral = _neutral_values(new_parameters)
        result["preserved"] = await self._check_preservation(draft, agent_work.path, neutral, contents, run_before)
        if run_after is None or not run_after.has_solution:
            return result
        if result["preserved"] is not False or self.accept:
            self._write_draft(case, session, contents, result, ("reviser", plan["summary"] or "revised"), run_after)
        else:
            result["refused"] = self._keep_refused(case.name, contents, _changed_contents(session, contents))
        return result

    async def accept_revision(self, case: LedgerCase, refused: Mapping[str, Any]) -> dict[str, Any]:
        """Run the program of a refused revision again, and write the revision; no model is called.

        ``refused`` is the result of that revision, which names the changed contents.
        """
        result = {key: value for key, value in refused.items() if key != "refused"} | {"calls": 0}
        contents = await self._read_contents(case)
        drafted = dict(contents)
        for path, (before, after) in refused["refused"].items():
            drafted[path] = self.versions.read_content(after) or b""
            contents.pop(path, None)
            if before is not None:
                contents[path] = self.versions.read_content(before) or b""
        session = ToolSession(self.folder.write_draft(case.name, drafted), self.runner)
        run_after = await asyncio.to_thread(self.runner.run, session.folder, str(result["path"]))
        result |= _describe_result(run_after)
        if run_after.has_solution:
            reason = f"accepted: {result['plan'].get('summary') or 'revised'}"
            self._write_draft(case, session, contents, result, ("reviser", reason), run_after)
            if not result["written"]:
                result["refused"] = refused["refused"]
        else:
            result["end"] = f"{result['end']}; it was solved before"
        return result

    async def answer_question(self, case: LedgerCase, question: str) -> dict[str, Any]:
        """Answer a question with a language model and with citations."""
        draft = self.folder.write_draft(case.name, await self._read_contents(case, answers=True))
        session, prompt = ToolSession(draft, self.runner), fill_prompt("explainer")
        agent_work = await work_in_session(case, "explainer", prompt, f"Question: {question}", session)
        answer_text = agent_work.answer
        broken = [str(citation) for citation in check_citations(answer_text, list_files(draft))]
        self.folder.write_answer(case.name, f"# {question}\n\n{answer_text}\n")
        return {
            "verb": "ask",
            "request": question,
            "answer": answer_text,
            "broken_citations": broken,
            "end": agent_work.end,
            "calls": agent_work.calls,
            "written": True,
            "objective": None,
        }

    async def _read_contents(self, case: LedgerCase, answers: bool = False) -> dict[str, bytes]:
        """Return the files as they were when the case first began; a resumed case starts from the same files."""

        async def save_now() -> dict[str, str]:
            contents = self.folder.read_contents("docs", "data", "src")
            if answers and not are_stale(self.folder.list_files()):
                contents |= self.folder.read_contents(*(name.rstrip("/") for name in RECORDS))
            return {path: self.versions.save_content(content) for path, content in contents.items()}

        hashes: dict[str, str] = await self.study.run_once(case, "files", save_now)
        return {path: self.versions.read_content(name) or b"" for path, name in hashes.items()}

    def _keep_refused(
        self, name: str, contents: Mapping[str, bytes], changed: Mapping[str, bytes]
    ) -> dict[str, list[str | None]]:
        """Store the files of a refused draft; return ids of contents before and after by path."""
        after = {path: self.versions.save_content(content) for path, content in changed.items()}
        before = {path: self.versions.save_content(contents[path]) for path in changed if path in contents}
        both = {
            f"{side}/{path}": blob for side, ids in (("before", before), ("after", after)) for path, blob in ids.items()
        }
        self.versions.keep_contents(name, both)
        return {path: [before.get(path), after[path]] for path in changed}

    async def _run_submission(self, draft: Path, program: str) -> ProgramRun | None:
        if program:
            return await asyncio.to_thread(self.runner.run, draft, program)
        return None

    async def _ask_plan(self, case: LedgerCase, request: str, contents: Mapping[str, bytes]) -> dict[str, Any]:
        files_text = "".join(f"=== {path}\n{_bounded_text(path, content)}\n" for path, content in contents.items())
        answer = await ask_until_read(
            lambda messages, _: case.ask("planner", messages, TEMPERATURE),
            [Message("user", fill_prompt("plan", request=request, files=files_text))],
            lambda text: _parse_plan(extract_json(text)),
        )
        return answer.value or {
            "summary": "no plan that can be read came",
            "rows": [],
            "data": [],
            "edits": [],
            "objective": "",
        }

    async def _check_preservation(
        self, draft: Path, program: str, neutral: Mapping[str, str], contents: Mapping[str, bytes], before: ProgramRun
    ) -> bool | None:
        """Test whether the former optimum holds at the plan's neutral values; return None if the plan has none.

        Existing figures get their former values, because a request may change them. The test first resets the parameter
        table and all other tables. If the program needs additions in other tables, it resets only the parameter table.
        """
        value = before.printed_objective.value
        if not neutral or value is None or not program:
            return None
        former = tables.read_table(decode_text(contents.get(FIGURES, b""), FIGURES)).table
        if former:
            values = {row[0].strip(): row[1] for row in former.rows if len(row) > 1}
        else:
            values = {}
        table = with_values(decode_text(read_bytes(draft / FIGURES), FIGURES), {**neutral, **values})
        others = {path: text for path, text in contents.items() if path.startswith("data/") and path != FIGURES}
        changed = any(read_bytes(file) != others[path] for path, file in list_files(draft).items() if path in others)
        trials: list[dict[str, str | bytes]] = [{FIGURES: table, **others}] if changed else []
        trials.append({FIGURES: table})
        for files in trials:
            run = await asyncio.to_thread(self.runner.run, draft, program, files)
            tolerance = PRESERVED + _run_gap(before) + _run_gap(run)
            after = run.printed_objective.value
            if after is not None and is_within_tolerance(after, value, tolerance):
                return True
        return False

    def _summarise(self, agent_work: AgentWork, run: ProgramRun | None, verb: str, request: str) -> dict[str, Any]:
        summary = {"path": agent_work.path, "calls": agent_work.calls, "end": agent_work.end}
        return summary | _describe_result(run) | {"verb": verb, "request": request, "written": False}

    def _write_draft(
        self,
        case: LedgerCase,
        session: ToolSession,
        contents: Mapping[str, bytes],
        result: dict[str, Any],
        author_and_reason: tuple[str, str],
        run: ProgramRun,
    ) -> None:
        """Write the changes of a draft into the workspace as one version; files that the user changed since are kept.

        The result states whether the draft was written, or which files the user changed since the verb began.
        """
        changed = _changed_contents(session, contents)
        now = {path: self.versions.read_file(path) for path in changed}
        result["clashes"] = [path for path, new in changed.items() if now[path] not in (contents.get(path), new)]
        result["draft"] = str(session.folder)
        if not result["clashes"]:
            self.versions.write_version(changed, *author_and_reason, verb=case.name)
            write_records_of(self.folder, run, session.list_files())
            result["written"] = True

    def _request_path(self, case: LedgerCase, request: str) -> str:
        """Return the path for a request: an unused name, or the file that already contains the request."""
        text, path, count = f"{request.rstrip()}\n".encode(), f"docs/{case.name}.md", 1
        while self.versions.read_file(path) not in (None, text):
            count += 1
            path = f"docs/{case.name}-{count}.md"
        return path


def _describe_result(run: ProgramRun | None) -> dict[str, Any]:
    """Return the result entries for the program of a draft; with an end reason only if there is no objective."""
    if run is None:
        return {"objective": None, "standing": "", "run": "no program was left", "rows": {}}
    entries = {
        "objective": _objective_of(run),
        "standing": run.standing,
        "run": describe_run(run),
        "rows": row_figures(run),
    }
    if run.has_solution:
        return entries
    last = run.last_model
    if last is None or last.milp is None or last.solution is None or last.solution.status.has_point:
        return entries | {"end": "the program of the draft printed no result"}
    status = last.solution.status
    if status is SolveStatus.INFEASIBLE:
        conflict = list(describe_conflict(last.milp))
    else:
        conflict = []
    return entries | {
        "end": f"the model of the draft is {last.solution.standing}",
        "standing": str(status),
        "conflict": conflict,
    }


def _objective_of(run: ProgramRun) -> float | None:
    """Return the printed objective; None if its model has no point."""
    if run.has_solution:
        return run.printed_objective.value
    return None


def _describe_gap(run_before: ProgramRun, run_after: ProgramRun | None) -> str:
    """Describe how far the change of the optimum is proven; empty if both optima are proven."""
    if run_after is None or not (run_before.standing and run_after.standing):
        return ""
    old, new = (run.last_model.solution if run.last_model else None for run in (run_before, run_after))
    if find_change_span(old, new) is not None:
        return describe_change(old, new)
    return ""


def _list_data_edits(
    session: ToolSession, contents: Mapping[str, bytes], plan: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    drafted = {path: read_bytes(place) for path, place in session.list_files().items()}
    files = [
        {path: content for path, content in each.items() if path.startswith("data/")} for each in (contents, drafted)
    ]
    planned, unplanned = split_edits(list_edits(*files), plan)
    return [str(edit) for edit in planned[:MOST_EDITS]], [str(edit) for edit in unplanned[:MOST_EDITS]]


def _changed_contents(session: ToolSession, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the new or changed files of a draft by path."""
    drafted = {path: read_bytes(place) for path, place in session.list_files().items() if path != "plan.json"}
    return {path: content for path, content in drafted.items() if contents.get(path) != content}


def _neutral_values(new_parameters: list[dict[str, Any]]) -> dict[str, str]:
    return {
        str(parameter["name"]).strip(): str(parameter["neutral"])
        for parameter in new_parameters
        if parameter.get("name") and _is_number(parameter.get("neutral"))
    }


def failure_request(ran: ProgramRun) -> str:
    """Describe the correction that a failed run needs; for an infeasible model, name the conflicting rows."""
    last = ran.last_model
    if ran.has_solution:
        raise WorkspaceError("the program runs and its model has a solution: there is nothing to mend; use --request")
    mend = "Mend the program or, where the figures are wrong, say so. What was seen:"
    lines = ["# The last run failed", "", mend, "", describe_run(ran)]
    if last is not None and last.milp is not None and last.solution is not None and not last.solution.status.has_point:
        is_infeasible = last.solution.status is SolveStatus.INFEASIBLE
        remarks = (f"- {remark.text}" for remark in explain(last.milp, last.solution, 20.0)[:20])
        lines += ["", *(describe_conflict(last.milp) if is_infeasible else remarks)]
    return "\n".join(lines) + "\n"


def _run_gap(ran: ProgramRun) -> float:
    """Return the relative gap of a run's objective; 0 if it is proven."""
    if ran.last_model:
        solution = ran.last_model.solution
    else:
        solution = None
    if solution and solution.status is SolveStatus.FEASIBLE:
        return solution.gap or 0.0
    return 0.0


def _describe_differences(run_before: ProgramRun, run_after: ProgramRun | None) -> list[str]:
    old, new = run_before.last_model, run_after.last_model if run_after else None
    if old is None or new is None or old.milp is None or new.milp is None:
        return []
    return list(list_changes(old.milp, new.milp))[:MOST]


def _missing_rows(plan: Mapping[str, Any], run_after: ProgramRun | None) -> list[str]:
    """Describe the rows that a plan adds but the revised program does not contain under that name."""
    if run_after:
        model = run_after.last_model
    else:
        model = None
    if model is None or model.milp is None:
        return []
    names = [_comparable_name(row.name) for row in model.milp.rows]
    planned = [str(row.get("name", "")) for row in plan["rows"] if isinstance(row, dict) and row.get("change") == "add"]
    missing = [name for name in planned if not any(f"{row}_".startswith(f"{_comparable_name(name)}_") for row in names)]
    return [f"the plan adds {one_line(name, 60)!r}, and no row of the program has this name" for name in missing[:MOST]]


def _comparable_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()


def _bounded_text(path: str, content: bytes) -> str:
    """Return the beginning of a file for a prompt; empty for a file that is not a text."""
    try:
        text = decode_text(content, path)
    except WorkspaceError as problem:
        return f"({problem})"
    if len(text) <= MOST_SHOWN:
        return text
    shown = text[: text.rfind("\n", 0, MOST_SHOWN) + 1] or text[:MOST_SHOWN]
    return f"{shown}... {text.count(chr(10)) - shown.count(chr(10))} more lines"


def _parse_plan(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReplyError("the plan is no JSON object; answer with summary, rows, data, edits and objective")
    plan = {"summary": str(value.get("summary") or "")[:300], "objective": str(value.get("objective") or "")[:300]}
    lists = {name: value.get(name) or [] for name in ("rows", "data", "edits")}
    if not all(isinstance(entries, list) for entries in lists.values()):
        raise ReplyError("rows, data and edits of the plan must be lists of objects")
    return {**plan, **{name: entries[:100] for name, entries in lists.items()}}


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(str(value)))
    except ValueError:
        return False
