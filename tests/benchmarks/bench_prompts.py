"""How long the prompts of each strategy are, role by role: tokens a call, and how many of them every prompt begins with.

A scripted model plays 60 calls on a problem of the repository, whose programs are scored by a hash of their text at no
cost; so the same runs can be made on another commit, whose prompts are told apart by nothing but themselves. Tokens are
estimated as prompts are fitted: a token has three letters.

    python -m tests.benchmarks.bench_prompts [FOLDER OF A PROBLEM] [--calls N]
"""

import argparse
import hashlib
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem
from oragent.llm.dialogue import LETTERS_A_TOKEN
from oragent.llm.model import Reply, Request
from oragent.llm.model_settings import ModelSettings
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.genetics.variation import breed_child
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.scripted import make_player
from tests.search.players import search

ROOT = Path(__file__).parents[2]
WITHOUT_A_MODEL = ("gp", "portfolio")  # the latter asks as its members do


class Counting:
    """Passes prompts on to a model, and keeps the lengths of their messages in letters, by role."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.asked: dict[str, list[list[int]]] = defaultdict(list)
        self._begins: dict[str, set[str]] = defaultdict(set)

    async def __call__(self, request: Request) -> Reply:
        self.asked[request.role].append([len(message.content) for message in request.messages])
        self._begins["system"] |= {message.content for message in request.messages if message.role == "system"}
        return await self._model(request)  # type: ignore[no-any-return]

    @property
    def shared(self) -> int:
        """Letters of the message that every prompt begins with; 0 where there is none."""
        begins = self._begins["system"]
        return len(next(iter(begins))) if len(begins) == 1 else 0


def scored(job: Job) -> Evaluation:
    """A score that follows from the text of the program alone, the same on each commit."""
    number = int.from_bytes(hashlib.sha256(job.source.encode()).digest()[:4], "big") / 2**32
    return Evaluation(Status.OK, 6 + number, None, {"length": 6 + number, "heuristic_seconds": 0.2}, wall_s=0.001)


def played(problem: Path, strategy: str, style: str, calls: int) -> Counting:
    """One run of a strategy."""
    model = Counting(make_player(1, breed_child))
    settings = [f"strategy.name={strategy}", "model.name=scripted", "budget.evaluations=null"]
    settings += [f"budget.model_calls={calls}", *([f"model.style={style}"] if style else [])]
    with tempfile.TemporaryDirectory() as folder:
        config = build_config({}, settings, "bench")
        search(make_folder(ROOT, Path(folder), load_problem(problem), config), model, run=scored)
    return model


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("problem", nargs="?", type=Path, default=ROOT / "problems" / "tsp_constructive")
    parser.add_argument("--calls", type=int, default=60)
    chosen = parser.parse_args()
    styles = ("small", "strong") if "style" in ModelSettings.__dataclass_fields__ else ("",)
    print(f"{'strategy':12}{'style':8}{'role':16}{'calls':>6}{'tokens a call':>15}{'of them alike':>15}")
    for strategy in sorted(set(STRATEGIES) - set(WITHOUT_A_MODEL)):
        for style in styles:
            model = played(chosen.problem, strategy, style, chosen.calls)
            every = [lengths for asked in model.asked.values() for lengths in asked]
            for role, asked in (*sorted(model.asked.items()), ("all", every)):
                tokens = sum(map(sum, asked)) / len(asked) / LETTERS_A_TOKEN
                alike = model.shared / LETTERS_A_TOKEN
                print(f"{strategy:12}{style:8}{role:16}{len(asked):6}{tokens:15.0f}{alike:15.0f}", flush=True)


if __name__ == "__main__":
    main()
