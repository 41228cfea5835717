"""The Link header of an HTTP answer (RFC 8288): where WebSub looks for hubs first."""

import re

from common.text import one_line

MAX_HEADER = 10_000
MAX_LINKS = 50

_TARGET = re.compile(r"\s*,?\s*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,"<>]+)?(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"<>]*)))?""")


def links_of_header(value: str) -> list[tuple[str, str]]:
    """(relation in lower case, target as it stands) for every relation of every link, in order.

    Links about another resource (`anchor`) are left out; what cannot be read ends the reading.
    """
    found: list[tuple[str, str]] = []
    # On one line: no run of white space is long enough to be tried again and again.
    position, value = 0, one_line(value[:MAX_HEADER])
    while len(found) < MAX_LINKS and (target := _TARGET.match(value, position)):
        parameters, position = _parameters(value, target.end())
        if "anchor" not in parameters:
            found += [(rel, target.group(1).strip()) for rel in parameters.get("rel", "").lower().split()]
        position = _next(value, position)
    return found[:MAX_LINKS]


def _parameters(value: str, position: int) -> tuple[dict[str, str], int]:
    """§3: of a parameter that is there twice, the first counts."""
    found: dict[str, str] = {}
    while match := _PARAMETER.match(value, position):
        name, quoted, token = match.groups()
        text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
        found.setdefault((name or "").lower(), text)
        position = match.end()
    return found, position


def _next(value: str, position: int) -> int:
    """Where the next link begins: after the comma, whatever stands before it."""
    comma = value.find(",", position)
    return comma if comma >= 0 else len(value)
