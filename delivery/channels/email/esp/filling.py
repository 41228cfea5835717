"""For services that take a list of whole messages: anymail writes the list, we put each one's own text in."""

import json
from collections.abc import Sequence
from typing import Any

from delivery.channels.email.esp.merging import disarmed
from delivery.channels.email.esp.services import Layout, Service
from delivery.channels.email.esp.wire import Parts

# What anymail is given instead, to be copied for each recipient: it holds nobody's words.
PLACEHOLDER = "-"


class Filling:
    """Mixed into a backend of anymail. A message's `feedletter_parts` are its recipients', in their order."""

    feedletter_service: Service

    def build_message_payload(self, message: Any, defaults: Any) -> Any:
        payload = super().build_message_payload(message, defaults)  # type: ignore[misc]
        own: Sequence[Parts] = getattr(message, "feedletter_parts", ())
        if own:
            anymails = payload.serialize_data
            payload.serialize_data = lambda: filled(anymails(), own, self.feedletter_service)
        return payload


def filled(request: str, own: Sequence[Parts], service: Service) -> str:
    """The request (JSON), each of its messages with the subject, html and text of its recipient."""
    layout = service.layout
    assert layout is not None  # noqa: S101 - for the type checker
    whole = json.loads(request)
    messages = whole[layout.messages] if layout.messages else whole
    for message, parts in zip(messages, own, strict=True):
        message.update(_texts(parts, layout, service))
    return json.dumps(whole)


def _texts(parts: Parts, layout: Layout, service: Service) -> dict[str, str]:
    texts = {
        layout.subject: parts.subject,
        layout.html: disarmed(parts.html, service),
        layout.text: parts.text,
    }
    return {name: text for name, text in texts.items() if text}
