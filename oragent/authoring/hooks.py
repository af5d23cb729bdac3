"""Check that an evaluator's hooks are those of problem.yaml, and that observing them changes no score."""

import re

from oragent.authoring.bench import ScoringBench, Seed, explain_failure
from oragent.authoring.finding import ContractFinding, Level
from oragent.evaluation.offers import OBSERVER, describe_missing, find_options

TITLE = "hooks"
COUNTING = """
calls = {}
def observe(hook, data):
    calls[hook] = calls.get(hook, 0) + 1
    if hook == "end":
        for name, count in calls.items():
            print("called", name, count)
"""
CALLED = re.compile(r"^called (.+) (\d+)$", re.MULTILINE)
PATIENCE = 5  # who is watched takes longer


def check_hooks(bench: ScoringBench, seed: Seed) -> ContractFinding:
    """Watch the seed in mode train, if the evaluator can be watched."""
    declared = set(bench.problem.about.hooks)
    text = bench.problem.evaluator.read_text(encoding="utf-8", errors="replace")
    offered = ("hooks" in text or bool(declared)) and OBSERVER in find_options(bench.problem, bench.root, bench.score)
    if not offered and declared:
        reason = describe_missing(OBSERVER)
        message = f"problem.yaml tells of {_join_sorted(declared)}, but {reason}; give harness.run(..., hooks=...)"
        return ContractFinding(Level.FAILURE, TITLE, message)
    if not offered:
        return ContractFinding(Level.OK, TITLE, f"none: {describe_missing(OBSERVER)}")
    if not declared:
        message = "the evaluator can be watched, but problem.yaml says nothing under hooks, so no model knows of it"
        return ContractFinding(Level.WARNING, TITLE, message)
    watched = bench.run(mode="train", observer=COUNTING, patience=PATIENCE)
    if watched.score is None:
        return ContractFinding(Level.FAILURE, TITLE, f"watched, the seed gets no score: {explain_failure(watched)}")
    if watched.score != seed.train.score:
        message = f"watched, the seed gets {watched.score}, and else {seed.train.score}; watching must change nothing"
        return ContractFinding(Level.FAILURE, TITLE, message)
    counts = {name: int(count) for name, count in CALLED.findall(watched.log) if name != "end"}
    if silent := declared - counts.keys():
        return ContractFinding(Level.FAILURE, TITLE, f"{_join_sorted(silent)} of problem.yaml is never called on train")
    if unknown := counts.keys() - declared:
        message = f"the evaluator calls {_join_sorted(unknown)}, of which problem.yaml says nothing"
        return ContractFinding(Level.FAILURE, TITLE, message)
    return ContractFinding(
        Level.OK, TITLE, ", ".join(f"{name} ({count} times on train)" for name, count in counts.items())
    )


def _join_sorted(names: set[str]) -> str:
    return ", ".join(sorted(names))
