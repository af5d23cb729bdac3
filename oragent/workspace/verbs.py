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
from oragent.workspace.citations import check_citations
from oragent.workspace.comparing import compare_models
from oragent.workspace.folder import (
    RECORDS,
    WorkspaceFolder,
    add_parameters,
    dump_json,
    records_to_write,
    row_figures,
    with_values,
)
from oragent.workspace.objective import StopReason, is_within_tolerance
from oragent.workspace.reading import decode_text, finite_number, list_files, read_bytes, shorten
from oragent.workspace.records import are_stale
from oragent.workspace.roles import BEGIN, NAME, TEMPERATURE, AgentWork, fill_prompt, track_text, work_with_tools
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.tools import ToolSession, describe_run
from oragent.workspace.versions import Versions

FIGURES = f"data/{parameters.FILE}"
PRESERVED = 1e-4
MOST = 40  # differences that are kept


@dataclass(frozen=True)
class VerbRunner:
    """The verbs of one workspace.

    Attributes:
        home: The workspace.
        study: Its study.
        versions: Its versions.
        runner: Runner of programs.
        accept: Whether a revision whose preservation fails is written all the same.
    """

    folder: WorkspaceFolder
    study: Study
    versions: Versions
    runner: ProgramRunner
    accept: bool = False

    @property
    def _track_text(self) -> str:
        return track_text(seconds=self.runner.limits.cpu_s)

    async def build_program(self, case: LedgerCase) -> dict[str, Any]:
        """Build a program from documents and data, and write it if its model has an optimum."""
        texts = await self._read_texts(case)
        draft = self.folder.write_draft(case.name, texts)
        session = ToolSession(draft, self.runner, ("src",))
        prompt = fill_prompt("builder", place=f"src/{NAME}", track=self._track_text)
        agent_work = await work_with_tools(case, "builder", prompt, BEGIN, session)
        program_run = await self._run_submission(session, agent_work)
        result = self._summarise(agent_work, program_run) | {"verb": "build", "request": "", "written": False}
        if _has_point(program_run):
            reason = f"built, objective {number(result['objective'])} ({result['standing'] or 'no model'})"
            self._write_draft(case, session, texts, result, ("builder", reason), program_run)
        return result

    async def revise_program(self, case: LedgerCase, request: str) -> dict[str, Any]:
        """Plan a revision, do it in a draft, compare both versions, and write it if it holds.

        Args:
            case: Its case.
            request: What is to change.
        """
        texts = await self._read_texts(case)
        path = self._request_path(case, request)
        self.versions.write_version({path: request.rstrip() + "\n"}, "request", f"request {case.name}", verb=case.name)
        texts[path] = request.rstrip() + "\n"
        draft = self.folder.write_draft(case.name, texts)
        program = facts.find_program(list_files(draft))
        if not program:
            raise WorkspaceError("there is no program to revise; 'oragent workspace build' makes one")
        run_before = await asyncio.to_thread(self.runner.run, draft, program)
        plan = await self._ask_plan(case, request, texts)
        new_parameters = [parameter for parameter in plan["data"] if isinstance(parameter, dict)]
        table = add_parameters(texts.get(FIGURES, ""), new_parameters)
        session = ToolSession(draft, self.runner, ("src", "data"))
        for name, text in ((FIGURES, table), ("plan.json", dump_json(plan))):
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8")
        objective_before = (
            "no objective" if run_before.printed_objective.value is None else number(run_before.printed_objective.value)
        )
        prompt = fill_prompt(
            "change", request=path, program=program, track=self._track_text, objective=objective_before
        )
        agent_work = await work_with_tools(case, "reviser", prompt, BEGIN, session)
        run_after = await self._run_submission(session, agent_work)
        result = self._summarise(agent_work, run_after) | {
            "verb": "revise",
            "request": request,
            "plan": plan,
            "written": False,
        }
        result["before"] = run_before.printed_objective.value
        result["rows_before"] = row_figures(run_before)
        result["differences"] = _describe_differences(run_before, run_after)
        result["preserved"] = await self._check_preservation(session, agent_work, new_parameters, run_before)
        if _has_point(run_after) and (result["preserved"] is not False or self.accept):
            self._write_draft(
                case, session, texts, result, ("reviser", str(plan.get("summary") or "revised")), run_after
            )
        return result

    async def answer_question(self, case: LedgerCase, question: str, model: bool) -> dict[str, Any]:
        """Answer a question with citations, by a model or from records alone.

        Args:
            case: Its case.
            question: The question.
            model: Whether a language model answers.
        """
        texts = await self._read_texts(case, answers=True)
        draft = self.folder.write_draft(case.name, texts)
        if model:
            agent_work = await work_with_tools(
                case, "explainer", fill_prompt("explainer"), f"Question: {question}", ToolSession(draft, self.runner)
            )
            answer_text = agent_work.answer
        else:
            files = list_files(draft)
            workspace_facts = await asyncio.to_thread(facts.read_facts, draft, files, self.runner)
            answer_text = await asyncio.to_thread(explaining.answer_question, workspace_facts, question, self.runner)
            agent_work = AgentWork(answer=answer_text, end="answered from records")
        broken = [str(citation) for citation in check_citations(answer_text, list_files(draft))]
        answer = {f"answers/{case.name}.md": f"# {question}\n\n{answer_text}\n"}
        self.versions.write_version(answer, "explainer", shorten(question, 120), verb=case.name)
        return {"verb": "ask", "request": question, "answer": answer_text, "broken_citations": broken,
                "end": agent_work.end, "calls": agent_work.calls, "written": True, "objective": None}  # fmt: skip

    async def _read_texts(self, case: LedgerCase, answers: bool = False) -> dict[str, str]:
        """The files as they were when the case first began: after a kill it begins there again."""

        async def read_now() -> dict[str, str]:
            records = {}
            if answers:
                stale = are_stale(self.folder.list_files())
                places = {path: place for path, place in self.folder.list_files().items()
                          if path.startswith(RECORDS) and not stale}  # fmt: skip
                records = {path: decode_text(read_bytes(place), path) for path, place in places.items()}
            return {**self.folder.read_texts(), **records}

        texts: dict[str, str] = await self.study.once(case, "texts", read_now)
        return texts

    async def _run_submission(self, session: ToolSession, agent_work: AgentWork) -> ProgramRun | None:
        if not agent_work.path:
            return None
        return await asyncio.to_thread(self.runner.run, session.folder, agent_work.path)

    async def _ask_plan(self, case: LedgerCase, request: str, texts: Mapping[str, str]) -> dict[str, Any]:
        files_text = "".join(f"=== {path}\n{text}\n" for path, text in texts.items())
        messages = [Message("user", fill_prompt("plan", request=request, files=files_text))]
        for _ in range(2):
            reply = await case.ask("planner", messages, TEMPERATURE)
            try:
                return _parse_plan(extract_json(reply.text))
            except ReplyError as problem:
                messages += [Message("assistant", reply.text), Message("user", f"This cannot be used: {problem}.")]
        return {"summary": "no plan that can be read came", "rows": [], "data": [], "objective": ""}

    async def _check_preservation(
        self, session: ToolSession, agent_work: AgentWork, new: list[dict[str, Any]], run_before: ProgramRun
    ) -> bool | None:
        """Whether at the plan's neutral values the optimum is the one before; None where there are none."""
        neutral = {
            str(parameter["name"]): str(parameter["neutral"])
            for parameter in new
            if parameter.get("name") and finite_number(_parse_number(parameter.get("neutral"))) is not None
        }
        value = run_before.printed_objective.value
        if not neutral or value is None or not agent_work.path:
            return None
        table = decode_text(read_bytes(session.folder / FIGURES), FIGURES)
        neutral_run = await asyncio.to_thread(
            self.runner.run, session.folder, agent_work.path, {FIGURES: with_values(table, neutral)}
        )  # fmt: skip
        return neutral_run.printed_objective.value is not None and is_within_tolerance(
            neutral_run.printed_objective.value, value, PRESERVED + _run_gap(run_before) + _run_gap(neutral_run)
        )

    def _summarise(self, agent_work: AgentWork, program_run: ProgramRun | None) -> dict[str, Any]:
        return {
            "path": agent_work.path, "calls": agent_work.calls, "end": agent_work.end,
            "objective": None if program_run is None else program_run.printed_objective.value,
            "standing": "" if program_run is None else program_run.standing,
            "run": "no program was left" if program_run is None else describe_run(program_run),
            "rows": {} if program_run is None else row_figures(program_run),
        }  # fmt: skip

    def _write_draft(
        self,
        case: LedgerCase,
        session: ToolSession,
        texts: Mapping[str, str],
        result: dict[str, Any],
        author_and_reason: tuple[str, str],
        program_run: ProgramRun | None,
    ) -> None:
        """Bring what was changed in a draft into the workspace, as one version; never over what a person changed since.

        Args:
            case: Case of the verb.
            session: Session with the draft.
            texts: Files as they were when the verb began.
            result: Result of the verb; whether it was written goes into it, or which files a person changed meanwhile.
            author_and_reason: Author and reason of the version.
            program_run: Run of the draft, whose records are written with it.
        """
        files = {
            path: decode_text(read_bytes(place), path)
            for path, place in session.list_files().items()
            if path != "plan.json"
        }
        changed = {path: text for path, text in files.items() if texts.get(path) != text}
        now = {path: self.versions.read_file(path) for path in changed}
        texts_now = {path: None if content is None else decode_text(content, path) for path, content in now.items()}
        result["clashes"] = [path for path, text in changed.items() if texts_now[path] not in (texts.get(path), text)]
        result["draft"] = str(session.folder)
        if not result["clashes"]:
            records: dict[str, str | None] = (
                {}
                if program_run is None
                else records_to_write(self.folder, self.versions, program_run, session.list_files())
            )
            self.versions.write_version({**changed, **records}, *author_and_reason, verb=case.name)
            result["written"] = True

    def _request_path(self, case: LedgerCase, request: str) -> str:
        """Where a request is written: a name that is free, or has the request already."""
        text, path, count = f"{request.rstrip()}\n".encode(), f"docs/{case.name}.md", 1
        while self.versions.read_file(path) not in (None, text):
            count += 1
            path = f"docs/{case.name}-{count}.md"
        return path


