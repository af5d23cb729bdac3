"""The baselines beside ``or_agent``, by evaluations, tokens and money: ``bench_baselines.py [--model NAME] [--out FOLDER]``.

Without ``--model`` a scripted stand-in writes the replies, which changes one number or one operator at random. Its table
shows what the strategies spend and that the measure works, not which strategy is better with a language model.
Its tokens are estimated (four characters each) and its money is at PRICE. ``gp`` asks no model.
"""

import argparse
import statistics
import tempfile
from bisect import bisect_right
from pathlib import Path

from oragent._base.direction import Direction
from oragent.api.comparing import comparison
from oragent.report.run import RunData, load_run

PROBLEMS = ("mkp_aco", "op_aco", "tsp_constructive")
STRATEGIES = ("gp", "random", "hill_climb", "one_shot", "or_agent")
SIZE, SEEDS, EVALUATIONS = 100, 2, 12
# USD per million tokens, in and out, of a small hosted model.
PRICE = (0.4, 1.6)
TOKENS, MONEY = 10_000, 0.006


def spend_at_each_best(data: RunData) -> list[tuple[int, float, float, float]]:
    """Return evaluations, tokens, money and score at each improvement of a run."""
    replies = sorted(data.replies, key=lambda reply: int(reply.case))
    rounds = [int(reply.case) for reply in replies]
    steps: list[tuple[int, float, float, float]] = []
    scored = 0
    for record in data.records:
        if record.candidate.is_probe:
            continue
        scored += 1
        if record.score is None or (steps and not data.about.direction.better(record.score, steps[-1][3])):
            continue
        paid = replies[: bisect_right(rounds, record.round)]
        tokens_in, tokens_out = sum(one.tokens_in for one in paid), sum(one.tokens_out for one in paid)
        money = (tokens_in * PRICE[0] + tokens_out * PRICE[1]) / 1e6
        steps.append((scored, tokens_in + tokens_out, money, record.score))
    return steps


def best_within(steps: list[tuple[int, float, float, float]], column: int, limit: float) -> float:
    """Return the best score within a limit of evaluations (0), tokens (1) or money (2)."""
    return [step[3] for step in steps if step[column] <= limit][-1]


def main() -> None:
    """Run the comparison, or continue that of ``--out``, and print the table of means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--out", type=Path, default=None)
    words = parser.parse_args()
    out = words.out or Path(tempfile.mkdtemp())
    found = comparison(
        PROBLEMS,
        strategies=STRATEGIES,
        seeds=SEEDS,
        model=words.model,
        evaluations=EVALUATIONS,
        outputs=out,
        problem_size=SIZE,
    )
    print(
        f"model {words.model}, {SEEDS} seeds, means on val of size {SIZE}; money at {PRICE} USD a million tokens in, out"
    )
    print(
        f"| problem | strategy | {EVALUATIONS // 2} evaluations | {EVALUATIONS} evaluations | {TOKENS:,} tokens "
        f"| {MONEY} USD | calls | tokens in all | USD in all |\n|---|---|---|---|---|---|---|---|---|"
    )
    for problem in PROBLEMS:
        for strategy in STRATEGIES:
            cells = [run for run in found.summary.results if run.cell.subject == problem]
            runs = [load_run(run.folder) for run in cells if run.cell.contestant == strategy]
            steps = [spend_at_each_best(run) for run in runs]
            limits = ((0, EVALUATIONS // 2), (0, EVALUATIONS), (1, TOKENS), (2, MONEY))
            scores = [statistics.mean(best_within(one, *limit) for one in steps) for limit in limits]
            replies = [run.replies for run in runs]
            tokens = [[sum(one.tokens_in for one in each) for each in replies]]
            tokens.append([sum(one.tokens_out for one in each) for each in replies])
            money = sum(price * statistics.mean(each) for price, each in zip(PRICE, tokens, strict=True)) / 1e6
            sums = f"{statistics.mean(map(len, replies)):.0f} | {sum(map(statistics.mean, tokens)):,.0f} | {money:.3f}"
            mark = " ↑" if runs[0].about.direction is Direction.MAXIMIZE else ""
            print(f"| `{problem}`{mark} | `{strategy}` | {' | '.join(f'{score:.4f}' for score in scores)} | {sums} |")


if __name__ == "__main__":
    main()
