"""LEVI: a large model writes a few ideas, a small model most programs; cells of the archive depend on syntax.

Tanveer et al. 2026 (arXiv:2605.09764; official code: ttanv/levi).

- Seeds: the large model (role ``idea``) writes four seeds, each by a different algorithm. The small model (role
  ``code``) writes variants of them.
- Cells: the counts of loops, branches, operators and nesting in these programs define at most fifty cells of an
  archive. Each cell keeps its best program, the elite.
- Improvement: the small model improves a program that is drawn by a softmax over scores, at one of four temperatures.
  The prompt shows another elite with probability 0.8, and advice with probability 0.8.
- Paradigm: every ten rounds the large model sees the best programs of three regions of the archive and writes a program
  of another paradigm. If the program enters the archive, the small model makes three variants.
- Advice: every fifty rounds a model writes advice from recent candidates.
- Proxy: with ``proxy``, one size is chosen whose ranking of the first programs agrees best with the ranking on all
  sizes. A program that is much worse at that size than its cell's elite is not scored on the other sizes.

Differences from the paper: rounds overlap, and intervals are in rounds instead of evaluations. Cells are computed from
the first programs themselves; the official code adds noise. The proxy is one of the problem's sizes; LEVI chooses among
inputs. Variants use at most a fifth of the budget. The archive contains the problem's seed heuristic. Prompts show all
figures (``strategy.show=paper``: scores). Set the large model by ``models={idea: {name: ...}}``.

Cells are Voronoi cells of syntax counts. Their centroids are computed from the first programs, as in CVT-MAP-Elites
(Vassiliades et al. 2018, doi:10.1109/TEVC.2017.2735550).
"""

import ast
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le, Lt, MinLen
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from oragent._base.errors import CandidateError
from oragent._base.settings import STRICT
from oragent.programs.inspection import parse_tree
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import Told
from oragent.search.prompting.prompt_templates import task_messages
from oragent.search.round_context import RoundContext
from oragent.search.scoring import Gate
from oragent.search.strategies.asking import ask_for_program, part_of_budget
from oragent.search.strategies.operators import read_prose, write_prompt
from oragent.search.strategy import Strategy

# Minimum standard deviation of a count, and maximum absolute z-score.
MIN_DEVIATION, FARTHEST = 0.1, 10.0
# Iterations of Lloyd's method.
STEPS = 20
# Patterns of loops, branches and operators in languages other than Python.
SYNTAX = (r"\b(?:for|while)\b", r"\b(?:if|switch)\b", r"[-+*/%]")
LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.Match)
Points = NDArray[np.float64]


# Kinds of notes: the fingerprint of a seed, and a piece of advice.
SEED, ADVICE = "levi seed", "levi advice"
# Largest number of words of a piece of advice.
WORDS = 250
# Number of recent candidates in the prompt for advice.
RECENT = 50
# Smaller differences are ties.
ALIKE = 1e-12
# Weights R, A and C in ``rank_faithful``.
RANKING, SEPARATION, REDUNDANCY = 0.5, 0.5, 0.15


@lru_cache(4096)
def count_syntax(source: str) -> tuple[float, float, float, float]:
    """Count loops, branches, arithmetic operators and loop depth.

    In other languages than Python, patterns of words are counted.
    """
    try:
        module = parse_tree(source)
    except CandidateError:
        words = [float(len(re.findall(pattern, source))) for pattern in SYNTAX]
        return words[0], words[1], words[2], 0.0
    nodes = list(ast.walk(module))
    kinds = (LOOPS, BRANCHES, (ast.BinOp, ast.AugAssign))
    loops, branches, arithmetic = (float(sum(isinstance(node, kind) for node in nodes)) for kind in kinds)
    return loops, branches, arithmetic, float(_loop_nesting(module))


