"""Fresh sets: the same law, as many as test has, nothing of val or test, and the same again from the same seed."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.domains import bpp, cvrp, mkp, network_instances, op, pdn, streams, tsp
from oragent.domains.driving.scenario import LONG, WEAVING
from oragent.harness.arguments import Arguments, parse_arguments
from oragent.harness.figures import fresh as told_of
from oragent.harness.figures import gaps

ROOT = Path(__file__).parents[2]
EVALUATORS = sorted((ROOT / "problems").glob("*/eval.py"))
SIZES = {"train": (1,), "val": (1, 2), "test": (1, 2, 3), "fresh": (1, 2, 3)}
STREAMS: dict[str, tuple[Callable[..., Sequence[Any]], int, int]] = {  # with a size of test, and how many it has
    "tsp_aco": (partial(tsp.stream, tsp.ACO_STREAM), 50, 64),
    "tsp_constructive": (partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM), 200, 64),
    "tsp_gls": (partial(tsp.stream, tsp.GLS_STREAM), 100, 64),
    "cvrp_aco": (cvrp.stream, 20, 64),
    "op_aco": (op.stream, 50, 64),
    "mkp_aco": (mkp.stream, 100, 64),
    "bpp_online": (bpp.weibull_stream, 5000, 5),
    "bpp_offline_aco": (bpp.uniform_stream, 120, 64),
    "tsp_networks": (network_instances.tsp_stream, 200, 10),
    "cvrp_networks": (network_instances.cvrp_stream, 200, 10),
}


def numbers(instance: Any) -> bytes:
    """All that an instance is made of."""
    values = (getattr(instance, field.name) for field in fields(instance))
    return b"".join(np.asarray(value).tobytes() for value in values if not isinstance(value, Enum))


def mean(instances: Sequence[Any]) -> float:
    name = next(name for name in ("items", "prizes", "coordinates") if hasattr(instances[0], name))
    return float(np.mean([getattr(one, name).mean() for one in instances]))


@pytest.mark.parametrize("name", STREAMS)
def test_a_fresh_part_has_the_law_and_number_of_test_and_shares_no_instance_with_it(name: str) -> None:
    stream, size, count = STREAMS[name]
    drawn, again, other = (stream("fresh", size, seed) for seed in (7, 7, 2**64 - 1))
    assert len(drawn) == len(other) == len(stream("test", size)[:count]) == count
    assert [numbers(one) for one in drawn] == [numbers(one) for one in again]
    known = {numbers(one) for mode in ("train", "val", "test") for one in _part(stream, mode, size)}
    assert known.isdisjoint(map(numbers, drawn))
    assert set(map(numbers, drawn)).isdisjoint(map(numbers, other))
    assert len(set(map(numbers, drawn))) == count
    assert mean(drawn) == pytest.approx(mean(stream("test", size)), rel=0.05)


def _part(stream: Callable[..., Sequence[Any]], mode: str, size: int) -> Sequence[Any]:
    try:
        return stream(mode, size)
    except ValueError:
        return ()


@pytest.mark.slow
def test_fresh_sites_and_demands_are_drawn_likewise() -> None:
    network = pdn.generate()
    drawn, again, other = (pdn.fresh_part(seed, network) for seed in (5, 5, 6))
    test = pdn.part("test", pdn.draw_sites(np.random.default_rng(20)), network)
    assert len(drawn) == len(test)
    as_sites = [[(one.probe, *one.keepouts.tolist()) for one in part] for part in (drawn, again, other, test)]
    assert as_sites[0] == as_sites[1]
    assert as_sites[0] not in as_sites[2:]
    for course in (WEAVING, LONG):
        sizes = course.sizes["fresh"]
        demands, same = (course.demands("fresh", sizes, 9) for _ in range(2))
        assert demands == same
        assert {len(of_case) for of_case in demands.values()} == {len(course.seeds["test"])}
        seeds = {one.seed for of_case in demands.values() for one in of_case}
        assert len(seeds) == len(sizes) * len(course.seeds["test"])
        assert seeds.isdisjoint(seed for of_mode in course.seeds.values() for seed in of_mode)
        assert demands[sizes[0]][0].departures


def test_parts_of_one_fresh_set_share_nothing() -> None:
    draws = {streams.legacy(1, name, size).random_sample() for name in ("tsp", "cvrp") for size in (20, 50)}
    assert len(draws) == 4
    assert streams.generator(1, "tsp").random() == streams.generator(1, "tsp").random()


@pytest.fixture
def parse(tmp_path: Path) -> Callable[..., Arguments]:
    (tmp_path / "heuristic.py").write_text("")
    return lambda *words, sizes=SIZES, **more: parse_arguments(
        sizes, [f"--candidate={tmp_path / 'heuristic.py'}", *words], **more
    )


def test_the_seed_is_drawn_at_the_first_look_when_guests_are_there(
    parse: Callable[..., Arguments], monkeypatch: pytest.MonkeyPatch
) -> None:
    entropy = iter([b"\x01" * 8, b"\x02" * 8])
    first, second = parse("--mode=fresh"), parse("--mode=fresh")
    assert not re.search(r"fresh_seed=\d", repr(first))
    monkeypatch.setattr(os, "urandom", lambda count: next(entropy)[:count])
    seeds = first.fresh_seed, second.fresh_seed
    assert seeds == (int.from_bytes(b"\x01" * 8, "big"), int.from_bytes(b"\x02" * 8, "big"))
    assert (first.fresh_seed, second.fresh_seed) == seeds  # drawn once
    assert parse("--mode=fresh", "--fresh_seed=12").fresh_seed == 12
    assert parse("--mode=val").fresh_seed is None


def test_practice_is_a_fresh_set_of_the_sizes_of_val_whose_seed_is_known(parse: Callable[..., Arguments]) -> None:
    sizes = {"train": (50,), "val": (20, 100), "test": (20, 100, 200), "fresh": (20, 100, 200)}
    practice = partial(parse, "--mode=practice", sizes=sizes, race=True)
    first = practice("--instances=8")
    assert (first.mode, first.fresh_seed, first.sizes, first.instances) == ("fresh", 0, (20, 100), range(8))
    assert practice("--fresh_seed=3", "--problem_size=100").fresh_seed == 3
    with pytest.raises(SystemExit):
        practice("--problem_size=200")
    for without in (
        {"train": (50,), "val": (20, 30), "fresh": (20,)},
        {"train": (50,), "val": (20,)},
        {"train": (50,), "val": (20,), "fresh": (20,)},
    ):
        with pytest.raises(SystemExit):
            parse("--mode=practice", sizes=without, race="fresh" not in without or len(without["val"]) > 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--mode=val", "--fresh_seed=3"], "goes with --mode=fresh and --mode=practice alone"),
        (["--mode=fresh", "--fresh_seed=-3"], "a whole number, 0 or more"),
        (["--mode=fresh", "--fresh_seed=x"], "a whole number"),
    ],
)
def test_a_wrong_seed_is_refused_in_one_line(
    words: list[str], told: str, parse: Callable[..., Arguments], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(*words)
    assert told in capsys.readouterr().err


def test_an_evaluator_without_the_mode_offers_nothing_of_it(
    parse: Callable[..., Arguments], capsys: pytest.CaptureFixture[str]
) -> None:
    old = {name: sizes for name, sizes in SIZES.items() if name != "fresh"}
    with pytest.raises(SystemExit):
        parse("--mode=fresh", sizes=old)
    with pytest.raises(SystemExit):
        parse("--fresh_seed=1", sizes=old)
    with pytest.raises(SystemExit):
        parse("--help", sizes=old)
    assert "fresh_seed" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parse("--help")
    assert "--fresh_seed" in capsys.readouterr().out


def test_metrics_tell_the_seed_and_that_there_are_no_references(parse: Callable[..., Arguments]) -> None:
    arguments = parse("--mode=fresh", "--fresh_seed=12")
    assert gaps(arguments, "tsp_aco", {20: [1.0]})["fresh_seed"] == 12
    assert "references" in gaps(arguments, "tsp_aco", {20: [1.0]})["fresh"]
    assert not any(name.startswith("gap") for name in gaps(arguments, "tsp_aco", {20: [1.0]}))
    assert told_of(parse()) == {}


@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda path: path.parent.name)
def test_every_problem_has_a_fresh_set_of_the_sizes_of_test(evaluator: Path) -> None:
    text = evaluator.read_text()
    if sizes := re.search(r"^SIZES = (\{.*\})$", text, re.MULTILINE):
        ends = re.search(r'"test": (\([^)]*\)), "fresh": (\([^)]*\))', sizes[1])
        assert ends is not None
        assert ends[1] == ends[2]
    else:
        assert re.search(r"sizes=(SIZES|WEAVING\.sizes|LONG\.sizes)", text)
