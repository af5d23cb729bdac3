"""What is done in a person's workspace: build, revise, ask; each a case of its study, so that a kill loses nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oragent._base.errors import ReplyError, WorkspaceError
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import Study
from oragent.llm.model import Message
from oragent.milp.explanation import explain
from oragent.milp.plain import number
from oragent.milp.solution import SolveStatus
from oragent.programs.replies import extract_json
from oragent.workspace import explaining, facts, parameters
from oragent.workspace.attempts import StopReason, passes
from oragent.workspace.citations import check
from oragent.workspace.comparing import compared
from oragent.workspace.folder import RECORDS, Home, add_parameters, plain_json, records_for, rows_of, with_values
from oragent.workspace.reading import decode, finite, read_bytes, shown, walk
from oragent.workspace.records import are_stale
from oragent.workspace.roles import BEGIN, NAME, TEMPERATURE, AgentWork, fill, track_text, worked
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tools import ToolSession, described
from oragent.workspace.versions import Versions

FIGURES = f"data/{parameters.FILE}"
PRESERVED = 1e-4
MOST = 40  # differences that are kept


@dataclass(frozen=True)
class Verbs:
    """The verbs of one workspace.

    Attributes:
        home: The workspace.
        study: Its study.
        versions: Its versions.
        runner: Runner of programs.
        accept: Whether a revision whose preservation fails is written all the same.
    """

    home: Home
    study: Study
    versions: Versions
    runner: ProgramRunner
    accept: bool = False

    @property
    def _track_text(self) -> str:
        return track_text(seconds=self.runner.limits.cpu_s)

    async def build(self, case: LedgerCase) -> dict[str, Any]:
        """Build a program from documents and data, and write it if its model has an optimum."""
        texts = await self._texts(case)
        draft = self.home.draft(case.name, texts)
        desk = ToolSession(draft, self.runner, ("src",))
        told = fill("builder", place=f"src/{NAME}", track=self._track_text)
        done = await worked(case, "builder", told, BEGIN, desk)
        ran = await self._ran(desk, done)
        found = self._result(done, ran) | {"verb": "build", "request": "", "written": False}
        if _works(ran):
            reason = f"built, objective {number(found['objective'])} ({found['standing'] or 'no model'})"
            self._write(case, desk, texts, found, ("builder", reason), ran)
        return found

    async def revise(self, case: LedgerCase, request: str) -> dict[str, Any]:
        """Plan a revision, do it in a draft, compare both versions, and write it if it holds.

        Args:
            case: Its case.
            request: What is to change.
        """
        texts = await self._texts(case)
        path = self._request_path(case, request)
        self.versions.write({path: request.rstrip() + "\n"}, "request", f"request {case.name}", verb=case.name)
        texts[path] = request.rstrip() + "\n"
        draft = self.home.draft(case.name, texts)
        program = facts.main_program(walk(draft))
        if not program:
            raise WorkspaceError("there is no program to revise; 'oragent workspace build' makes one")
        before = await asyncio.to_thread(self.runner.run, draft, program)
        plan = await self._plan(case, request, texts)
        new = [one for one in plan["data"] if isinstance(one, dict)]
        table = add_parameters(texts.get(FIGURES, ""), new)
        desk = ToolSession(draft, self.runner, ("src", "data"))
        for name, text in ((FIGURES, table), ("plan.json", plain_json(plan))):
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8")
        old = "no objective" if before.printed.value is None else number(before.printed.value)
        told = fill("change", request=path, program=program, track=self._track_text, objective=old)
        done = await worked(case, "reviser", told, BEGIN, desk)
        after = await self._ran(desk, done)
        found = self._result(done, after) | {"verb": "revise", "request": request, "plan": plan, "written": False}
        found["before"] = before.printed.value
        found["rows_before"] = rows_of(before)
        found["differences"] = _differences(before, after)
        found["preserved"] = await self._preserved(desk, done, new, before)
        if _works(after) and (found["preserved"] is not False or self.accept):
            self._write(case, desk, texts, found, ("reviser", str(plan.get("summary") or "revised")), after)
        return found

    async def ask(self, case: LedgerCase, question: str, model: bool) -> dict[str, Any]:
        """Answer a question with citations, by a model or from records alone.

        Args:
            case: Its case.
            question: The question.
            model: Whether a language model answers.
        """
        texts = await self._texts(case, answers=True)
        draft = self.home.draft(case.name, texts)
        if model:
            done = await worked(
                case, "explainer", fill("explainer"), f"Question: {question}", ToolSession(draft, self.runner)
            )
            said = done.answer
        else:
            files = walk(draft)
            known = await asyncio.to_thread(facts.known, draft, files, self.runner)
            said = await asyncio.to_thread(explaining.answer, known, question, self.runner)
            done = AgentWork(answer=said, end="answered from records")
        broken = [str(one) for one in check(said, walk(draft))]
        answer = {f"answers/{case.name}.md": f"# {question}\n\n{said}\n"}
        self.versions.write(answer, "explainer", shown(question, 120), verb=case.name)
        return {"verb": "ask", "request": question, "answer": said, "broken_citations": broken, "end": done.end,
                "calls": done.calls, "written": True, "objective": None}  # fmt: skip

    async def _texts(self, case: LedgerCase, answers: bool = False) -> dict[str, str]:
        """The files as they were when the case first began: after a kill it begins there again."""

        async def now() -> dict[str, str]:
            records = {}
            if answers:
                stale = are_stale(self.home.files())
                places = {path: place for path, place in self.home.files().items()
                          if path.startswith(RECORDS) and not stale}  # fmt: skip
                records = {path: decode(read_bytes(place), path) for path, place in places.items()}
            return {**self.home.snapshot(), **records}

        found: dict[str, str] = await self.study.once(case, "texts", now)
        return found

    async def _ran(self, desk: ToolSession, done: AgentWork) -> ProgramRun | None:
        if not done.path:
            return None
        return await asyncio.to_thread(self.runner.run, desk.folder, done.path)

    async def _plan(self, case: LedgerCase, request: str, texts: Mapping[str, str]) -> dict[str, Any]:
        told = "".join(f"=== {path}\n{text}\n" for path, text in texts.items())
        messages = [Message("user", fill("plan", request=request, files=told))]
        for _ in range(2):
            reply = await case.ask("planner", messages, TEMPERATURE)
            try:
                return _plan_of(extract_json(reply.text))
            except ReplyError as problem:
                messages += [Message("assistant", reply.text), Message("user", f"This cannot be used: {problem}.")]
        return {"summary": "no plan that can be read came", "rows": [], "data": [], "objective": ""}

    async def _preserved(
        self, desk: ToolSession, done: AgentWork, new: list[dict[str, Any]], before: ProgramRun
    ) -> bool | None:
        """Whether at the plan's neutral values the optimum is the one before; None where there are none."""
        neutral = {str(one["name"]): str(one["neutral"]) for one in new
                   if one.get("name") and finite(_number(one.get("neutral"))) is not None}  # fmt: skip
        value = before.printed.value
        if not neutral or value is None or not done.path:
            return None
        table = decode(read_bytes(desk.folder / FIGURES), FIGURES)
        ran = await asyncio.to_thread(
            self.runner.run, desk.folder, done.path, {FIGURES: with_values(table, neutral)}
        )  # fmt: skip
        return ran.printed.value is not None and passes(ran.printed.value, value, PRESERVED + _gap(before) + _gap(ran))

    def _result(self, done: AgentWork, ran: ProgramRun | None) -> dict[str, Any]:
        return {
            "path": done.path, "calls": done.calls, "end": done.end,
            "objective": None if ran is None else ran.printed.value,
            "standing": "" if ran is None else ran.standing,
            "run": "no program was left" if ran is None else described(ran),
            "rows": {} if ran is None else rows_of(ran),
        }  # fmt: skip

    def _write(
        self,
        case: LedgerCase,
        desk: ToolSession,
        texts: Mapping[str, str],
        found: dict[str, Any],
        why: tuple[str, str],
        ran: ProgramRun | None,
    ) -> None:
        """Bring what was changed in a draft into the workspace, as one version; never over what a person changed since.

        Args:
            case: Case of the verb.
            desk: Desk with the draft.
            texts: Files as they were when the verb began.
            found: Result of the verb; whether it was written goes into it, or which files a person changed meanwhile.
            why: Author and reason.
            ran: Run of the draft, whose records are written with it.
        """
        files = {path: decode(read_bytes(place), path) for path, place in desk.files().items() if path != "plan.json"}
        changed = {path: text for path, text in files.items() if texts.get(path) != text}
        now = {path: self.versions.on_disk(path) for path in changed}
        texts_now = {path: None if content is None else decode(content, path) for path, content in now.items()}
        found["clashes"] = [path for path, text in changed.items() if texts_now[path] not in (texts.get(path), text)]
        found["draft"] = str(desk.folder)
        if not found["clashes"]:
            records: dict[str, str | None] = (
                {} if ran is None else records_for(self.home, self.versions, ran, desk.files())
            )
            self.versions.write({**changed, **records}, *why, verb=case.name)
            found["written"] = True

    def _request_path(self, case: LedgerCase, request: str) -> str:
        """Where a request is written: a name that is free, or has the request already."""
        text, path, count = f"{request.rstrip()}\n".encode(), f"docs/{case.name}.md", 1
        while self.versions.on_disk(path) not in (None, text):
            count += 1
            path = f"docs/{case.name}-{count}.md"
        return path