def _loop_nesting(node: ast.AST) -> int:
    below = max((_loop_nesting(child) for child in ast.iter_child_nodes(node)), default=0)
    return below + isinstance(node, ast.For | ast.While | ast.AsyncFor)


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Cells around centroids of counts; counts are normalised by mean and standard deviation."""

    mean: Points
    deviation: Points
    centroids: Points

    @classmethod
    def of(cls, sources: list[str], limit: int) -> "Cells":
        """Return the cells of a non-empty list of programs, with at most ``limit`` centroids."""
        raw = np.array([count_syntax(source) for source in sources])
        spread = raw.std(axis=0, ddof=1) if len(raw) > 1 else np.ones(raw.shape[1])
        unclustered = cls(raw.mean(axis=0), np.maximum(spread, MIN_DEVIATION), np.empty((0, raw.shape[1])))
        points = np.array([unclustered.place(source) for source in sources])
        return cls(unclustered.mean, unclustered.deviation, find_centroids(points, limit))

    def place(self, source: str) -> Points:
        """Return the ``(d,)`` normalised counts of a program: z-scores, mapped to [0, 1] by a sigmoid."""
        scores = (np.array(count_syntax(source)) - self.mean) / self.deviation
        return 1.0 / (1.0 + np.exp(-np.clip(scores, -FARTHEST, FARTHEST)))

    def cell(self, source: str) -> int:
        """Return the cell of a program: the index of the nearest centroid, the first of equally near ones."""
        return int(np.argmin(((self.centroids - self.place(source)) ** 2).sum(axis=1)))


def find_centroids(points: Points, limit: int) -> Points:
    """Return ``(k, d)`` centroids of ``(n, d)`` points, ``k <= limit``, by Lloyd's method from distant points."""
    distinct = np.unique(points, axis=0)
    chosen = [int(np.argmin(((distinct - points.mean(axis=0)) ** 2).sum(axis=1)))]
    while len(chosen) < min(limit, len(distinct)):
        gaps = ((distinct[:, None] - distinct[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(np.argmax(gaps)))
    centroids = distinct[chosen]
    for _ in range(STEPS):
        nearest = ((points[:, None] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
        moved = np.array(
            [
                points[nearest == index].mean(axis=0) if np.any(nearest == index) else centroid
                for index, centroid in enumerate(centroids)
            ]
        )
        if np.allclose(moved, centroids):
            break
        centroids = moved
    return centroids


@dataclass(frozen=True, config=STRICT)
class LeviSettings:
    """Settings under ``strategy.options``.

    Attributes:
        seeds: Number of programs that the large model writes at first.
        tries: Maximum number of requests for each, until one has a score.
        variants: Number of variants of each seed; fewer if that would be more than a fifth of the budget.
        cells: Maximum number of cells.
        temperatures: Temperatures of the draw of parents, each with the same probability.
        shown: Probability that the prompt shows another elite, and probability that it shows advice.
        shift: Number of rounds from one change of paradigm to the next.
        regions: Number of programs in the prompt for another paradigm.
        refinements: Number of variants of a new paradigm that enters the archive.
        advice: Number of rounds from one piece of advice to the next.
        proxy: Whether programs are scored on one size first.
        slack: Maximum gap to the elite of the cell at that size, as a share of the elite's score.
    """

    seeds: Annotated[int, Ge(1)] = 4
    tries: Annotated[int, Ge(1)] = 3
    variants: Annotated[int, Ge(0)] = 20
    cells: Annotated[int, Ge(1)] = 50
    temperatures: Annotated[tuple[float, ...], MinLen(1)] = (0.3, 0.7, 1.0, 1.2)
    shown: Annotated[float, Ge(0), Le(1)] = 0.8
    shift: Annotated[int, Ge(1)] = 10
    regions: Annotated[int, Ge(1)] = 3
    refinements: Annotated[int, Ge(0)] = 3
    advice: Annotated[int, Ge(1)] = 50
    proxy: bool = False
    slack: Annotated[float, Ge(0), Lt(1)] = 0.2


async def play_round(run: RoundContext) -> None:
    """Write the seeds, a variant of them, an improvement, or a program of another paradigm."""
    options: LeviSettings = run.own
    first = 1 + variant_count(run)
    if run.turn == 1:
        await _write_seeds(run)
    elif run.turn <= first:
        await _write_variant(run)
    else:
        cells, holders = cell_elites(run, first)
        if (run.turn - first) % options.advice == 0:
            await _write_advice(run)
        if (run.turn - first) % options.shift == 0:
            await _shift_paradigm(run, cells, holders)
        else:
            await _improve_elite(run, cells, holders)


def variant_count(run: RoundContext) -> int:
    """Return the number of variants of all seeds together."""
    return part_of_budget(run, run.own.seeds * run.own.variants)


def cell_elites(run: RoundContext, first: int) -> tuple[Cells, dict[int, Committed]]:
    """Return the cells, computed from the programs of the first rounds, and the best program in each cell."""
    begun = [record for record in run.scored if run.turn_of(record.round) <= first]
    cells = Cells.of([record.source for record in begun], run.own.cells)
    holders: dict[int, Committed] = {}
    for record in run.scored:
        cell = cells.cell(record.source)
        if cell not in holders or run.fitness(record) > run.fitness(holders[cell]):
            holders[cell] = record
    return cells, holders


async def _write_seeds(run: RoundContext) -> None:
    """Ask the large model for the seeds, each by a different algorithm; weak seeds are kept."""
    seeds: list[Elite] = []
    for _ in range(run.own.seeds):
        failure = ""
        for _ in range(run.own.tries):
            task = run.fill_template("levi_seed", run.style, failure=failure)
            messages = task_messages(run, write_prompt(run, task, seeds, "answer_code", paper=Told.SCORE, anew=True))
            candidate = await ask_for_program(run, "idea", messages, [])
            if candidate.score is not None:
                seeds.append(Elite.of(candidate))
                run.note(SEED, candidate.fingerprint)
                break
            failure = f"\n\nYour last attempt failed: {candidate.evaluation.message[:500]}"


async def _write_variant(run: RoundContext) -> None:
    marks = {note.text for note in run.recall(SEED)}
    seeds = [record for record in run.scored if record.candidate.fingerprint in marks] or run.scored[:1]
    places = run.rng.permutation(len(seeds))[:2]
    shown = sorted((seeds[int(index)] for index in places), key=run.fitness)
    await _ask_for_child(run, "code", "levi_variant", shown)


async def _improve_elite(run: RoundContext, cells: Cells, holders: Mapping[int, Committed]) -> None:
    """Ask the small model to improve an elite; the prompt may show another elite and advice."""
    options: LeviSettings = run.own
    members = list(holders.values())
    temperature = options.temperatures[int(run.rng.integers(len(options.temperatures)))]
    parent = _draw_member(run, members, temperature)
    others = [member for member in members if member is not parent]
    beside = others and run.rng.random() < options.shown
    shown = [others[int(run.rng.integers(len(others)))]] if beside else []
    notes = run.recall(ADVICE)
    if notes and run.rng.random() < options.shown:
        advice = f"\n\nAdvice from the search so far:\n{notes[-1].text}"
    else:
        advice = ""
    gate = proxy_gate(run, 1 + variant_count(run), cells, holders) if options.proxy else None
    await _ask_for_child(run, "code", "levi_improve", [*shown, parent], gate, advice=advice)


def _draw_member(run: RoundContext, members: Sequence[Committed], temperature: float) -> Committed:
    fitness = np.array([run.fitness(member) for member in members])
    span = float(np.ptp(fitness)) or 1.0
    weights = np.exp(((fitness - fitness.min()) / span - 1.0) / temperature)
    return members[int(run.rng.choice(len(members), p=weights / weights.sum()))]


async def _shift_paradigm(run: RoundContext, cells: Cells, holders: Mapping[int, Committed]) -> None:
    """Ask the large model for a new paradigm, and the small model for variants if the program enters the archive."""
    candidate = await _ask_for_child(run, "idea", "levi_shift", region_representatives(run, cells, holders))
    if candidate.score is None:
        return
    holder = holders.get(cells.cell(candidate.source))
    if holder is None or run.archive.fitness(candidate.score) > run.fitness(holder):
        refine = partial(_ask_for_child, role="code", template="levi_refine", parents=[candidate])
        await run.fork([refine] * run.own.refinements)


def region_representatives(run: RoundContext, cells: Cells, holders: Mapping[int, Committed]) -> list[Committed]:
    """Return the best program of each region, worst first. Regions are clusters of occupied centroids."""
    points = cells.centroids[list(holders)]
    middles = find_centroids(points, run.own.regions)
    regions: dict[int, Committed] = {}
    for point, record in zip(points, holders.values(), strict=True):
        region = int(np.argmin(((middles - point) ** 2).sum(axis=1)))
        if region not in regions or run.fitness(record) > run.fitness(regions[region]):
            regions[region] = record
    return sorted(regions.values(), key=run.fitness)


async def _write_advice(run: RoundContext) -> None:
    latest = [record for record in run.history if not record.candidate.is_probe][-RECENT:]
    failures = [record.candidate.evaluation.message[:120] for record in latest if record.score is None]
    best = max(run.scored, key=run.fitness)
    lines = [f"Of the latest {len(latest)} programs {len(failures)} have no score."]
    lines += [f"- {message}" for message in dict.fromkeys(failures[-5:])]
    lines.append(f"The best of all has the score {best.score:.6g}; the latest have:")
    lines.append(", ".join(f"{record.score:.6g}" for record in latest if record.score is not None) or "none")
    messages = task_messages(run, run.fill_template("levi_advice", run.style, statistics="\n".join(lines)))
    if words := read_prose((await run.ask("reflect", messages)).text, WORDS):
        run.note(ADVICE, words)


async def _ask_for_child(
    run: RoundContext,
    role: str,
    template: str,
    parents: Sequence[Committed | Candidate],
    gate: Callable[[str], Gate | None] | None = None,
    **more: str,
) -> Candidate:
    shown = [Elite.of(record) for record in parents]
    task, anew = run.fill_template(template, run.style, **more), template == "levi_shift"
    messages = task_messages(run, write_prompt(run, task, shown, "answer_code", paper=Told.SCORE, anew=anew))
    return await ask_for_program(run, role, messages, shown, gate=gate)


def rank_faithful(table: Points, count: int) -> list[int]:
    """Choose columns of a ``(programs, tests)`` array of scores greedily by their value.

    The value of a test is 0.5 R + 0.5 A - 0.15 C. R is the share of pairs of programs that the mean of the chosen tests
    and the mean of all tests order alike. A is the mean spread of the chosen tests, divided by the largest spread of a
    test. C is the mean absolute correlation of the test with the tests chosen before.

    Raises:
        ValueError: The table has no program or no test.
    """
    if table.ndim != 2 or not table.size:
        raise ValueError(f"the table must have programs and tests, not shape {table.shape}")
    chosen: list[int] = []
    while len(chosen) < min(count, table.shape[1]):
        remaining = [column for column in range(table.shape[1]) if column not in chosen]
        chosen.append(max(remaining, key=lambda column: _column_worth(table, [*chosen, column])))
    return chosen


def rank_agreement(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the share of pairs that two rankings order alike.

    A tie in both counts 1, a tie in one 1/2; without pairs the share is 1.
    """
    credits = []
    for i, j in combinations(range(len(first)), 2):
        mine, theirs = first[i] - first[j], second[i] - second[j]
        ties = (abs(mine) <= ALIKE) + (abs(theirs) <= ALIKE)
        credits.append({2: 1.0, 1: 0.5}.get(ties, float(mine * theirs > 0)))
    if credits:
        return sum(credits) / len(credits)
    return 1.0


def _column_worth(table: Points, columns: Sequence[int]) -> float:
    spread = table.std(axis=0)
    separation = float(spread[columns].mean() / spread.max()) if spread.max() > ALIKE else 0.0
    ranking = rank_agreement(table.mean(axis=1).tolist(), table[:, columns].mean(axis=1).tolist())
    *earlier, last = columns
    alike = [_absolute_correlation(table[:, last], table[:, column]) for column in earlier]
    return RANKING * ranking + SEPARATION * separation - REDUNDANCY * (sum(alike) / len(alike) if alike else 0.0)


def _absolute_correlation(first: Points, second: Points) -> float:
    if min(first.std(), second.std()) <= ALIKE:
        return float(np.allclose(first, second))
    return abs(float(np.corrcoef(first, second)[0, 1]))


def proxy_gate(
    run: RoundContext, first: int, cells: Cells, holders: Mapping[int, Committed]
) -> Callable[[str], Gate | None] | None:
    """Return the gate at the proxy size, if known. A program must come near the elite of its cell at that size."""
    size = faithful_size(run, first)
    if size is None:
        return None
    sizes, sign = run.problem.about.sizes["val"], run.problem.about.direction.sign

    def required_score(source: str) -> Gate | None:
        holder = holders.get(cells.cell(source))
        row = holder and _scores_by_size(holder.candidate.evaluation.metrics, holder.score or 0.0, sizes)
        if not row:
            return None
        figure = row[sizes.index(size)]
        return Gate(size, figure - sign * run.own.slack * abs(figure))

    return required_score


def faithful_size(run: RoundContext, first: int) -> int | None:
    """Return the size of ``val`` whose ranking of the first programs is nearest to that of all sizes, or None."""
    sizes = run.problem.about.sizes.get("val", [])
    if len(sizes) < 2 or run.settings.problem_size is not None:
        return None
    begun = [record for record in run.scored if run.turn_of(record.round) <= first]
    rows = [_scores_by_size(record.candidate.evaluation.metrics, record.score or 0.0, sizes) for record in begun]
    complete = [row for row in rows if row is not None]
    if len(complete) < 2:
        return None
    sign = run.problem.about.direction.sign
    return int(sizes[rank_faithful(sign * np.array(complete), 1)[0]])


def _scores_by_size(metrics: Mapping[str, Any], score: float, sizes: Sequence[int]) -> list[float] | None:
    """Return a program's score at each size, from the metric whose mean is the score; None if no metric fits."""
    for name in metrics:
        stem, mark, size = name.rpartition("_")
        if mark and size == str(sizes[0]):
            row = [metrics.get(f"{stem}_{size}") for size in sizes]
            numbers = [float(value) for value in row if isinstance(value, int | float)]
            if len(numbers) == len(sizes) and np.isclose(np.mean(numbers), score, rtol=1e-4):
                return numbers
    return None


STRATEGY = Strategy(name="levi", round=play_round, remembers=True, islands=1, blocks=Blocks.NONE, settings=LeviSettings)
