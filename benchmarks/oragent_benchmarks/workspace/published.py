"""Published results of language models.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents", version 1: 100
instances of each mode, 120 s per run, temperature at most 0.1, 32,768 completion tokens (gpt-4o 16,384). Pass@1 in
percent for build and revise, mean score of 100 for explain, whose judge is gpt-5.1.
"""

from collections.abc import Sequence

from oragent.evals.bench.tables import TextTable

PROTOCOL = "Gurobi 12.0.1, 120 s a run, temperature at most 0.1; other solvers and time limits differ from ours"
# Columns of the tables below.
MODES = ("build", "revise-code", "revise-all", "revise-model", "explain")
GUROBI = {
    "gemini-3.1-pro": (72, 81, 91, 84, 73.00),
    "claude-opus-4-6": (62, 80, 93, 81, 80.20),
    "gpt-5-mini": (58, 77, 86, 80, 82.94),
    "claude-sonnet-4.5-thinking": (53, 76, 84, 73, 79.63),
    "gemini-2.5-flash": (53, 66, 67, 59, 13.79),
    "gpt-4o": (25, 36, 45, 22, 59.36),
    "deepseek-r1-0528": (55, 65, 72, 70, 44.40),
    "qwen3-max": (49, 60, 71, 71, 74.66),
    "qwen3-32b-thinking": (28, 32, 31, 28, 61.28),
    "qwen3-8b": (22, 12, 9, 11, 55.19),
    "gemini-3-flash": (68, 45, 52, 70, 53.24),
    "gpt-5.4": (59, 79, 90, 85, 86.52),
    "claude-sonnet-4.5": (53, 78, 83, 70, 77.58),
    "gpt-5.1": (53, 71, 84, 79, 76.16),
    "gemini-2.5-pro": (47, 69, 89, 71, 32.22),
    "deepseek-v4-pro": (67, 71, 86, 82, 68.87),
    "deepseek-v4-flash": (54, 63, 73, 64, 77.77),
    "qwen3-32b": (32, 20, 32, 24, 61.32),
    "qwen3.5-27b": (25, 48, 40, 41, 77.88),
    "qwen3-14b": (20, 19, 18, 16, 61.03),
}
# With the solver of this benchmark.
HIGHS = {
    "gemini-3.1-pro": (66, 77, 76, 76, 57.65),
    "claude-opus-4-6": (67, 83, 84, 87, 75.25),
    "gpt-5.4": (59, 80, 85, 85, 82.20),
    "qwen3-32b": (34, 19, 23, 25, 53.68),
    "qwen3-8b": (7, 2, 1, 2, 53.27),
}


def published_table(subject: str, models: Sequence[str]) -> TextTable:
    """Return the published scores of a mode: of the same models if available, otherwise of all."""
    column = MODES.index(subject)
    shown = [model for model in models if model in GUROBI] or GUROBI
    rows = [(f"{model} (Gurobi)", f"{GUROBI[model][column]:g}") for model in shown]
    rows += [(f"{model} (HiGHS)", f"{scores[column]:g}") for model, scores in HIGHS.items()]
    return TextTable(("published", subject), tuple(rows))
