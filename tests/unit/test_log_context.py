"""What the log knows of the present work, and when it forgets it."""

import asyncio
import threading

from tuner.nouns import log_context


def test_the_ids_of_a_block_end_with_it_and_so_do_those_added_inside() -> None:
    with log_context.about(block=31):
        log_context.add(job=7)
        assert log_context.present() == {"block": 31, "job": 7}
    assert log_context.present() == {}


def test_a_request_does_not_know_the_ids_of_the_one_before() -> None:
    async def two_on_one_connection() -> None:
        log_context.begin(request="a")
        log_context.add(job=7)
        log_context.begin(request="b")
        assert log_context.present() == {"request": "b"}

    asyncio.run(two_on_one_connection())
    assert log_context.present() == {}


def test_a_thread_of_asyncio_knows_them_and_a_bare_thread_does_not() -> None:
    seen: list[object] = []

    async def ask() -> None:
        with log_context.about(job=7):
            seen.append(await asyncio.to_thread(log_context.present))
            bare = threading.Thread(target=lambda: seen.append(log_context.present()))
            bare.start()
            bare.join()

    asyncio.run(ask())
    assert seen == [{"job": 7}, {}]
