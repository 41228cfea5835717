"""Child process that finds the keys under which rss2email knows the posts of a feed.

rss2email hashes what an unchanged feedparser gives, so this must not run in a process with our additions.
"""

import json
import resource
import socket
from hashlib import sha1
from io import BytesIO
from typing import Any

from common.child_process import framed, messages, set_limits

CPU_SECONDS, MEMORY = 20, 1024 * 1024 * 1024
MOST_POSTS = 2_000
HTML_FIRST = ("application/xhtml+xml", "text/html", "text/plain")
TEXT_FIRST = tuple(reversed(HTML_FIRST))


def serve(line: socket.socket) -> None:
    """Answer one job: options as JSON, a zero octet, and the document."""
    set_limits({resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: 0})
    options, _, body = next(messages(line)).partition(b"\0")
    line.sendall(framed(json.dumps(posts_of(body, **json.loads(options))).encode("utf-8")))


def posts_of(body: bytes, *, content_type: str, url: str, wants_html: bool) -> list[dict[str, str]]:
    """Return id, link and hash of each post."""
    import feedparser

    headers = {"content-type": content_type, "content-location": url}
    parsed = feedparser.parse(BytesIO(body), response_headers=headers)
    return [
        {"id": _text(each.get("id")), "link": _text(each.get("link")), "hash": _hash(each, wants_html)}
        for each in parsed.entries[:MOST_POSTS]
    ]


def _hash(entry: Any, wants_html: bool) -> str:
    contents = [
        *entry.get("content", ()),
        *([entry["summary_detail"]] if entry.get("summary_detail") else ()),
    ]
    kinds = HTML_FIRST if wants_html else TEXT_FIRST
    best = next(
        (one for kind in kinds for one in contents if one.get("type") == kind),
        contents[0] if contents else {},
    )
    text = _text(best.get("value")).strip() or _text(entry.get("link")) or _text(entry.get("title"))
    return sha1(text.encode("unicode-escape"), usedforsecurity=False).hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
