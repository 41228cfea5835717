"""By what an author is known when somebody mutes them. Pure."""

from feeds.parsing.identity import canonical, link_hash


def author_key(url: str) -> str:
    """32 hex digits that are the same for the ways to write an author's address; "" for none."""
    return link_hash(canonical(url).rstrip("/"))
