"""Published results on OR-Space, to stand beside ours.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents", version 1: 100
instances of each mode, Gurobi 12.0.1, 120 s a run, temperature at most 0.1, 32,768 completion tokens (gpt-4o 16,384).
Pass@1 in per cent for build and revise, mean score of 100 for explain. The judge of explain is gpt-5.1.
"""

from dataclasses import dataclass

PROTOCOL = "Gurobi 12.0.1, 120 s a run, temperature at most 0.1; other solvers and time limits differ from ours"


@dataclass(frozen=True)
class Scores:
    """One model's results.

    Attributes:
        model: Name of the model in the paper.
        build: Per cent passed.
        revise_code: Per cent passed, with the original's program shown.
        revise_all: Per cent passed, with program and formulation shown; None where not published.
        revise_model: Per cent passed, with the original's formulation shown; None where not published.
        explain: Mean of 100 points.
    """

    model: str
    build: float
    revise_code: float
    revise_all: float | None
    revise_model: float | None
    explain: float


@dataclass(frozen=True)
class PublishedSolver:
    """Means over models for one solver.

    Attributes:
        solver: Name of the solver.
        build: Per cent passed.
        revise_model: Per cent passed, formulation shown.
        revise_code: Per cent passed, program shown.
        revise_all: Per cent passed, both shown.
        explain: Mean of 100 points.
        range: Largest less smallest of the five.
    """

    solver: str
    build: float
    revise_model: float
    revise_code: float
    revise_all: float
    explain: float
    range: float


@dataclass(frozen=True)
class Flat:
    """One model with tools in a file system, and with all files in one prompt; pairs in this order.

    Attributes:
        model: Name of the model in the paper.
        build: Per cent passed.
        revise_code: Per cent passed.
        explain: Mean of 100 points.
    """

    model: str
    build: tuple[float, float]
    revise_code: tuple[float, float]
    explain: tuple[float, float]


MAIN = (
    Scores("gemini-3.1-pro", 72, 81, 91, 84, 73.00),
    Scores("claude-opus-4-6", 62, 80, 93, 81, 80.20),
    Scores("gpt-5-mini", 58, 77, 86, 80, 82.94),
    Scores("claude-sonnet-4.5-thinking", 53, 76, 84, 73, 79.63),
    Scores("gemini-2.5-flash", 53, 66, 67, 59, 13.79),
    Scores("gpt-4o", 25, 36, 45, 22, 59.36),
    Scores("deepseek-r1-0528", 55, 65, 72, 70, 44.40),
    Scores("qwen3-max", 49, 60, 71, 71, 74.66),
    Scores("qwen3-32b-thinking", 28, 32, 31, 28, 61.28),
    Scores("qwen3-8b", 22, 12, 9, 11, 55.19),
    Scores("gemini-3-flash", 68, 45, 52, 70, 53.24),
    Scores("gpt-5.4", 59, 79, 90, 85, 86.52),
    Scores("claude-sonnet-4.5", 53, 78, 83, 70, 77.58),
    Scores("gpt-5.1", 53, 71, 84, 79, 76.16),
    Scores("gemini-2.5-pro", 47, 69, 89, 71, 32.22),
    Scores("deepseek-v4-pro", 67, 71, 86, 82, 68.87),
    Scores("deepseek-v4-flash", 54, 63, 73, 64, 77.77),
    Scores("qwen3-32b", 32, 20, 32, 24, 61.32),
    Scores("qwen3.5-27b", 25, 48, 40, 41, 77.88),
    Scores("qwen3-14b", 20, 19, 18, 16, 61.03),
)

SNAPSHOT = (  # a later state of the release, withdrawn since: Gurobi 13.0.1, 180 s, some rows of two runs together
    Scores("gemini-3.1-pro", 72, 87, None, None, 73.0),
    Scores("claude-opus-4-6", 62, 87, None, None, 80.2),
    Scores("gpt-5.4", 59, 85, None, None, 86.5),
)

HIGHS = (  # the track nearest to ours
    Scores("gemini-3.1-pro", 66, 77, 76, 76, 57.65),
    Scores("claude-opus-4-6", 67, 83, 84, 87, 75.25),
    Scores("gpt-5.4", 59, 80, 85, 85, 82.20),
    Scores("qwen3-32b", 34, 19, 23, 25, 53.68),
    Scores("qwen3-8b", 7, 2, 1, 2, 53.27),
)

SOLVERS = (
    PublishedSolver("Gurobi", 47.8, 59.0, 57.4, 64.8, 64.9, 17.1),
    PublishedSolver("COPT", 38.3, 46.6, 49.1, 52.4, 57.1, 18.8),
    PublishedSolver("PuLP/CBC", 47.2, 53.5, 59.0, 62.1, 56.1, 14.9),
    PublishedSolver("HiGHS", 45.4, 50.6, 52.1, 48.6, 55.2, 9.9),
)

FLAT = (
    Flat("gemini-3.1-pro", (72, 72), (81, 94), (73.00, 72.55)),
    Flat("deepseek-v4-pro", (67, 70), (71, 85), (68.87, 68.76)),
    Flat("gpt-5.4", (59, 66), (79, 89), (86.52, 86.17)),
    Flat("claude-sonnet-4.5", (53, 62), (78, 85), (77.58, 75.68)),
    Flat("qwen3-max", (49, 60), (60, 75), (74.66, 77.19)),
    Flat("gpt-4o", (25, 44), (36, 50), (59.36, 57.55)),
)

CORRELATIONS = {("build", "revise"): 0.82, ("build", "explain"): 0.16, ("revise", "explain"): 0.28}
"""Over the 20 models; the ranks of models with Gurobi and with COPT correlate by 0.73."""

REVISE_FAILURES = {
    "WrongValue": 19.1, "RuntimeError": 18.2, "TypeError": 3.1, "module_not_found": 2.8, "NameError": 2.2,
}  # fmt: skip
"""Per cent of 2,000 trials of revise, by the release's labels."""


def find_scores(model: str) -> Scores | None:
    """A model's row of the main table; None if the paper does not have it."""
    return next((row for row in MAIN if row.model == model), None)
