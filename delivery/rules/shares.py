"""A lane's connections, shared by the workers that send through it."""

from collections.abc import Collection


def share(concurrency: int, others: Collection[int]) -> int:
    """How many connections are mine, with what the `others` hold now: a fair part of what they leave.

    In sum there are never more than `concurrency`. Who comes new gets what is free; the others shrink to
    their fair part when they ask next, and then the new one has its own.
    """
    fair = -(-concurrency // (len(others) + 1))
    return max(min(fair, concurrency - sum(others)), 0)
