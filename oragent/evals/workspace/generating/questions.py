"""Questions about two versions, with the checklist that an answer is held against: names and numbers out of records.

Semantic criteria carry predicates, so that no judge is needed. None of what has to be named stands in the question.
"""

from dataclasses import dataclass
from typing import Any

from oragent.evals.workspace.generating.making import Made
from oragent.evals.workspace.generating.patches import NewRow
from oragent.evals.workspace.generating.sheets import REQUIREMENT
from oragent.milp.model import Milp
from oragent.workspace import parameters
from oragent.workspace.runner import ProgramRun, SolvedModel

DIMENSIONS = ("Logical-Physical Alignment", "Comparative Dynamics", "Dual-Theory Soundness & State Interpretation")


@dataclass(frozen=True)
class GeneratedQuestion:
    """A question and its checklist.

    Attributes:
        text: The question.
        entities: Lists of names and numbers, each with what is asked for.
        sentences: Texts that one sentence has to hold together, whether denied, and what that says.
        answer: Reference answer.
        path: What has to be connected.
    """

    text: str
    entities: tuple[tuple[str, tuple[str, ...]], ...]
    sentences: tuple[tuple[str, tuple[str, ...], bool], ...]
    answer: str
    path: str


def question(made: Made, original: ProgramRun, revised: ProgramRun) -> dict[str, Any]:
    """The rubric of an instance's question, as the public release writes it.

    Args:
        made: The instance; its number says which dimension is asked.
        original: Run of the original's program.
        revised: Run of the revised one.

    Raises:
        AssertionError: if a program of ours did not solve its model.
    """
    before, after = original.last, revised.last
    assert before is not None
    assert after is not None
    place = (made.number - 1) % len(DIMENSIONS)
    asked = (_alignment, _dynamics, _theory)[place](made, before, after)
    checklist: list[dict[str, Any]] = []
    for text, entities in asked.entities:
        checklist.append({"criterion_id": f"c{len(checklist) + 1}", "checklist_type": "exact_match", "criterion": text,
                          "target_entities": list(entities)})  # fmt: skip
    for text, together, denied in asked.sentences:
        checklist.append({
            "criterion_id": f"c{len(checklist) + 1}", "checklist_type": "llm_boolean_judgment", "criterion": text,
            "instruction_for_judge": "A hit where one sentence says it, and none the contrary.",
            "predicate": {"together": list(together), "denied": denied},
        })  # fmt: skip
    return {
        "instance_id": f"made_explain_{made.number:03d}", "workspace_id": f"made_{made.number:03d}_explain",
        "instance_number": made.number, "dimension": DIMENSIONS[place], "question": asked.text,
        "expected_short_answer": asked.answer, "multi_hop_path": asked.path, "checklist": checklist,
    }  # fmt: skip


def figure(value: float) -> str:
    """A number as checklists have it."""
    return f"{value:.10g}"


def _alignment(made: Made, before: SolvedModel, after: SolvedModel) -> GeneratedQuestion:
    """Which rule of the brief is which row, and which cell gives its figure."""
    patch = made.revised.patch
    rows = [row for row in (*patch.changed, *patch.rows) if _parameters(row)]
    used = [name for row in rows for name in _parameters(row)]
    used += [name for one in patch.objective.values() for name in one.factors]
    names = tuple(dict.fromkeys(used))[:4]
    values = {name: figure(patch.values[name]) for name in names}
    pairs = [(row.name, name) for row in rows[:3] for name in _parameters(row)[:1]]
    text = (
        "Trace the revision from the business document to the model and to the data: which rows of the revised model "
        "carry the new rules, which figures of the data stand in them, where do these figures stand, and what are "
        "their values?"
    )
    entities = [
        ("Names the figures of the data that the revision brings", names),
        ("Names the file in which they stand", (parameters.FILE,)),
        ("Gives their values", tuple(dict.fromkeys(values.values()))),
    ]
    if rows:
        entities.append(("Names the rows", tuple(row.name for row in rows[:3])))
    sentences = [(f"Connects {row} with {name}", (row, name), False) for row, name in pairs]
    sentences += [(f"Gives the value of {name}", (name, values[name]), False) for name in names[:2]]
    answer = "; ".join(f"{name} = {value}" for name, value in values.items())
    return GeneratedQuestion(text, tuple(entities), tuple(sentences), f"Figures: {answer}.",
                 f"{REQUIREMENT} -> rows -> {parameters.FILE}")  # fmt: skip


