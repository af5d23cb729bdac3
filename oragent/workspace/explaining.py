"""An explainer without a model: statements out of captured models, figures, code and records, each with its source.

What binds, what one unit is worth and how far, why an objective moved between two versions, what a relaxation does not
say; and one version against another: requirement, data, code, model, objective and decisions. Statements avoid words
of denial but where they deny, so that a predicate can tell the two apart.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.milp.model import Milp, Row
from oragent.milp.plain import amount as write_amount
from oragent.milp.plain import number, plain
from oragent.milp.solution import Solution, SolveStatus, ValueRange
from oragent.workspace.citations import CitedCell, CitedKey, CitedLine
from oragent.workspace.comparing import changed_rules, rule_of, same_row
from oragent.workspace.data_edits import list_edits
from oragent.workspace.facts import VersionFacts, WorkspaceFacts, read_facts
from oragent.workspace.layout import FileRole, role_of
from oragent.workspace.objective import describe_change, find_change_span, is_within_gap
from oragent.workspace.reading import decode_text, list_files, shorten
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.versions import FOLDERS, Versions

# rows of each kind, and changes that are taken back one at a time
MOST = 12
WORDS = re.compile(r"[a-z0-9_]{3,}")


@dataclass(frozen=True)
class Statement:
    """A sentence with its sources."""

    # objective, change, rule, figure, binding, room or relaxation
    topic: str
    # without its full stop
    text: str
    sources: tuple[CitedLine | CitedCell | CitedKey, ...] = ()

    def __str__(self) -> str:
        return f"{self.text}{''.join(f' {source}' for source in self.sources)}."


def answer_question(facts: WorkspaceFacts, question: str, runner: ProgramRunner) -> str:
    """Answer a question in Markdown: what is known of its topics, the nearest first; of all where it names none."""
    wanted = set(WORDS.findall(question.casefold()))
    hints = {
        "change": {"compare", "revision", "changed", "difference", "moves", "move", "versions", "original"},
        "binding": {"binding", "marginal", "margin", "worth", "dual", "duals", "shadow", "unit", "limit", "dearest"},
        "room": {"slack", "room", "leave"},
        "relaxation": {"relaxation", "integer", "relaxed"},
        "rule": {"rule", "rules", "document", "rows", "encoded", "trace"},
        "figure": {"figures", "data", "values"},
        "objective": {"objective", "optimum", "optimal"},
    }
    every_statement = list(list_statements(facts, runner))
    near = {topic: len(wanted & words) for topic, words in hints.items()}
    topics = list(dict.fromkeys(statement.topic for statement in every_statement))
    meant = [topic for topic in topics if near.get(topic) or topic == "objective"] if any(near.values()) else topics
    order = sorted(meant, key=lambda topic: -near.get(topic, 0))
    parts = []
    for topic in order:
        lines = [f"- {statement}" for statement in every_statement if statement.topic == topic]
        parts += [f"## {topic.capitalize()}", "", *lines, ""]
    return "\n".join(parts) or "Nothing is known: the workspace has no program that solves a model, and no records.\n"


def list_statements(facts: WorkspaceFacts, runner: ProgramRunner) -> Iterator[Statement]:
    """All that can be said, topic by topic."""
    yield from state_objectives(facts)
    yield from _state_figures(facts)
    yield from state_rules(facts)
    yield from state_changes(facts, runner)
    for version in (facts.revised, facts.original):
        if version is not None:
            name = "original " if version is facts.original else "revised " if facts.original else ""
            yield from _state_margins(version, f"the {name}plan")


def _version_objective(version: VersionFacts) -> tuple[float | None, tuple[CitedKey, ...]]:
    recorded = version.read_record().get("objective_value")
    if isinstance(recorded, int | float):
        return float(recorded), (CitedKey(version.record, ("objective_value",), number(recorded)),)
    return version.solution.objective if version.solution else None, ()


def _summarise_search(version: VersionFacts | None) -> str:
    if version and version.solution:
        return version.solution.standing
    return "not solved again"


def state_objectives(facts: WorkspaceFacts) -> Iterator[Statement]:
    """State the objective, and its change from the original version."""
    value, source = _version_objective(facts.revised)
    original_value, earlier = _version_objective(facts.original) if facts.original else (None, ())
    unit = f" {plain(facts.revised.milp.objective.unit, 20)}".rstrip() if facts.revised.milp else ""
    solutions = [version.solution for version in (facts.original, facts.revised) if version]
    if value is not None and any(solution and solution.status is SolveStatus.FEASIBLE for solution in solutions):
        was = f", before the revision {number(original_value or 0.0)} ({_summarise_search(facts.original)})"
        text = f"The best objective found is {number(value)}{unit} ({_summarise_search(facts.revised)})"
        yield Statement("objective", text + ("" if original_value is None else was), (*earlier, *source))
    elif value is not None and original_value is not None:
        moves = f"moves from {number(original_value)} to {number(value)}, a change of {number(value - original_value)}"
        yield Statement("objective", f"The optimal objective {moves}", (*earlier, *source))
    elif value is not None:
        yield Statement("objective", f"The optimal objective is {number(value)}{unit}", source)


def _state_figures(facts: WorkspaceFacts) -> Iterator[Statement]:
    for name, (path, parameter) in facts.revised.figures.items():
        earlier = facts.original.figures.get(name) if facts.original else None
        if facts.original is not None and earlier is not None and earlier[1].value == parameter.value:
            continue
        source = CitedCell(path, name, "Value", parameter.value)
        unit = f" {plain(parameter.unit)}" if parameter.unit else ""
        was = f" in place of {plain(earlier[1].value)}" if earlier else " (new)" if facts.original else ""
        file = path.rpartition("/")[2]
        yield Statement("figure", f"`{plain(name)}` is {plain(parameter.value)}{unit}{was}, from {file}", (source,))
        yield from _quote_documents(facts.revised, name)


def _quote_documents(version: VersionFacts, name: str) -> Iterator[Statement]:
    for path, line_number, text in version.read_lines(FileRole.DOCUMENT):
        if f"`{name}`" in text and not text.startswith("The values of"):
            source = CitedLine(path, line_number, text[:90])
            yield Statement("rule", f"On `{plain(name)}` the documents speak in line {line_number}", (source,))
            return


def state_rules(facts: WorkspaceFacts) -> Iterator[Statement]:
    """Yield the rules that are new or other than before, each with the figures that stand beside it in the program."""
    original, revised = (facts.original.milp if facts.original else None), facts.revised.milp
    if original is None or revised is None:
        return
    earlier = {row.name: row for row in original.rows}
    for rule, kind in list(changed_rules(original, revised).items())[:MOST]:
        rows = [row for row in revised.rows if rule_of(row.name) == rule]
        rows = [row for row in rows if row.name not in earlier or not same_row(row, earlier[row.name])]
        source = _program_lines(facts.revised, rule)
        many = f", {len(rows)} rows such as" if len(rows) > 1 else ":"
        example = f"{many} {plain(rows[0].name)}: {describe_row(rows[0])}" if rows else ""
        yield Statement("rule", f"Rule {plain(rule)} is {kind}{example}", source[:1])
        text = " ".join(parameter.quote for parameter in source)
        for name, (path, parameter) in facts.revised.figures.items():
            if re.search(rf"\b{re.escape(name)}\b", text):
                takes = f"Rule {plain(rule)} takes `{plain(name)}` from the data, {plain(parameter.value)}"
                yield Statement("rule", takes, (*source[:1], CitedCell(path, name, "Value", parameter.value)))
    kinds = {rule_of(variable.name) for variable in original.variables}
    for rule, variable in {rule_of(variable.name): variable for variable in revised.variables}.items():
        if rule not in kinds:
            kind = "yes-or-no decisions" if variable.is_binary else "amounts"
            yield Statement("rule", f"`{plain(rule)}` are new decisions: {kind}")


def _program_lines(version: VersionFacts, rule: str) -> tuple[CitedLine, ...]:
    """Return the lines of the program that name a rule, and the two above each."""
    lines = version.read_lines(FileRole.CODE)
    named = re.compile(rf"""["']{re.escape(rule)}(?:["']|__|_|\[|\()""")
    at = [index for index, (_, _, text) in enumerate(lines) if named.search(text)][:2]
    near = [*at, *(index - above for index in at for above in (1, 2) if index >= above)]
    return tuple(CitedLine(path, number, text.strip()[:200]) for path, number, text in (lines[index] for index in near))


def state_changes(facts: WorkspaceFacts, runner: ProgramRunner) -> Iterator[Statement]:
    """Yield the effect of each change: the optimum without it, all others in place."""
    original = facts.original.milp if facts.original else None
    revised = facts.revised.milp
    optimum = facts.revised.solution.objective if facts.revised.solution else None
    if original is None or revised is None or optimum is None:
        return
    earlier = {row.name: row for row in original.rows}
    trials: list[tuple[str, Milp]] = []
    for rule in list(changed_rules(original, revised))[:MOST]:
        others = [row for row in revised.rows if rule_of(row.name) != rule]
        restored = [earlier[row.name] for row in revised.rows if rule_of(row.name) == rule and row.name in earlier]
        trials.append((f"rule {plain(rule)}", replace(revised, rows=(*others, *restored))))
    if dict(revised.objective.terms) != dict(original.objective.terms):
        trials.append(("the new terms of the objective", replace(revised, objective=original.objective)))
    solved = runner.solve_milps(*(milp for _, milp in trials)) if trials else ()
    for (what, _), model in zip(trials, solved, strict=True):
        if model.objective is None:
            status = model.solution.status if model.solution else "unsolved"
            yield Statement("change", f"With {what} taken back the model is {status}")
        else:
            without, effect = number(model.objective), number(optimum - model.objective)
            text = f"Taking back {what} alone would bring the optimum to {without}, so it accounts for {effect}"
            if find_change_span(model.solution, facts.revised.solution) is not None:
                effect = describe_change(model.solution, facts.revised.solution)
                text = f"With {what} alone taken back the best objective found is {without}; its effect: {effect}"
            yield Statement("change", text)


def _state_margins(version: VersionFacts, plan: str) -> Iterator[Statement]:
    """Describe binding rows by worth, rows with slack, and the relaxation."""
    model, milp, solution = version.model, version.milp, version.solution
    if model is None or milp is None or solution is None or not solution.status.has_point:
        return
    tight = [row for row in milp.rows if solution.is_tight(row)]
    if not milp.has_integers:
        tight.sort(key=lambda row: -abs(solution.duals.get(row.name, 0.0)))
    for row in tight[:MOST]:
        source = cite_record(version, "constraints", row.name, "slack")
        yield Statement("binding", f"In {plan} row {plain(row.name)} binds: {describe_row(row)}", source)
        if not milp.has_integers and solution.duals.get(row.name):
            yield state_price(version, row, solution, f"In {plan} one")
    for row in [row for row in milp.rows if row not in tight][:MOST]:
        source = cite_record(version, "constraints", row.name, "slack")
        room = number(solution.slacks[row.name])
        yield Statement("room", f"In {plan} row {plain(row.name)} leaves room of {room}", source)
    if model.relaxed is not None and model.relaxed.objective is not None and model.objective is not None:
        path = version.record.replace(".solution.json", ".lp_relaxation.json")
        value = number(model.relaxed.objective)
        source = (CitedKey(path, ("objective_value",), value),) if path in version.files and version.record else ()
        yield Statement(
            "relaxation",
            f"With its integers relaxed {plan} comes to {value}, and with them to {number(model.objective)}",
            source,
        )
        yield Statement(
            "relaxation",
            f"The duals of the relaxation are not prices of {plan}: whole decisions jump, so "
            "that a small change may do nothing or much",
        )


def state_price(version: VersionFacts, row: Row, solution: Solution, beginning: str = "One") -> Statement:
    """State what one unit more on the right side of a row of a linear model changes, and how far."""
    interval = _describe_range(solution.ranges.get(row.name))
    change = f"changes the objective by {number(solution.duals[row.name])}{interval}"
    text = f"{beginning} unit more of {plain(row.name)} {change}"
    return Statement("binding", text, cite_record(version, "constraints", row.name, "dual_value"))


def cite_record(version: VersionFacts, table: str, name: str, key: str) -> tuple[CitedKey, ...]:
    """Cite a figure of a row or variable in the solver record; nothing where the version has no record of it."""
    rows = version.read_record().get(table)
    if not isinstance(rows, dict) or not isinstance(rows.get(name), dict) or rows[name].get(key) is None:
        return ()
    return (CitedKey(version.record, (table, name, key), number(rows[name][key])),)


def _describe_range(interval: ValueRange | None) -> str:
    if interval is None or (abs(interval.low) == float("inf") and abs(interval.high) == float("inf")):
        return ""
    return f", while its right side stays from {number(interval.low)} to {number(interval.high)}"


def describe_row(row: Row) -> str:
    """Write a row as a formula, at most eight terms of it."""
    terms = " + ".join(f"{number(value)} {plain(name)}" for name, value in list(row.terms.items())[:8])
    more = f" + {len(row.terms) - 8} more" if len(row.terms) > 8 else ""
    return f"{terms or '0'}{more} {row.relation} {number(row.rhs)}"


def lay_out_versions(versions: Versions, folder: Path, numbers: Sequence[int]) -> str:
    """Write two versions into an empty folder, as ``original`` and ``revised``.

    Args:
        versions: Versions of the workspace.
        folder: Folder to write into.
        numbers: Numbers of two versions; one is compared with the present files, none means the last change.

    Returns:
        Names of the two.

    Raises:
        WorkspaceError: There is no such version, or nothing to compare.
    """
    first, second = _find_span(versions, numbers)
    _lay_out_version(versions, first, folder / "original")
    _lay_out_version(versions, second, folder / "revised")
    return f"version {first} against {'the present files' if second is None else f'version {second}'}"


def compare_versions(folder: Path, names: str, runner: ProgramRunner) -> str:
    """Answer what changed between two named versions in a folder, in Markdown."""
    facts = read_facts(folder, list_files(folder), runner)
    assert facts.original is not None
    lines = [f"This is {names}.", ""]
    for title, part in (
        ("Objective", _compare_objectives(facts.original, facts.revised)),
        ("Decisions", _compare_decisions(facts.original, facts.revised)),
        ("Requirement", _compare_texts(facts.original, facts.revised, FileRole.DOCUMENT)),
        ("Data", _compare_data(facts.original, facts.revised)),
        ("Code", _compare_texts(facts.original, facts.revised, FileRole.CODE)),
        ("Model", _compare_models(facts, runner)),
    ):
        lines += [f"## {title}", "", *(list(part) or ["- nothing changed"]), ""]
    return "\n".join(lines)


def _find_span(versions: Versions, numbers: Sequence[int]) -> tuple[int, int | None]:
    """Return the numbers of two versions; None means the present files."""
    for name in numbers:
        versions.read_version(name)
    if len(numbers) == 2:
        return min(numbers), max(numbers)
    if numbers:
        return numbers[0], None
    history = versions.list_versions(contents=False)
    folders = tuple(f"{folder}/" for folder in FOLDERS)
    changing = [one for one in history if any(change.path.startswith(folders) for change in one.changes)]
    if not changing or changing[-1].number == 1:
        raise WorkspaceError("nothing has changed since the workspace began: there are no two versions to compare")
    verb = changing[-1].verb
    members = [version.number for version in history if verb and version.verb == verb]
    return min([*members, changing[-1].number]) - 1, None


def _lay_out_version(versions: Versions, at: int | None, folder: Path) -> None:
    for path in versions.list_paths():
        content = versions.read_file(path) if at is None else versions.content_at(path, at)[1]
        if path.partition("/")[0] in FOLDERS and content is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    folder.mkdir(parents=True, exist_ok=True)


def _compare_objectives(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    states = [_describe_state(version) for version in (old, new)]
    change = describe_change(old.solution, new.solution)
    yield f"- {states[0]} → {states[1]}{f', {change}' if change else ''}"


def _describe_state(version: VersionFacts) -> str:
    if version.solution is None:
        if version.program:
            return "no model"
        return "no program"
    objective, standing = version.solution.objective, version.solution.standing
    if objective is None:
        return standing
    return f"{number(objective)} ({standing})"


def _compare_decisions(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    if old.solution and new.solution and old.solution.values and new.solution.values:
        if is_within_gap(old.solution, new.solution):
            yield "- No plan is shown to be better than the other: the difference lies within the gap."
        yield from describe_moves(old.solution.values, new.solution.values)


def _texts_of(version: VersionFacts, role: FileRole) -> dict[str, str]:
    texts = {}
    for path, content in _read_files(version, role).items():
        with suppress(WorkspaceError):
            texts[path] = decode_text(content, path)
    return texts


def _compare_texts(old: VersionFacts, new: VersionFacts, role: FileRole) -> Iterator[str]:
    texts = [_texts_of(version, role) for version in (old, new)]
    for path in dict.fromkeys([*texts[0], *texts[1]]):
        before, after = (text.get(path, "").splitlines() for text in texts)
        diff = [line for line in difflib.ndiff(before, after) if line[0] in "+-" and line[1:].strip()]
        if diff:
            gone, added = (sum(line[0] == sign for line in diff) for sign in "-+")
            yield f"- {path}: {added} lines added, {gone} removed"
            yield from (f"    {shorten(line, 150)}" for line in diff[:MOST])
            if len(diff) > MOST:
                yield f"    and {len(diff) - MOST} more"


def _compare_data(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    edits = list_edits(*(_read_files(version, FileRole.TABLE, FileRole.PARAMETERS) for version in (old, new)))
    yield from (f"- {edit}" for edit in edits[: 2 * MOST])
    if len(edits) > 2 * MOST:
        yield f"- and {len(edits) - 2 * MOST} more cells"


def _read_files(version: VersionFacts, *roles: FileRole) -> dict[str, bytes]:
    files = {path: file for path, file in version.files.items() if role_of(path) in roles}
    return {path.removeprefix(version.prefix): file.read_bytes() for path, file in files.items()}


def _compare_models(facts: WorkspaceFacts, runner: ProgramRunner) -> Iterator[str]:
    for statement in (*state_rules(facts), *state_changes(facts, runner)):
        yield f"- {replace(statement, sources=())}"


def describe_moves(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    """Describe which decisions differ between two plans."""
    steps = {name: abs(after.get(name, 0.0) - before.get(name, 0.0)) for name in dict.fromkeys([*before, *after])}
    moved = [name for name, step in steps.items() if step > 1e-6 * max(1.0, abs(before.get(name, 0.0)))]
    moved.sort(key=lambda name: -steps[name])
    plural = len(moved) != 1
    yield f"- {len(moved)} decision{'s' if plural else ''} change{'' if plural else 's'}{':' if moved else ''}"
    for name in moved[:MOST]:
        yield f"  - {plain(name)}: {write_amount(before.get(name, 0.0))} → {write_amount(after.get(name, 0.0))}"
    if len(moved) > MOST:
        yield f"  - and {len(moved) - MOST} more"
