"""Verbs of a workspace: build, revise, ask. Each is a recorded case of its study and can be resumed."""

import asyncio
import fnmatch
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import ReplyError, WorkspaceError
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import Study
from oragent.llm.dialogue import ask_until_read
from oragent.llm.model import Message
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.references.figures import format_figure
from oragent.modelling.solving.model_solving import ray
from oragent.programs.replies import extract_json
from oragent.workspace.agent_sessions import BEGIN, NAME, TEMPERATURE, AgentWork, fill_prompt, work_in_session
from oragent.workspace.data_changes import FIGURES
from oragent.workspace.folder import (
    REQUESTS,
    ChangeRequest,
    RequestStatus,
    WorkspaceFolder,
    add_parameters,
)
from oragent.workspace.layout import sha256_of
from oragent.workspace.model_results import ComparisonResult
from oragent.workspace.reading import decode_text, encode_like, list_files, read_bytes
from oragent.workspace.records import describe_conflict, write_record
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.settings import WorkspaceSettings
from oragent.workspace.sources import FolderState, find_program
from oragent.workspace.submission import MAX_FINDINGS, BuildCheck, RevisionCheck, describe_entry
from oragent.workspace.tools import (
    ASK_PERSON,
    SET_CELL,
    TOOLS,
    WRITE_PARAMETERS,
    ToolSession,
    describe_run,
    searchable_text,
)
from oragent.workspace.versions import Versions

# Maximum number of characters of a file in a prompt.
MAX_SHOWN = 20_000
PLAN = "plan.json"
LIBRARIES = (
    "Use PuLP, Pyomo, highspy, OR-Tools, gurobipy, linopy or SciPy, as far as they are installed, for at most {:g} s. "
    "There is no network, and no other process can be started."
)
# Empty plan, if no reply can be read.
NO_PLAN = {"summary": "no plan that can be read came", "rows": [], "data": [], "edits": [], "objective": ""}


@dataclass(frozen=True)
class WorkspaceDraft:
    """Copy of a workspace in which an agent works."""

    folder: Path
    # Blob ids at the beginning, by path.
    base: Mapping[str, str]


