"""Resources: texts that a client reads by address, such as a problem, a run, a page or the grammar."""

from oragent._base.errors import ConfigError, OragentError
from oragent.api.mcp.answers import hide_secrets, write_answer
from oragent.api.mcp.workplace import Workplace
from oragent.evaluation.problem import list_problems
from oragent.report.run import load_run

# Maximum number of characters.
MAX_TEXT = 20_000


def read_problems(workplace: Workplace) -> str:
    """Return the names and titles of all problems."""
    return "\n".join(f"{problem.name}: {problem.about.title}" for problem in list_problems(workplace.root))


def read_problem(workplace: Workplace, name: str) -> str:
    """Return the text of a problem, with its seed."""
    problem = workplace.find_problem(name)
    return _bound(f"# {problem.about.title}\n\n{problem.brief}\n\n## Seed\n\n{problem.seed}")


def read_runs(workplace: Workplace) -> str:
    """Return the names of all runs, the latest first."""
    return "\n".join(
        workplace.name_run(path.parent) for path in sorted(workplace.outputs.glob("*/*/run.db"), reverse=True)[:200]
    )


def read_run(workplace: Workplace, problem: str, name: str) -> str:
    """Return the state of a run as JSON."""
    data = load_run(workplace.find_run(f"{problem}/{name}"))
    return write_answer(
        {
            "problem": data.about.problem,
            "better": data.about.direction.comparative,
            "seed": data.seed.score,
            "best": {"id": data.best.id, "score": data.best.score},
            "evaluations": data.spend.evaluations,
            "candidates": data.spend.candidates,
            "failures": {str(status): len(records) for status, records in data.failures.items()},
            "end": data.end,
        }
    )


def describe_failure(problem: Exception) -> str:
    """Return one line on why a resource cannot be read."""
    if isinstance(problem, OragentError | OSError):
        return hide_secrets(str(problem))
    return str(ConfigError("the resource cannot be read"))


def _bound(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return hide_secrets(text)
    return hide_secrets(text[:MAX_TEXT] + "\n(cut: the tool describe_problem has all pages)\n")
