"""Questions about two versions, with the checklist that an answer is held against; none of it stands in the question.

Semantic criteria carry predicates, so that no judge is needed.
"""

from typing import Any

from oragent.evals.workspace.domains.domain import REQUIREMENT
from oragent.evals.workspace.instances import GeneratedInstance
from oragent.workspace import parameters
from oragent.workspace.comparing import changed_rules, rule_of
from oragent.workspace.runner import ProgramRun

DIMENSIONS = ("Logical-Physical Alignment", "Comparative Dynamics", "Dual-Theory Soundness & State Interpretation")
TRACE = (
    "Trace the revision from the business document to the model and to the data: which rules of the revised model "
    "are new "
    "or changed, which figures of the data are new, in which file do they stand, and what are their values?"
)
COMPARE = (
    "Compare both versions: by how much does the optimal objective move and from where to where, which rules, kinds of "
    "decisions and figures of the data are new or changed?"
)
RELAX = (
    "What does the linear relaxation of the revised model come to beside the plan itself, and may the duals in its "
    "record "
    "be read as prices of the plan that is carried out?"
)
MARGIN = (
    "In the revised plan, which limit is worth the most at the margin, by how much would the objective change for "
    "one unit "
    "more of it, and which limits leave room?"
)
Entities = list[tuple[str, list[str]]]
Sentences = list[tuple[str, list[str], bool]]


def draft_rubric(known: GeneratedInstance, after: ProgramRun) -> dict[str, Any]:
    """Return the question of an instance with its checklist, as the release writes rubrics."""
    place = (known.number - 1) % 3
    text, entities, sentences, answer = (_trace, _compare, _interpret)[place](known, after)
    checklist: list[dict[str, Any]] = []
    for what, names in entities:
        checklist.append({"criterion_id": f"c{len(checklist) + 1}", "checklist_type": "exact_match", "criterion": what,
                          "target_entities": list(dict.fromkeys(names))})  # fmt: skip
    for what, together, denied in sentences:
        checklist.append({
            "criterion_id": f"c{len(checklist) + 1}", "checklist_type": "llm_boolean_judgment", "criterion": what,
            "instruction_for_judge": "A hit where one sentence says it, and none the contrary.",
            "predicate": {"together": together, "denied": denied},
        })  # fmt: skip
    return {
        "instance_id": f"made_explain_{known.number:03d}", "workspace_id": f"made_{known.number:03d}_explain",
        "instance_number": known.number, "dimension": DIMENSIONS[place], "question": text,
        "expected_short_answer": answer, "multi_hop_path": f"{REQUIREMENT} -> program -> data -> records",
        "checklist": checklist,
    }  # fmt: skip


def figure(value: float) -> str:
    """Return a number as checklists have it."""
    return f"{value:.10g}"


def _trace(known: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    names, rules = [one.name for one in known.figures], list(changed_rules(known.milp, known.revised))
    entities: Entities = [("Names the new figures", names), ("Names their file", [parameters.FILE])]
    entities += [("Names the rules", rules[:4])] if rules else []
    values: Sentences = [
        (f"Gives the value of {one.name}", [one.name, figure(one.value)], False) for one in known.figures
    ]
    return TRACE, entities, values, "; ".join(f"{one.name} = {figure(one.value)}" for one in known.figures)


def _compare(known: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    old, new, change = map(figure, (known.optimum, known.revised_optimum, known.revised_optimum - known.optimum))
    kinds = {rule_of(one.name) for one in known.revised.variables} - {rule_of(one.name) for one in known.milp.variables}
    rules = list(changed_rules(known.milp, known.revised))
    entities: Entities = [("Gives both optima", [old, new]), ("Names the figures", [one.name for one in known.figures])]
    entities += [("Names the rules that are new or changed", rules[:4])] if rules else []
    entities += [("Names the new decisions", sorted(kinds)[:3])] if kinds else []
    return COMPARE, entities, [("Says by how much", [old, new, change], False)], f"It moves from {old} to {new}."


def _interpret(known: GeneratedInstance, after: ProgramRun) -> tuple[str, Entities, Sentences, str]:
    last = after.last_model
    assert last is not None
    assert last.milp is not None
    assert last.solution is not None
    if last.relaxed is not None and last.relaxed.objective is not None:
        value, whole = figure(last.relaxed.objective), figure(known.revised_optimum)
        sentences: Sentences = [
            ("Holds both values against each other", [value, whole], False),
            ("Denies that duals of the relaxation are prices of the plan", ["relaxation", "duals"], True),
        ]
        answer = f"The relaxation comes to {value}, the plan to {whole}; its duals are not the plan's prices."
        return RELAX, [("Gives both values", [value, whole])], sentences, answer
    duals = last.solution.duals
    row = max((one.name for one in last.milp.rows), key=lambda name: (abs(round(duals[name], 9)), name))
    slack = [one.name for one in last.milp.rows if last.solution.slacks[one.name] > 1e-6][:1]
    entities: Entities = [("Names the dearest limit and its dual", [row, figure(duals[row])])]
    entities += [("Names one that leaves room", slack)] if slack else []
    worth: Sentences = [("Says what one unit is worth", [row, figure(duals[row])], False)]
    return MARGIN, entities, worth, f"{row} binds; one unit more changes the objective by {figure(duals[row])}."