def failure_request(ran: ProgramRun) -> str:
    """What a run that failed asks for, in words; of an infeasible model with the rows that cannot hold together.

    Raises:
        WorkspaceError: if the run did not fail.
    """
    last = ran.last_model
    if _has_point(ran):
        raise WorkspaceError("the program runs and its model has a solution: there is nothing to mend; use --request")
    lines = [
        "# The last run failed",
        "",
        "Mend the program or, where the figures are wrong, say so. What was seen:",
        "",
    ]
    lines.append(describe_run(ran))
    if last is not None and last.milp is not None and last.solution is not None and not last.solution.status.has_point:
        lines += ["", *(f"- {remark.text}" for remark in explain(last.milp, last.solution, 20.0)[:20])]
    return "\n".join(lines) + "\n"


def _has_point(ran: ProgramRun | None) -> bool:
    """Whether a run ended well: an objective was printed, and the model behind it, where there is one, has a point."""
    if ran is None or ran.stop is not StopReason.ENDED or ran.printed_objective.value is None:
        return False
    return ran.attempt.status in {"", "optimal", "feasible"}


def _run_gap(ran: ProgramRun) -> float:
    """How far a run's objective may be from the best, relative; 0 where it is proven."""
    solution = ran.last_model.solution if ran.last_model else None
    return (solution.gap or 0.0) if solution and solution.status is SolveStatus.FEASIBLE else 0.0


def _describe_differences(run_before: ProgramRun, run_after: ProgramRun | None) -> list[str]:
    old, new = run_before.last_model, run_after.last_model if run_after else None
    if old is None or new is None or old.milp is None or new.milp is None:
        return []
    names = {row.name for row in old.milp.rows}
    lines = [f"new row: {shorten(row.name)}" for row in new.milp.rows if row.name not in names]
    return [
        *lines,
        *(str(difference) for difference in compare_models(new.milp, old.milp) if difference.flaw != "extra row"),
    ][:MOST]


def _parse_plan(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReplyError("the plan is no JSON object; answer with summary, rows, data and objective")
    plan = {"summary": str(value.get("summary") or "")[:300], "objective": str(value.get("objective") or "")[:300]}
    lists = {name: value.get(name) or [] for name in ("rows", "data")}
    if not all(isinstance(entries, list) for entries in lists.values()):
        raise ReplyError("rows and data of the plan must be lists of objects")
    return {**plan, **{name: entries[:100] for name, entries in lists.items()}}


def _parse_number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