@dataclass(frozen=True)
class VerbRunner:
    """Executes the verbs of one workspace."""

    folder: WorkspaceFolder
    study: Study
    versions: Versions
    runner: ProgramRunner
    settings: WorkspaceSettings
    # True to write a revision that does not preserve the former rules.
    accept: bool = False
    # Answers of the person to the agent's questions.
    answers: Sequence[str] = ()

    async def build_program(self, case: LedgerCase) -> dict[str, Any]:
        """Build a program from documents and data; write it if its model has an optimum."""
        draft = self._make_draft(case, await self._read_base(case))
        check = BuildCheck(self.runner, self._state_of(draft.folder), draft.base)
        tools = (*TOOLS, WRITE_PARAMETERS, ASK_PERSON)
        session = ToolSession(
            draft.folder, self.runner, self.settings.code_patterns, tools, check, person_answers=self.answers
        )
        prompt = fill_prompt(
            "builder", place=f"src/{NAME}", track=LIBRARIES.format(self.runner.limits.cpu_s), output=""
        )
        work = await work_in_session(case, "builder", prompt, BEGIN, session)
        await self._check_last(session, work, check)
        result = self._summarise(work, check.run, "build", "")
        if check.run is not None and check.run.has_solution:
            reason = f"built, objective {number(result['objective'])} ({result['standing'] or 'no model'})"
            self._write_draft(case, draft, result, ("builder", reason), check.run)
        return result

    async def revise_program(self, case: LedgerCase, text: str, is_repair: bool = False) -> dict[str, Any]:
        """Plan a revision, make it in a draft, and compare both versions.

        Write it if the former rules are preserved.
        """
        base = await self._read_base(case)
        old = self._state_of(self.folder.folder / ".oragent" / "drafts" / f"{case.name}.before")
        self.versions.write_files(base, old.folder)
        if not self.settings.program and not find_program(old.list_files()):
            raise WorkspaceError("there is no program to revise; 'oragent workspace build' makes one")
        request = ChangeRequest(self._request_path(case, text), RequestStatus.OPEN, text)
        self._write_request(case, request, "request")
        draft = self._make_draft(case, base)
        plan = await self._ask_plan(case, text, old)
        self._prepare(draft, request, plan)
        check = RevisionCheck(
            self.runner, self._state_of(draft.folder), base, old=old, plan=plan, edits_documents=not is_repair
        )
        run_before = await asyncio.to_thread(check.run_old)
        objective = "no objective" if run_before.objective is None else number(run_before.objective)
        prompt = fill_prompt(
            "change",
            request=request.path,
            program=old.program,
            track=LIBRARIES.format(self.runner.limits.cpu_s),
            objective=objective,
        )
        writable = (*self.settings.code_patterns, *self.settings.data_patterns, *self.settings.document_patterns)
        tools = (*TOOLS, SET_CELL, WRITE_PARAMETERS, ASK_PERSON)
        session = ToolSession(draft.folder, self.runner, writable, tools, check, person_answers=self.answers)
        work = await work_in_session(case, "reviser", prompt, BEGIN, session)
        failing = await self._check_last(session, work, check)
        result = self._summarise(work, check.run, "revise", text) | self._compare(check, run_before)
        result["request_path"] = request.path
        if failing or result["missing"]:
            result["end"] = "; ".join(failing) or f"planned edits were not made: {'; '.join(result['missing'])}"
        self._end_revision(case, draft, check, result, request)
        return result

    def _end_revision(
        self,
        case: LedgerCase,
        draft: WorkspaceDraft,
        check: RevisionCheck,
        result: dict[str, Any],
        request: ChangeRequest,
    ) -> None:
        """Write the draft if all checks hold; otherwise keep it for ``--accept``. Set the status of the request."""
        run = check.run
        if run is not None and run.has_solution and not result["missing"]:
            if result["preserved"] is not False or self.accept:
                completed = ChangeRequest(request.path, RequestStatus.DONE, request.text)
                author = ("reviser", str(result["plan"].get("summary") or "revised"))
                self._write_draft(case, draft, result, author, run, completed)
            else:
                result["refused"] = self._keep_refused(case.name, draft)
        if not result["written"]:
            refused = ChangeRequest(request.path, RequestStatus.REFUSED, request.text)
            self._write_request(case, refused, "refused")

    async def accept_revision(self, case: LedgerCase, refused: Mapping[str, Any]) -> dict[str, Any]:
        """Run the program of a refused revision again and write the revision. No model is called.

        ``refused`` is the result of that revision; it contains the ids of the changed contents.
        """
        result = {key: value for key, value in refused.items() if key != "refused"} | {"calls": 0}
        base = dict(await self._read_base(case))
        drafted = dict(base)
        for path, (before, after) in refused["refused"].items():
            drafted.pop(path, None)
            base.pop(path, None)
            drafted |= {path: after} if after is not None else {}
            base |= {path: before} if before is not None else {}
        draft = WorkspaceDraft(self._make_draft(case, drafted).folder, base)
        run = await asyncio.to_thread(self.runner.run, draft.folder, str(result["path"]))
        result |= _describe_result(run)
        if run.has_solution:
            completed = ChangeRequest(str(refused["request_path"]), RequestStatus.DONE, str(refused["request"]))
            reason = f"accepted: {result['plan'].get('summary') or 'revised'}"
            self._write_draft(case, draft, result, ("reviser", reason), run, completed)
            if not result["written"]:
                result["refused"] = refused["refused"]
        else:
            result["end"] = f"{result['end']}; it was solved before"
        return result

    async def answer_question(self, case: LedgerCase, question: str) -> dict[str, Any]:
        """Answer a question with a language model and with citations."""
        draft = self._make_draft(case, await self._read_base(case))
        program = self.settings.program or find_program(list_files(draft.folder))
        tools = (*TOOLS, ASK_PERSON)
        session = ToolSession(draft.folder, self.runner, tools=tools, program=program, person_answers=self.answers)
        prompt = f"{fill_prompt('explainer')}\n{fill_prompt('figures')}"
        work = await work_in_session(case, "explainer", prompt, f"Question: {question}", session)
        answer = await asyncio.to_thread(session.fill_answer, work.answer, question)
        self.folder.write_answer(case.name, f"# {question}\n\n{answer}\n")
        return {
            "verb": "ask",
            "request": question,
            "answer": answer,
            "broken_citations": list(work.broken),
            "revision": self.versions.tip,
            "end": work.end,
            "calls": work.calls,
            "written": True,
            "objective": None,
        }

    def _state_of(self, folder: Path) -> FolderState:
        return FolderState(folder.name, "", folder, self.settings)

    async def _read_base(self, case: LedgerCase) -> dict[str, str]:
        """Return ids of the files as they were when the case first began; a resumed case starts from the same files."""

        async def save_now() -> dict[str, str]:
            files = self.folder.list_files()
            patterns = self.settings.task_patterns
            paths = [path for path in files if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)]
            return self.versions.save_files(self.folder.folder, paths)

        return dict(await self.study.run_once(case, "files", save_now))

    def _make_draft(self, case: LedgerCase, base: Mapping[str, str]) -> WorkspaceDraft:
        folder = self.folder.draft_folder(case.name)
        self.versions.write_files(base, folder)
        return WorkspaceDraft(folder, base)

    def _prepare(self, draft: WorkspaceDraft, request: ChangeRequest, plan: Mapping[str, Any]) -> None:
        """Write the request, the plan and new figures into a draft."""
        new = [entry for entry in plan["data"] if isinstance(entry, dict)]
        contents = {
            request.path: request.text.encode("utf-8", "replace"),
            PLAN: f"{json.dumps(plan, indent=1, ensure_ascii=False)}\n".encode(),
        }
        if new and (FIGURES in draft.base or not self.settings.data):
            old = read_bytes(draft.folder / FIGURES) if FIGURES in draft.base else b""
            contents[FIGURES] = encode_like(add_parameters(decode_text(old, FIGURES), new), old)
        for path, content in contents.items():
            (draft.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (draft.folder / path).write_bytes(content)

    async def _check_last(self, session: ToolSession, work: AgentWork, check: BuildCheck) -> tuple[str, ...]:
        """Check a program that was written but not submitted; return the errors that prevent writing it."""
        if session.submitted is not None or not work.path:
            return ()
        return (await asyncio.to_thread(check, work.path)).errors

    def _keep_refused(self, name: str, draft: WorkspaceDraft) -> dict[str, list[str | None]]:
        """Store the files of a refused draft; return blob ids before and after by path."""
        changed = self._changed_files(draft)
        pairs = {path: [draft.base.get(path), after] for path, after in changed.items()}
        both = {f"after/{path}": after for path, (_, after) in pairs.items() if after}
        both |= {f"before/{path}": before for path, (before, _) in pairs.items() if before}
        self.versions.keep_contents(name, both)
        return pairs

    def _changed_files(self, draft: WorkspaceDraft) -> dict[str, str | None]:
        """Return the new blob ids of a draft by path; None for a deleted file."""
        files = self._state_of(draft.folder).list_files()
        paths = [path for path in files if path != PLAN and not path.startswith(f"{REQUESTS}/")]
        present = self.versions.save_files(draft.folder, paths)
        changed: dict[str, str | None] = {path: blob for path, blob in present.items() if draft.base.get(path) != blob}
        return changed | dict.fromkeys(path for path in draft.base if path not in present)

    async def _ask_plan(self, case: LedgerCase, request: str, old: FolderState) -> dict[str, Any]:
        files = old.list_files()
        files_text = "".join(f"=== {path}\n{_bounded_text(path, file)}\n" for path, file in files.items())
        answer = await ask_until_read(
            lambda messages, _: case.ask("planner", messages, TEMPERATURE),
            [Message("user", fill_prompt("plan", request=request, files=files_text))],
            lambda text: _parse_plan(extract_json(text)),
        )
        return answer.value or dict(NO_PLAN)

    def _summarise(self, work: AgentWork, run: ProgramRun | None, verb: str, request: str) -> dict[str, Any]:
        summary = {"path": work.path, "calls": work.calls, "end": work.end}
        return summary | _describe_result(run) | {"verb": verb, "request": request, "written": False}

    def _compare(self, check: RevisionCheck, run_before: ProgramRun) -> dict[str, Any]:
        """Return the part of a result that compares the two versions."""
        comparison = check.comparison
        planned, unplanned = check.edits
        entries = comparison.entries if comparison else ()
        return {
            "plan": dict(check.plan),
            "before": run_before.objective if run_before.has_solution else None,
            "change": _describe_gap(comparison),
            "preserved": check.preserved,
            "differences": [*check.missing_rows(), *map(describe_entry, entries[:MAX_FINDINGS])],
            "data_edits": [str(edit) for edit in planned[:MAX_FINDINGS]],
            "unplanned_edits": [str(edit) for edit in unplanned[:MAX_FINDINGS]],
            "missing": list(check.missing),
            "comparison": comparison.model_dump(mode="json") if comparison else None,
        }

    def _write_draft(
        self,
        case: LedgerCase,
        draft: WorkspaceDraft,
        result: dict[str, Any],
        author_and_reason: tuple[str, str],
        run: ProgramRun,
        request: ChangeRequest | None = None,
    ) -> None:
        """Write the changes of a draft into the workspace as one version; files that the user changed since are kept.

        The result states whether the draft was written, or which files the user changed since the verb began.
        """
        changed = self._changed_files(draft)
        files = self.folder.list_files()
        now = self.versions.save_files(self.folder.folder, [path for path in changed if path in files])
        result["clashes"] = [path for path, new in changed.items() if now.get(path) not in (draft.base.get(path), new)]
        result["draft"] = str(draft.folder)
        if not result["clashes"]:
            contents: dict[str, str | bytes | None] = {
                path: self.versions.read_content(blob) for path, blob in changed.items()
            }
            if request is not None:
                contents[request.path] = request.render()
            self.versions.write_version(contents, *author_and_reason, verb=case.name)
            write_record(self.folder.folder, run, self.folder.list_files())
            result["written"] = True

    def _write_request(self, case: LedgerCase, request: ChangeRequest, author: str) -> None:
        reason = f"request {case.name}" if author == "request" else f"{case.name} was not written"
        self.versions.write_version({request.path: request.render()}, "request", reason, verb=case.name)

    @staticmethod
    def _request_path(case: LedgerCase, text: str) -> str:
        """Return the path of a request, which differs between clones with different requests of the same number."""
        return f"{REQUESTS}/{case.name}-{sha256_of(text.encode('utf-8', 'replace'))[:6]}.md"


def _describe_result(run: ProgramRun | None) -> dict[str, Any]:
    """Return the entries of a result for the program of a draft.

    The reason for its end is given only without an objective.
    """
    if run is None:
        return {"objective": None, "standing": "", "run": "no program was left"}
    entries = {
        "objective": run.objective if run.has_solution else None,
        "standing": run.standing,
        "run": describe_run(run),
    }
    if run.has_solution:
        return entries
    last = run.last_model
    if last is None or last.milp is None or last.solution is None or last.has_point:
        return entries | {"end": "the program of the draft has no result"}
    status = last.solution.status
    conflict = list(describe_conflict(last.milp)) if status is SolveStatus.INFEASIBLE else []
    return entries | {
        "end": f"the model of the draft is {last.solution.standing}",
        "standing": str(status),
        "conflict": conflict,
    }


def _describe_gap(comparison: ComparisonResult | None) -> str:
    """Describe how far the change of the optimum is proven; empty if both optima are proven."""
    if comparison is None or comparison.objective.difference.is_exact:
        return ""
    change = comparison.objective.difference
    if (change.low is None or change.low <= 0) and (change.high is None or change.high >= 0):
        return f"no change is shown, as the difference lies within the gap: {format_figure(change)}"
    return f"the optimum changes by {format_figure(change)}"


def failure_request(ran: ProgramRun) -> str:
    """Describe how to correct a failed run; for an infeasible model, name the conflicting rows."""
    last = ran.last_model
    if ran.has_solution:
        raise WorkspaceError(
            "the program runs and its model has a solution, so nothing needs a correction; use --request"
        )
    mend = "Mend the program or, where the figures are wrong, say so. What was seen:"
    lines = ["# The last run failed", "", mend, "", describe_run(ran)]
    if last is not None and last.milp is not None and last.solution is not None and not last.has_point:
        status = last.solution.status
        lines += ["", f"The model is {status}. {last.solution.note}".rstrip()]
        if status is SolveStatus.INFEASIBLE:
            lines += describe_conflict(last.milp)
        elif status is SolveStatus.UNBOUNDED:
            steps = list((ray(last.milp) or {}).items())
            lines += [f"- without end: {quoted(name)} by {number(step)}" for name, step in steps[:20]]
    return "\n".join(lines) + "\n"


def _bounded_text(path: str, file: Path) -> str:
    """Return the beginning of a file for a prompt; a remark if the file is not a text."""
    try:
        text = searchable_text(path, read_bytes(file))
    except WorkspaceError as problem:
        return f"({problem})"
    if len(text) <= MAX_SHOWN:
        return text
    beginning = text[:MAX_SHOWN]
    shown = beginning[: beginning.rfind("\n") + 1] or beginning
    return f"{shown}... {text.count(chr(10)) - shown.count(chr(10))} more lines"


def _parse_plan(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReplyError("the plan is no JSON object; answer with summary, rows, data, edits and objective")
    plan = {"summary": str(value.get("summary") or "")[:300], "objective": str(value.get("objective") or "")[:300]}
    lists = {name: value.get(name) or [] for name in ("rows", "data", "edits")}
    if not all(isinstance(entries, list) for entries in lists.values()):
        raise ReplyError("rows, data and edits of the plan must be lists of objects")
    return {**plan, **{name: entries[:100] for name, entries in lists.items()}}
