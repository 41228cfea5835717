"""A call of an app: its parameters, and whom and what they name."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from reader.channels.follows import shared_feed_at
from reader.greader.items import Shown
from reader.models import AppPassword, Channel, Follow, Reader
from reader.rules.google_names import StreamName, post_key, stream_name
from reader.rules.order import LARGEST_KEY
from reader.rules.parameters import Parameters


class CallError(Exception):
    """The message is for people; apps go by the status."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


def bad_request(message: str) -> CallError:
    return CallError(HTTPStatus.BAD_REQUEST, message)


def unknown(message: str) -> CallError:
    return CallError(HTTPStatus.NOT_FOUND, message)


def signed_out() -> CallError:
    """Apps sign in anew when they are told this."""
    told = {"X-Reader-Google-Bad-Token": "true", "Google-Bad-Token": "true"}
    return CallError(HTTPStatus.UNAUTHORIZED, "Unauthorized", headers=told)


MOST_POSTS = 1_000

Told = Shown | str


@dataclass(frozen=True, slots=True)
class AppCall:
    """A request that was let in. `rest` is what stands in the address after the call's name; `body` has the
    octets of a file that was sent."""

    password: AppPassword
    given: Parameters
    now: datetime
    rest: str = ""
    body: bytes = b""

    @property
    def reader(self) -> Reader:
        return self.password.reader

    def needed(self, name: str) -> str:
        """The parameter. Raises CallError where it is missing."""
        if value := self.given.one(name):
            return value
        raise bad_request(f"The parameter {name} is missing.")

    def posts(self) -> list[int]:
        """The keys of the posts that are named. Raises CallError where none is."""
        named = self.given.many("i")
        if not named:
            raise bad_request("Say which posts: the parameter i is missing.")
        if len(named) > MOST_POSTS:
            raise bad_request(f"Name at most {MOST_POSTS:,} posts at once.")
        keys = (post_key(name) for name in named)
        return [key for key in keys if key is not None]

    def streams(self, name: str) -> list[StreamName]:
        """The streams that a parameter names. Raises CallError for what is no such name."""
        found = []
        for text in self.given.many(name):
            stream = stream_name(text)
            if stream is None:
                raise bad_request(f"{name} does not name a feed, a folder or a state.")
            found.append(stream)
        return found

    def folder(self, name: str) -> Channel | None:
        """The folder that a parameter names; None where it names none. Raises CallError if it is unknown."""
        label = self.label(name)
        channel = folder_named(self.reader, label) if label else None
        if label and channel is None:
            raise unknown("There is no such folder.")
        return channel

    def label(self, name: str) -> str:
        """The name of the folder in a parameter; "" for none."""
        return next((one.value for one in self.streams(name) if one.kind == "label"), "")


def folders(call: AppCall) -> dict[int, str]:
    """The names of the channels that feeds stand in, by their keys, in their order."""
    channels = call.reader.channels.filter(is_notifications=False).order_by("position", "pk")
    return dict(channels.values_list("pk", "name"))


def folder_named(reader: Reader, name: str) -> Channel | None:
    return reader.channels.filter(is_notifications=False, name=name).first()


def follows_of(reader: Reader, feed: str) -> list[Follow]:
    """Of a feed in all channels. Raises CallError where there are none."""
    rows = Follow.objects.filter(channel__reader=reader, feed=feed_key(feed))
    found = list(rows.select_related("feed__icon", "channel__reader").order_by("channel__position", "pk"))
    if not found:
        raise unknown("You do not follow this feed.")
    return found


def feed_key(feed: str) -> int | None:
    """Of a feed that is named by its key or its address; None for what is none of ours."""
    if feed.isascii() and feed.isdigit():
        return int(feed) if len(feed) <= 19 and int(feed) <= LARGEST_KEY else None
    found = shared_feed_at(feed)
    return found.pk if found else None
