"""The prompts of every role on one small case; ``python -m tests.workspace.golden_prompts`` writes them anew."""

from pathlib import Path

from oragent.workspace.agent_sessions import fill_prompt
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.agents import LIBRARIES, PROMPTS, system_prompt
from oragent_benchmarks.workspace.views import RevisionView, WorkspaceTask

FOLDER = Path(__file__).parent / "golden"


def prompts() -> dict[str, str]:
    def task(mode: Mode, variant: RevisionView | None = None) -> WorkspaceTask:
        return WorkspaceTask("made_001", 1, mode, variant, Path("view"), "What binds?")

    found = {
        "builder": system_prompt(task(Mode.BUILD)),
        "explainer": system_prompt(task(Mode.EXPLAIN)),
        "judge": fill_prompt("judge", PROMPTS, penalty="12", criteria="- c2: Says why.", exact="- c1.e1: hit", question="What binds?",
                      answer="The $limit binds.", mark="=== answer 0123 ===", evidence="=== docs/a.md\nA limit.\n"),
        "plan": fill_prompt("plan", request="At most 40.", files="=== docs/a.md\nA limit.\n"),
        "change": fill_prompt("change", request="requests/revise-1.md", program="src/a.py", track=LIBRARIES, objective="400"),
    }  # fmt: skip
    found |= {f"reviser_{one.name.lower()}": system_prompt(task(Mode.REVISE, one)) for one in RevisionView}
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in prompts().items():
        (FOLDER / f"{name}.txt").write_text(f"{text}\n")
