"""A scripted writer that reads its prompts: what strategies come to with as many calls, and the tokens that they need.

python tests/benchmarks/bench_attentive.py --calls 200 --seeds 10
python tests/benchmarks/bench_attentive.py --calls 60 --seeds 3 --lines 100  # tokens, for programs of 100 lines
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))  # the writer is the tests' own
from oragent.search.store import Store
from tests.search.attentive import LANDSCAPES, played

STRATEGIES = {
    "or_agent, tree": ("or_agent", "or_agent.rounds=tree"),
    "or_agent, actions": ("or_agent", "or_agent.rounds=actions"),
    "or_agent, sweeps": ("or_agent", "or_agent.rounds=actions"),
    "funsearch": ("funsearch",),
    "hill": (str(Path(__file__).with_name("hill.py")),),
    "random": ("random",),
}


def main() -> None:
    """Search each landscape by each strategy and seed; print the best scores, and tokens a scored program by role."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lines", type=int, default=0, help="further lines of each program")
    parser.add_argument("--only", default="", help="strategies, with a semicolon between them")
    parser.add_argument("--set", action="append", default=[], help="further setting of a search")
    given = parser.parse_args()
    for strategy in given.only.split(";") if given.only else STRATEGIES:
        tokens: Counter[tuple[str, str]] = Counter()
        scored = 0
        name, *settings = STRATEGIES[strategy]
        for landscape in LANDSCAPES:
            best = []
            for seed in range(given.seeds):
                with tempfile.TemporaryDirectory() as root:
                    folder, result = played(
                        Path(root),
                        landscape,
                        name,
                        given.calls,
                        seed,
                        *settings,
                        *given.set,
                        lines=given.lines,
                        sweeps=strategy.endswith("sweeps"),
                    )
                    best.append(result.progress.best.score)
                    scored += count_tokens(folder.database, tokens)
            each = ", ".join(f"{score:.3f}" for score in best)
            print(f"{landscape:7} {strategy:18} median {median(best):8.3f} ({each})", flush=True)
        roles = sorted({role for role, _ in tokens})
        figures = ", ".join(
            f"{role} {tokens[role, 'in'] / scored:.0f}/{tokens[role, 'out'] / scored:.0f}" for role in roles
        )
        total = {way: sum(count for (_, at), count in tokens.items() if at == way) / scored for way in ("in", "out")}
        print(
            f"tokens  {strategy:18} a scored program: {total['in']:.0f} in, {total['out']:.0f} out ({figures}); {scored} scored"
        )


def count_tokens(database: Path, tokens: Counter[tuple[str, str]]) -> int:
    """Add the tokens of a run by role, and return the number of its programs that have a score."""
    with Store(database, readonly=True) as store:
        for reply in store.replies.all_replies():
            tokens[reply.role, "in"] += reply.tokens_in
            tokens[reply.role, "out"] += reply.tokens_out
        return sum(record.score is not None and not record.candidate.is_probe for record in store.records()[1:])


if __name__ == "__main__":
    main()
