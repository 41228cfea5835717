"""Whether a post still says the same: a digest over what it means, not over when or where it stands."""

import hashlib
import json
from dataclasses import astuple

from feeds.parsing.entry import Entry

VERSION = "1"


def content_hash(entry: Entry) -> str:
    """ "1:" and the hex SHA-256 over title, authors, link, content, summary, media and categories."""
    meaning = [
        entry.title,
        entry.authors,
        entry.link,
        entry.content,
        entry.summary,
        [astuple(medium) for medium in entry.media],
        entry.categories,
    ]
    # Escaped to ASCII, so that even a lone surrogate has one form.
    return f"{VERSION}:{hashlib.sha256(json.dumps(meaning).encode('ascii')).hexdigest()}"
