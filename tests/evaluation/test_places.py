"""Places are as many as there are now, and go to the smallest number, and to who has waited longest."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.evaluation.pool import Places


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 12))
def test_never_are_more_taken_than_there_are_and_nobody_is_forgotten(sizes: list[int], jobs: int) -> None:
    async def run() -> list[int]:
        places, ended = Places(), []

        async def one(number: int) -> None:
            await places.take()
            assert places.taken <= max([*sizes, 1])
            await asyncio.sleep(0)
            ended.append(number)
            places.give_back()

        tasks = [asyncio.create_task(one(number)) for number in range(jobs)]
        for size in (*sizes, 1):
            places.resize(size)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert places.taken == 0
        return ended

    ended = asyncio.run(run())
    assert sorted(ended) == list(range(jobs))


@given(st.lists(st.integers(-1, 3), max_size=9))
def test_the_smallest_number_is_first_and_of_those_who_came_first(orders: list[int]) -> None:
    async def run() -> list[tuple[int, int]]:
        places, served = Places(1), []
        await places.take()

        async def one(at: int, order: int) -> None:
            await places.take(order)
            served.append((order, at))
            places.give_back()

        tasks = [asyncio.create_task(one(at, order)) for at, order in enumerate(orders)]
        await asyncio.sleep(0)
        places.give_back()
        await asyncio.gather(*tasks)
        return served

    assert asyncio.run(run()) == sorted((order, at) for at, order in enumerate(orders))


def test_who_is_cancelled_while_it_gets_a_place_leaves_it_to_others() -> None:
    async def run() -> int:
        places = Places(1)
        await places.take()
        waiting = asyncio.create_task(places.take())
        await asyncio.sleep(0)
        places.give_back()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return places.taken

    assert asyncio.run(run()) == 0


def test_where_there_will_never_be_one_nobody_waits() -> None:
    async def run() -> None:
        places = Places(0)
        waiting = asyncio.create_task(places.take())
        await asyncio.sleep(0)
        places.fail(OSError("no worker"))
        for take in (waiting, places.take()):
            with pytest.raises(OSError, match="worker"):
                await take

    asyncio.run(run())
