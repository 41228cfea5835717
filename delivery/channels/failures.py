"""How a request failed, for every channel. Pure."""

from collections.abc import Iterator


def exception_chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, at most ten deep."""
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__
