from feeds.parsing.identity import canonical, link_hash


def author_key(url: str) -> str:
    """Return 32 hex digits, equal for spellings of one address; "" for none."""
    return link_hash(canonical(url).rstrip("/"))
