"""Workers share a lane's connections: never too many in total, and each gets its share."""

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import share

turns = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["ask", "ask", "ask", "leave"])), max_size=80)


def test_a_new_worker_waits_until_the_others_have_shrunk() -> None:
    assert share(10, []) == 10
    assert share(10, [10]) == 0
    assert share(10, [0]) == 5
    assert share(10, [5]) == 5


@given(turns=turns, concurrency=st.integers(1, 100))
def test_there_are_never_more_connections_than_the_lane_has(
    turns: list[tuple[int, str]], concurrency: int
) -> None:
    held: dict[int, int] = {}
    for worker, turn in turns:
        held.pop(worker, None)
        if turn == "ask":
            held[worker] = share(concurrency, held.values())
        assert sum(held.values()) <= concurrency


@given(workers=st.integers(1, 12), concurrency=st.integers(1, 100))
def test_after_one_renewal_of_each_all_is_given_out_and_nearly_even(workers: int, concurrency: int) -> None:
    held: dict[int, int] = {}
    for worker in range(workers):
        others = [count for other, count in held.items() if other != worker]
        held[worker] = share(concurrency, others)
    for _ in range(2):
        for worker in range(workers):
            held[worker] = share(concurrency, [count for other, count in held.items() if other != worker])
    assert sum(held.values()) == concurrency
    assert max(held.values()) <= -(-concurrency // workers)


@given(others=st.lists(st.integers(0, 100), max_size=5), concurrency=st.integers(1, 100))
def test_a_lane_that_became_narrower_takes_from_all(others: list[int], concurrency: int) -> None:
    assert 0 <= share(concurrency, others) <= concurrency
