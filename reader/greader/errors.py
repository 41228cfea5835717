"""What an app is told instead of an answer: a status and a sentence, in plain text."""

from collections.abc import Mapping
from http import HTTPStatus


class CallError(Exception):
    """The message is for people; apps go by the status."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


def bad_request(message: str) -> CallError:
    return CallError(HTTPStatus.BAD_REQUEST, message)


def unknown(message: str) -> CallError:
    return CallError(HTTPStatus.NOT_FOUND, message)


def unauthorized() -> CallError:
    """Apps sign in anew when they are told this."""
    told = {"X-Reader-Google-Bad-Token": "true", "Google-Bad-Token": "true"}
    return CallError(HTTPStatus.UNAUTHORIZED, "Unauthorized", headers=told)