def failure_request(ran: ProgramRun) -> str:
    """What a run that failed asks for, in words; of an infeasible model with the rows that cannot hold together.

    Raises:
        WorkspaceError: if the run did not fail.
    """
    last = ran.last
    if _works(ran):
        raise WorkspaceError("the program runs and its model has a solution: there is nothing to mend; use --request")
    lines = [
        "# The last run failed",
        "",
        "Mend the program or, where the figures are wrong, say so. What was seen:",
        "",
    ]
    lines.append(described(ran))
    if last is not None and last.milp is not None and last.solution is not None and not last.solution.status.has_point:
        lines += ["", *(f"- {remark.text}" for remark in explain(last.milp, last.solution, 20.0)[:20])]
    return "\n".join(lines) + "\n"


def _works(ran: ProgramRun | None) -> bool:
    """Whether a run ended well: an objective was printed, and the model behind it, where there is one, has a point."""
    if ran is None or ran.stop is not StopReason.ENDED or ran.printed.value is None:
        return False
    return ran.attempt.status in {"", "optimal", "feasible"}


def _gap(ran: ProgramRun) -> float:
    """How far a run's objective may be from the best, relative; 0 where it is proven."""
    solution = ran.last.solution if ran.last else None
    return (solution.gap or 0.0) if solution and solution.status is SolveStatus.FEASIBLE else 0.0


def _differences(before: ProgramRun, after: ProgramRun | None) -> list[str]:
    old, new = before.last, after.last if after else None
    if old is None or new is None or old.milp is None or new.milp is None:
        return []
    names = {row.name for row in old.milp.rows}
    found = [f"new row: {shown(row.name)}" for row in new.milp.rows if row.name not in names]
    return [*found, *(str(one) for one in compared(new.milp, old.milp) if one.flaw != "extra row")][:MOST]


def _plan_of(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ReplyError("the plan is no JSON object; answer with summary, rows, data and objective")
    plan = {"summary": str(found.get("summary") or "")[:300], "objective": str(found.get("objective") or "")[:300]}
    lists = {name: found.get(name) or [] for name in ("rows", "data")}
    if not all(isinstance(one, list) for one in lists.values()):
        raise ReplyError("rows and data of the plan must be lists of objects")
    return {**plan, **{name: one[:100] for name, one in lists.items()}}


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
