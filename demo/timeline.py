"""Posts of bridges, in a file that the processes share."""

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TIMELINE, PICTURES = "timeline.jsonl", "pictures"
# Limits a demo that runs for weeks.
MOST_POSTS = 200
# https://discord.com/developers/docs/reference#snowflakes
EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimelinePost:
    """`at` is ISO 8601; `body` is as the service stores it, None for a deleted post."""

    service: str
    number: str
    at: str
    body: dict[str, Any] | None = field(default_factory=dict)


class Timeline:
    """Thread-safe; only one process may use the file at a time."""

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self._file, self._pictures = folder / TIMELINE, folder / PICTURES
        self._lock = threading.RLock()
        self._posts: dict[tuple[str, str], TimelinePost] = {}
        self._count = 0
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                self._take(TimelinePost(**json.loads(line)))

    def posts(self, service: str) -> list[TimelinePost]:
        with self._lock:
            return [post for post in reversed(self._posts.values()) if post.service == service]

    def find(self, service: str, number: str) -> TimelinePost | None:
        with self._lock:
            return self._posts.get((service, number))

    def add(self, service: str, body: dict[str, Any]) -> TimelinePost:
        with self._lock:
            # Ids grow, and contain the time as Discord's do.
            now = self.clock()
            number = str(((now - EPOCH) // timedelta(milliseconds=1) << 22) + self._count)
            return self._write(TimelinePost(service, number, now.isoformat(), body))

    def change(self, post: TimelinePost, body: dict[str, Any] | None) -> TimelinePost:
        """None deletes the post."""
        with self._lock:
            return self._write(replace(post, body=body))

    def keep_picture(self, data: bytes, alt: str) -> str:
        with self._lock:
            number = self.add(PICTURES, {"alt": alt}).number
            self._pictures.mkdir(exist_ok=True)
            (self._pictures / number).write_bytes(data)
            return number

    def picture(self, number: str) -> bytes | None:
        if self.find(PICTURES, number) is None:
            return None
        return (self._pictures / number).read_bytes()

    def _write(self, post: TimelinePost) -> TimelinePost:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(asdict(post))}\n")
        self._take(post)
        return post

    def _take(self, post: TimelinePost) -> None:
        key = post.service, post.number
        self._count += key not in self._posts
        if post.body is None:
            self._posts.pop(key, None)
            return
        self._posts[key] = post
        while len(self._posts) > MOST_POSTS:
            service, number = next(iter(self._posts))
            del self._posts[service, number]
            if service == PICTURES:
                (self._pictures / number).unlink(missing_ok=True)
