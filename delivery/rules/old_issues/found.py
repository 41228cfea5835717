"""Issues found in another program's export."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from common.html.balance import VOID
from common.refused import Refused
from common.text import one_line

PAID = "It was for paying subscribers."
PRIVATE = "It was private: for members or by email only."
NO_DATE = "It has no date."
NOT_SENT = "It wasn’t sent."
IN_THE_FUTURE = "Its date is in the future."
EMPTY = "It has no text."
# Quoted values may contain ">". No "<" inside, so that all matching together is linear.
_TAG = re.compile(r"""<(/?)([a-zA-Z][\w:-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>""")
# Markdown of this size or more may be refused, so a preview reads it.
MOST_UNREAD = 100_000
_MARKS = " \t,;:–—-"
_BEFORE_MARK = re.compile(r"\s+([,;:.!?])")
_NAMED = re.compile(r"""\s(?:class|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OldIssue:
    """`key` is unique among all programs'; `read` returns its uncleaned HTML, and raises Refused.

    `note` tells of a doubt. `names` are what links to it end with there, such as its slug.
    """

    key: str
    title: str
    at: datetime
    read: Callable[[], str]
    note: str = ""
    names: frozenset[str] = frozenset()
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class NotTaken:
    title: str
    why: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Issues are sorted by date, then by key, so that work can go on at a number."""

    program: str
    issues: Sequence[OldIssue]
    refused: Sequence[NotTaken] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """`zone` is for times without one. `address`: the old site, "" if unknown."""

    zone: tzinfo
    now: datetime
    address: str = ""
    with_paid: bool = False
    with_private: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """Issues of an export while it is read."""

    program: str
    wanted: Wanted
    issues: list[OldIssue] = field(default_factory=list)
    refused: list[NotTaken] = field(default_factory=list)

    def add(
        self,
        key: str,
        title: str,
        at: datetime | None,
        read: Callable[[], str],
        *,
        why: str,
        note: str = "",
        names: Iterable[Any] = (),
        size: int = 0,
        is_paid: bool = False,
        is_private: bool = False,
    ) -> None:
        """Refuse the issue for the reason `why`, if any, for its readers, its date or its `size`."""
        title = title or "Untitled"
        if is_paid and not self.wanted.with_paid:
            why = why or PAID
        elif is_private and not is_paid and not self.wanted.with_private:
            why = why or PRIVATE
        if not why and size > MOST_UNREAD:
            try:
                read()
            except Refused as error:
                why = str(error)
        if at is None or why:
            self.refused.append(NotTaken(title, why or NO_DATE, at))
        elif at > self.wanted.now:
            self.refused.append(NotTaken(title, IN_THE_FUTURE, at))
        else:
            ends = frozenset(str(name).lower() for name in names if name)
            self.issues.append(OldIssue(key, title, at, read, note, ends, is_private and not is_paid))

    def found(self) -> Found:
        return Found(self.program, sorted(self.issues, key=lambda issue: (issue.at, issue.key)), self.refused)


def title_of(text: str, fields: "re.Pattern[str]") -> str:
    """Remove fields such as a reader's name, and the punctuation that belonged to them."""
    rest, count = fields.subn("", text)
    if count:
        rest = _BEFORE_MARK.sub(r"\1", rest).strip(_MARKS)
    return one_line(rest)


def without_parts(html: str, names: Collection[str]) -> str:
    """Remove elements with one of these classes or ids, such as forms to subscribe."""
    parts: list[str] = []
    kept_from, dropped, depth = 0, "", 0
    for tag in _TAG.finditer(html):
        name = tag[2].lower()
        if dropped:
            if name == dropped:
                depth += -1 if tag[1] else 0 if tag[3].endswith("/") else 1
            if not depth:
                kept_from, dropped = tag.end(), ""
        elif not tag[1] and name not in VOID and _is_named(tag[3], names):
            parts.append(html[kept_from : tag.start()])
            dropped, depth = name, 1
    # One without an end stays out, as browsers would put all that follows into it.
    return "".join([*parts, "" if dropped else html[kept_from:]])


def _is_named(attributes: str, names: Collection[str]) -> bool:
    return any(
        word in names for match in _NAMED.finditer(attributes) for word in "".join(match.groups("")).split()
    )


def text_of(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace")
