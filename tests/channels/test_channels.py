"""Bits from one process of a candidate to a later one: how many each channel carries.

No score depends on these channels: a process never holds data that its function may not know. Only the check that
repeats calls in a fresh process could be deceived by them.
"""

import math
import os
import secrets
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Guest
from oragent.harness.wire_format import encode
from oragent.sandbox.isolation.mechanisms import Guarantee, list_not_held
from oragent.sandbox.isolation.probe import probe_mechanisms

CANDIDATE = Path(__file__).parent / "sends_bits.py"
RUNS = int(os.environ.get("ORAGENT_TEST_CHANNEL_RUNS", "100"))
BITS = 3
PERMUTATIONS = 30
pytestmark = pytest.mark.skipif(
    Guarantee.UNSEEN in list_not_held(report.mechanism for report in probe_mechanisms() if report.works),
    reason="this machine has no means to close the channels between processes",
)


def ask(guest: Guest, name: str, *args: object) -> object:
    """Ask a fresh process, which then ends."""
    process = guest.make_fresh_process()
    try:
        return guest.ask_fresh_process(process, encode({"name": name, "args": args, "kwargs": {}}))
    finally:
        guest.end_fresh_process(process)


def channel_names(folder: Path) -> tuple[list[str], list[str]]:
    with make_guest(folder) as guest:
        closed, still_open = ask(guest, "names")
        return closed, still_open


def make_guest(folder: Path) -> Guest:
    program = folder / f"{secrets.token_hex(4)}.py"
    program.write_text(f"SALT = {secrets.token_hex(8)!r}\n{CANDIDATE.read_text()}")
    return Guest(program, "send", functions=("hear", "names"), fresh_processes=True)


def measure(folder: Path, name: str, runs: int) -> tuple[float, float]:
    """Return the share of correct words of a channel, and an estimate of its capacity in bits per process."""
    pairs: Counter[tuple[int, int | None]] = Counter()
    for _ in range(runs):
        with make_guest(folder) as guest:
            sent = ask(guest, "send", [name])
            pairs[sent, ask(guest, "hear", [name]).get(name)] += 1
    correct = sum(count for (sent, word), count in pairs.items() if sent == word) / runs
    return correct, mutual_information(pairs)


def mutual_information(pairs: Counter[tuple[int, int | None]]) -> float:
    """Estimate the information between two variables from counts.

    The estimate from few counts is too high. So the mean of the estimates from permuted words, which carry none, is
    subtracted.
    """
    sent, words = zip(*pairs.elements(), strict=True)
    rng = np.random.default_rng(0)
    permuted = [
        raw_information(Counter(zip(sent, (words[index] for index in rng.permutation(len(words))), strict=True)))
        for _ in range(PERMUTATIONS)
    ]
    return min(max(raw_information(pairs) - float(np.mean(permuted)), 0.0), BITS)


def raw_information(pairs: Counter[tuple[int, int | None]]) -> float:
    total = sum(pairs.values())
    sent, words = Counter[int](), Counter[int | None]()
    for (left, right), count in pairs.items():
        sent[left] += count
        words[right] += count
    return sum(
        count / total * math.log2(count * total / (sent[left] * words[right])) for (left, right), count in pairs.items()
    )


def test_the_estimate_of_information_is_right() -> None:
    assert mutual_information(Counter({(word, word): 500 for word in range(8)})) == pytest.approx(3, abs=0.02)
    # half of the words are right, the others are random: 3 - (9/16 log2(16/9) + 7/16 log2(16)) bits of capacity
    half = Counter({(sent, word): 1 + 8 * (sent == word) for sent in range(8) for word in range(8)})
    true = raw_information(Counter({pair: 1000 * count for pair, count in half.items()}))
    assert mutual_information(Counter({pair: 20 * count for pair, count in half.items()})) == pytest.approx(
        true, abs=0.05
    )
    rng = np.random.default_rng(1)
    independent = Counter(zip(*rng.integers(8, size=(2, 100)).tolist(), strict=True))
    assert mutual_information(independent) < 0.2


def test_a_process_hears_nothing_of_the_one_before(tmp_path: Path) -> None:
    closed, _ = channel_names(tmp_path)
    with make_guest(tmp_path) as guest:
        ask(guest, "send", closed)
        assert ask(guest, "hear", closed) == {}


@pytest.mark.slow
def test_the_capacity_of_each_channel(tmp_path: Path) -> None:
    closed, still_open = channel_names(tmp_path)
    figures = {name: measure(tmp_path, name, RUNS) for name in (*closed, *still_open)}
    for name, (correct, bits) in figures.items():
        print(f"{name:30s} {100 * correct:5.1f} % correct, {bits:.2f} bits per process")
    # chance is right in an eighth of the runs; four standard deviations more
    bound = 1 / 8 + 4 * math.sqrt(7 / 64 / RUNS)
    assert {name: correct for name, (correct, _) in figures.items() if name in closed and correct > bound} == {}
