"""Telling feeds of what readers said from feeds of posts, by address and title."""

import re
from urllib.parse import urlsplit

_PATH = re.compile(
    r"(?:^|/)(?:comments?|kommentare|commentaires|comentarios|commenti|reacties)(?:[/.]|$)"
    r"|/comments?[-_]?(?:feed|rss)",
    re.IGNORECASE,
)
_QUERY = re.compile(r"(?:^|&)(?:feed|format|type)=comments?-", re.IGNORECASE)
# As WordPress, Blogger, Drupal and their translations put it.
_TITLES = (
    r"\bcomments?[- ](?:feed|rss|on|for|to|by)\b",
    r"\b(?:recent|latest|all|new) comments\b",
    r"\bcomments$",
    r"\bkommentar(?:e|en)?[- ]?(?:feed|rss|zu|zum|zur|für|von)\b",
    r"\b(?:neueste|alle) kommentare\b",
    r"\bkommentare$",
    r"\bcommentaires (?:sur|pour|de)\b",
    r"\bflux des commentaires\b",
    r"\bcomentarios (?:en|de|sobre|para)\b",
    r"\bfeed de los comentarios\b",
    r"\bcomentários (?:em|sobre|para|de)\b",
    r"\bcommenti (?:su|a|per|di)\b",
    r"\bfeed dei commenti\b",
    r"\breacties (?:op|voor)\b",
    r"\bkomentarze do\b",
)
_TITLE = re.compile("|".join(_TITLES), re.IGNORECASE)


def is_comment_feed(url: str, title: str) -> bool:
    """Whether a feed brings what readers say of posts, not posts."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(_PATH.search(parts.path) or _QUERY.search(parts.query) or _TITLE.search(title))
