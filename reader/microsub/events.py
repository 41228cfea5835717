"""What happens, told as it happens: `action=events`, which is no part of Microsub."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reader.microsub.actions import Call
from reader.microsub.items import Json, channel_json, item, unread_json
from reader.models import Token
from reader.rules import scopes
from reader.streams.stream import Stream, whether_left
from reader.streams.watch import UNREAD_COUNT, Event, Watch

EVENTS = "events"


def open_stream(
    call: Call, *, since: str, environ: Mapping[str, Any], is_allowed: Callable[[], bool]
) -> Iterable[bytes]:
    """A stream for this token. Raises ApiError, TooManyStreams."""
    call.require(scopes.READ)
    return Stream(
        watch=Watch.after(call.reader, since),
        reader_id=call.reader.pk,
        say=lambda event: data_of(event, call.token),
        is_allowed=is_allowed,
        has_left=whether_left(environ),
    )


def data_of(event: Event, token: Token) -> Json:
    """A post as in the timeline `global`; a channel's number; the list of channels; or nothing."""
    if event.place is not None:
        return item(event.place, is_read=not event.is_unread, token=token, in_all=True)
    if event.name == UNREAD_COUNT:
        ((channel, count),) = event.channels
        return {"channel": channel.uid, **unread_json(channel, count)}
    return {"channels": [channel_json(*line) for line in event.channels]} if event.channels else {}
