"""Lists of tag=value, as DKIM (RFC 6376 §3.2) and DMARC (RFC 7489 §6.4) have them. Pure."""

import re

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def read_tags(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tags in order, names in lower case, and what is wrong with the list. Raises nothing."""
    tags: dict[str, str] = {}
    wrong: list[str] = []
    for part in text.split(";"):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not _NAME.fullmatch(name):
            wrong.append(f"“{part.strip()[:60]}” is no tag with a value")
        elif name.lower() in tags:
            wrong.append(f"the tag {name.lower()} stands there twice")
        else:
            tags[name.lower()] = value
    return tags, tuple(wrong)