def _dynamics(made: Made, before: SolvedModel, after: SolvedModel) -> GeneratedQuestion:
    """What changed, and by how much the objective moved."""
    patch = made.revised.patch
    old, new = figure(made.optimum), figure(made.revised.optimum)
    rows = tuple(row.name for row in (*patch.rows, *patch.changed))[:4]
    variables = tuple(one.name for one in patch.variables)[:3]
    names = tuple(one.name for one in patch.parameters)[:3]
    text = (
        "Compare both versions: by how much does the optimal objective move and from where to where, which rows, "
        "decisions and figures of the data are new or changed, and what accounts for the difference?"
    )
    change = figure(made.revised.optimum - made.optimum)
    entities = [("Gives both optima", (old, new)), ("Names the new figures of the data", names)]
    entities += [("Names the rows that are new or changed", rows)] if rows else []
    entities += [("Names the new decisions", variables)] if variables else []
    sentences = [
        ("Says from where to where the objective moves", (old, new), False),
        ("Says by how much", (old, new, change), False),
    ]
    answer = f"The objective moves from {old} to {new}."
    return GeneratedQuestion(text, tuple(entities), tuple(sentences), answer, "documents -> data -> both records")


def _theory(made: Made, before: SolvedModel, after: SolvedModel) -> GeneratedQuestion:
    """What one unit is worth, and what a relaxation says and does not say."""
    relaxed = after.relaxed if after.milp is not None and after.milp.has_integers else None
    if relaxed is not None and relaxed.objective is not None:
        value, whole = figure(relaxed.objective), figure(made.revised.optimum)
        text = (
            "What does the linear relaxation of the revised model come to beside the plan itself, and may the duals in "
            "its record be read as prices of the plan that is carried out?"
        )
        sentences = (
            ("Holds both values against each other", (value, whole), False),
            ("Denies that duals of the relaxation are prices of the integer plan", ("relaxation", "duals"), True),
        )
        both = tuple(dict.fromkeys((value, whole)))
        return GeneratedQuestion(text, (("Gives both values", both),), sentences,
                     f"The relaxation comes to {value}, the plan to {whole}; its duals are not the plan's prices.",
                     "solver records -> relaxation record")  # fmt: skip
    assert after.milp is not None
    assert after.solution is not None
    row, dual = _dearest(after.milp, after.solution.duals)
    slack = [one.name for one in after.milp.rows if after.solution.slacks[one.name] > 1e-6][:1]
    text = (
        "In the revised plan, which limit is worth the most at the margin, by how much would the objective change for "
        "one unit more of it, and which limits leave room?"
    )
    entities: list[tuple[str, tuple[str, ...]]] = [("Names the dearest limit and its dual", (row, figure(dual)))]
    entities += [("Names one that leaves room", tuple(slack))] if slack else []
    worth = (("Says what one unit is worth", (row, figure(dual)), False),)
    answer = f"{row} binds; one unit more changes the objective by {figure(dual)}."
    return GeneratedQuestion(text, tuple(entities), worth, answer, "solver record -> rows")


def _parameters(row: NewRow) -> list[str]:
    found = [name for one in (*row.terms.values(), row.rhs) for name in one.factors]
    return list(dict.fromkeys(found))


def _dearest(milp: Milp, duals: Any) -> tuple[str, float]:
    name = max((row.name for row in milp.rows), key=lambda one: (abs(round(duals[one], 9)), one))
    return name, duals[name]
