from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from reader.channels.follows import shared_feed_at
from reader.greader.items import Shown
from reader.models import AppPassword, Channel, Follow, Reader
from reader.rules.google_names import StreamName, post_key, stream_name
from reader.rules.order import number_in
from reader.rules.parameters import Parameters

MOST_POSTS = 1_000
Answer = Shown | str


class CallError(Exception):
    """Apps look only at the status."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


def bad_request(message: str) -> CallError:
    return CallError(HTTPStatus.BAD_REQUEST, message)


def unknown(message: str) -> CallError:
    return CallError(HTTPStatus.NOT_FOUND, message)


def signed_out() -> CallError:
    headers = {"X-Reader-Google-Bad-Token": "true", "Google-Bad-Token": "true"}
    return CallError(HTTPStatus.UNAUTHORIZED, "Unauthorized", headers=headers)


@dataclass(frozen=True, slots=True)
class AppCall:
    """Authorized request. `rest` is the path after the call, `body` an uploaded file."""

    password: AppPassword
    given: Parameters
    now: datetime
    rest: str = ""
    body: bytes = b""

    @property
    def reader(self) -> Reader:
        return self.password.reader

    def posts(self) -> list[int]:
        """Leave out invalid ids. Raises CallError without any."""
        named = self.given.many("i")
        if not named:
            raise bad_request("The parameter i (the posts) is missing.")
        if len(named) > MOST_POSTS:
            raise bad_request(f"Name at most {MOST_POSTS:,} posts per request.")
        keys = (post_key(name) for name in named)
        return [key for key in keys if key is not None]

    def streams(self, name: str) -> list[StreamName]:
        """Raises CallError for invalid names."""
        streams = []
        for text in self.given.many(name):
            stream = stream_name(text)
            if stream is None:
                raise bad_request(f"{name} isn’t a feed, folder or state.")
            streams.append(stream)
        return streams

    def folder(self, name: str) -> Channel | None:
        """Raises CallError if unknown."""
        label = self.label(name)
        channel = folder_named(self.reader, label) if label else None
        if label and channel is None:
            raise unknown("Folder not found.")
        return channel

    def label(self, name: str) -> str:
        return next((stream.value for stream in self.streams(name) if stream.kind == "label"), "")


def show_user(call: AppCall) -> Shown:
    reader = call.reader
    return {
        "userId": str(reader.pk),
        "userName": reader.slug,
        "userProfileId": str(reader.pk),
        "userEmail": reader.user.email,
    }


def folders(call: AppCall) -> dict[int, str]:
    channels = call.reader.channels.filter(is_notifications=False).order_by("position", "pk")
    return dict(channels.values_list("pk", "name"))


def folder_named(reader: Reader, name: str) -> Channel | None:
    return reader.channels.filter(is_notifications=False, name=name).first()


def follows_of(reader: Reader, feed: str) -> list[Follow]:
    """Raises CallError without any."""
    rows = Follow.objects.filter(channel__reader=reader, feed=feed_key(feed))
    follows = list(rows.select_related("feed__icon", "channel__reader").order_by("channel__position", "pk"))
    if not follows:
        raise unknown("You don’t follow this feed.")
    return follows


def feed_key(feed: str) -> int | None:
    if feed.isascii() and feed.isdigit():
        return number_in(feed)
    match = shared_feed_at(feed)
    return match.pk if match else None
