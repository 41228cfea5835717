"""Tables of Markdown, for the pages of docs/reference/."""

import re
from collections.abc import Iterable, Iterator


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(map(escaped, row))} |"
    yield ""


def escaped(text: str) -> str:
    """Link the pages that a text names, and escape it outside code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    parts[::2] = [
        re.sub(
            r"docs/([\w/-]+\.md)(#[\w-]+)?", r"[\1](../\1\2)", part.replace("<", "&lt;").replace("*", r"\*")
        )
        for part in parts[::2]
    ]
    return "".join(parts).replace("|", r"\|")
