"""Changes of a post's words, in bounded time."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, groupby

from common.html.clean import lines
from common.text import WITHOUT_BLANKS
from feeds.parsing.entry import Entry

# (kind, words)
Change = tuple[str, str]
KEPT, REMOVED, ADDED = "kept", "removed", "added"
LEFT_OUT = "left out"
# Comparisons of words; a text that needs more is shown as replaced.
MOST_STEPS = 5_000_000
# Words around a change, and of a change in excerpts.
AROUND = 10
MOST_WORDS = 80
# Characters of an excerpt.
LONGEST = 20_000
_WORD = re.compile(rf"[{WITHOUT_BLANKS}]|\s+|[^\W{WITHOUT_BLANKS}]+(?:['’.,-][^\W{WITHOUT_BLANKS}]+)*|.")
_TOKEN = re.compile(r"\S+\s*|\s+")


def text_of(entry: Entry) -> str:
    """Return the title and the text, with a line for each paragraph."""
    return "\n".join((entry.title, *lines(entry.html)))


def changes(old: str, new: str) -> list[Change]:
    """Return what is kept and removed, which is the old text, and what is kept and added: the new one.

    Compares lines, then the words of changed lines.
    """
    parts: list[Change] = []
    steps = MOST_STEPS
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    runs, steps = _compared(before, after, steps)
    for kept, removed, added in runs:
        if kept:
            parts.append((KEPT, "".join(kept)))
            continue
        words, steps = _compared(_WORD.findall("".join(removed)), _WORD.findall("".join(added)), steps)
        for same, *changed in words:
            parts.append((KEPT, "".join(same)))
            parts += zip((REMOVED, ADDED), map("".join, changed), strict=True)
    return list(_merged(parts))


def _merged(parts: Iterable[Change]) -> Iterator[Change]:
    """Join neighbours, with what is removed before what is added."""
    for is_kept, some in groupby((part for part in parts if part[1]), lambda part: part[0] == KEPT):
        run = list(some)
        for kind in (KEPT,) if is_kept else (REMOVED, ADDED):
            if words := "".join(text for each, text in run if each == kind):
                yield kind, words


_Run = tuple[Sequence[str], Sequence[str], Sequence[str]]


def _compared(old: Sequence[str], new: Sequence[str], steps: int) -> tuple[list[_Run], int]:
    """Return runs that are kept, or removed and added, and the steps that are left."""
    first = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    start = min(len(old), len(new)) if first is None else first
    most = min(len(old), len(new)) - start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    runs: list[_Run] = [(old[:start], (), ())]
    cost = _cost(before, after)
    if cost > steps:
        runs.append(((), before, after))
    else:
        steps -= cost
        matcher = SequenceMatcher(str.isspace, before, after, autojunk=False)
        for tag, left, right, from_, to in matcher.get_opcodes():
            is_kept = tag == "equal"
            some = before[left:right]
            runs.append((some, (), ()) if is_kept else ((), some, after[from_:to]))
    return [*runs, (old[len(old) - end :], (), ())], steps


def _cost(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the most steps that SequenceMatcher may take."""
    counts = Counter(token for token in new if not token.isspace())
    pairs = sum(number * counts[token] for token, number in Counter(old).items())
    return (2 * min(len(old), len(new)) + 1) * (pairs + len(old))


def excerpt(
    parts: Sequence[Change], *, around: int = AROUND, most: int = MOST_WORDS, longest: int = LONGEST
) -> list[Change]:
    """Shorten long runs, and all of it. LEFT_OUT takes the place of what is left out."""
    shown: list[Change] = []
    for number, (kind, text) in enumerate(parts):
        tokens = _TOKEN.findall(text)
        if kind == KEPT:
            head, tail = (around if number else 0), (around if number < len(parts) - 1 else 0)
        else:
            head, tail = most, 0
        if len(tokens) <= head + tail + (around if kind == KEPT else 0):
            shown.append((kind, text))
            continue
        pieces = ((kind, tokens[:head]), (LEFT_OUT, ["…"]), (kind, tokens[len(tokens) - tail :]))
        shown += [(each, "".join(some)) for each, some in pieces if some]
    sizes = accumulate(len(text) for _, text in shown)
    fitting = sum(size <= longest for size in sizes)
    # A single word may be too long.
    cut = [(kind, text[:longest]) for kind, text in shown[fitting : fitting + 1] if not fitting]
    return shown if fitting == len(shown) else [*shown[:fitting], *cut, (LEFT_OUT, "…")]


def written(parts: Iterable[Change]) -> str:
    """Return plain text with marks, such as "the [-bee-]{+wasp+}"."""
    marks = {REMOVED: "[-{}-]", ADDED: "{{+{}+}}"}
    return "".join(marks.get(kind, "{}").format(words) for kind, words in parts)
