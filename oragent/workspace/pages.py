"""HTML page of a user's workspace; all content is escaped."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from oragent.ledger.study import FinishedCase
from oragent.modelling.data.display import amount, rounded
from oragent.modelling.data.model_records import Variable
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.report.pages.html import make_environment, replace_page
from oragent.report.pages.value_tables import Block, fold_family, group_families, layout_families
from oragent.workspace.citations import check_citations, find_citations
from oragent.workspace.folder import WorkspaceFolder, finished_verbs, list_requests
from oragent.workspace.reading import finite_number
from oragent.workspace.records import read_record
from oragent.workspace.undoing import list_verbs_in_force
from oragent.workspace.versions import SHORT, Versions

# Maximum number of versions whose changes are shown; the last ones are kept.
MAX_VERSIONS = 50
# Maximum number of rows of a table of decisions, and of rows of the model.
MAX_ROWS = 60
WRITTEN, TAKEN_BACK = "written", "taken back"


def write_page(folder: Path) -> Path:
    """Write ``report.html`` into a workspace."""
    return replace_page(folder, render_page(folder))


def render_page(folder: Path) -> str:
    """Return the page as HTML."""
    home = WorkspaceFolder(folder)
    files, verbs = home.list_files(), finished_verbs(folder)
    versions = Versions(folder, readonly=True)
    records = versions.list_versions()
    history = [(version, versions.describe_diff(version.id)) for version in records[-MAX_VERSIONS:]]
    in_force = list_verbs_in_force(versions.list_own())
    program = home.find_program()
    revisions = [verb for verb in verbs if verb.result["verb"] == "revise"]
    written = [verb.result for verb in revisions if describe_state(verb, in_force).startswith(WRITTEN)]
    last = written[-1] if written else {}
    record = read_record(folder, files)
    return (
        make_environment(Path(__file__).parent)
        .get_template("page.html")
        .render(
            title=folder.resolve().name,
            program=program,
            history=history,
            moves=_objective_moves(verbs, in_force),
            taken_back={
                version.id
                for version in records
                if version.verb and version.verb not in in_force and not version.is_foreign
            },
            questions=_answered_questions(files, verbs, versions.tip),
            requests=list_requests(files),
            differences=last.get("differences", ()),
            data_edits=last.get("data_edits", ()),
            unplanned=last.get("unplanned_edits", ()),
            change=last.get("change", ""),
            decisions=_plan_tables(record),
            most=MAX_ROWS,
            conflict=recorded_conflict(record),
            objective=_record_objective(record),
            standing=_record_standing(record, bool(program)),
        )
    )


def _record_objective(record: Mapping[str, Any]) -> str:
    value = finite_number(record.get("objective"))
    unit = str(record.get("unit") or "")[:20]
    if value is None:
        return "–"
    return f"{amount(value)}{f' {unit}' if unit else ''}"


def _record_standing(record: Mapping[str, Any], has_program: bool) -> str:
    """Describe the quality of the recorded plan; without a current record, describe how to get one."""
    if not has_program:
        return "no program yet"
    if not record:
        return "not run, or code or data have changed since: 'oragent workspace run'"
    statuses = {str(status): status for status in SolveStatus}
    status = statuses.get(str(record.get("status")), SolveStatus.UNKNOWN)
    value, bound, gap = (finite_number(record.get(key)) for key in ("objective", "bound", "gap"))
    return Solution(status, value, bound, gap).standing


def recorded_conflict(record: Mapping[str, Any]) -> list[str]:
    """Return the conflicting constraints of a record as lines; without them, describe how to get them."""
    if record.get("status") != SolveStatus.INFEASIBLE:
        return []
    lines = record.get("conflict")
    texts = [text.removeprefix("- ") for text in lines if isinstance(text, str)] if isinstance(lines, list) else []
    return texts or ["The record does not say what conflicts: 'oragent workspace run' records it."]


def _plan_tables(record: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the decisions of a record as tables by index."""
    columns = record.get("variables")
    if not isinstance(columns, dict):
        return ()
    numbers = {name: finite_number(column.get("value")) for name, column in columns.items()}
    values = {name: number for name, number in numbers.items() if number is not None}
    # An infeasible model has no values.
    if not values:
        return ()
    variables = [Variable(name, unit=str(columns[name].get("unit") or "")) for name in values]
    return layout_families(tuple(map(fold_family, group_families(variables, values))), pivots=True)


def describe_state(verb: FinishedCase, in_force: Collection[str]) -> str:
    """Describe whether the changes of a verb are in the present files; empty for a question, which changes nothing."""
    if verb.result["verb"] == "ask":
        return ""
    if not verb.result.get("written"):
        return "not written"
    if verb.name in in_force:
        return f"{WRITTEN}{describe_unplanned(verb.result)}"
    return TAKEN_BACK


def describe_unplanned(result: Mapping[str, Any]) -> str:
    """Count the data edits of a revision that are not in its plan; empty for zero."""
    count = len(result.get("unplanned_edits", ()))
    return f" ({count} edit{'' if count == 1 else 's'} of data not in the plan)" if count else ""


def _objective_moves(verbs: list[FinishedCase], in_force: Collection[str]) -> list[tuple[str, str, str, str]]:
    """Return, for each verb with an objective, the objective, its gap, and whether its changes are in the files."""
    return [
        (verb.name, rounded(value), str(verb.result.get("standing") or ""), describe_state(verb, in_force))
        for verb in verbs
        if isinstance(value := verb.result.get("objective"), int | float)
    ]


def _answered_questions(files: Mapping[str, Path], verbs: list[FinishedCase], tip: str) -> list[dict[str, Any]]:
    """Return questions with their answers and versions, and state whether each citation still holds."""
    questions = []
    for verb in verbs:
        if verb.result["verb"] == "ask":
            answer = verb.result["answer"]
            broken = {str(item.citation) for item in check_citations(answer, files)}
            cited = [(str(item), str(item) not in broken) for item in dict.fromkeys(find_citations(answer))]
            revision = str(verb.result.get("revision") or "")
            entry = {"question": verb.result["request"], "answer": answer.rstrip(), "cited": cited}
            questions.append(entry | {"revision": revision[:SHORT], "is_current": revision == tip})
    return questions
