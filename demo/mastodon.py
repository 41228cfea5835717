"""The parts of Mastodon's API that bridges use."""

from collections.abc import Mapping
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qs

from demo.answer import NOT_FOUND, ApiAnswer, ApiRequest
from demo.timeline import Timeline, TimelinePost

MASTODON = "mastodon"
ACCOUNT, TOKEN = "harbour", "the-demo-s-own-token"
ABOUT: Mapping[str, Any] = {
    "domain": "harbour.example",
    "version": "4.5.0",
    "source_url": "https://github.com/mastodon/mastodon",
    "configuration": {
        "statuses": {"max_characters": 500, "characters_reserved_per_url": 23, "max_media_attachments": 4},
        "media_attachments": {
            "description_limit": 1500,
            "image_size_limit": 16 * 2**20,
            "image_matrix_limit": 33_177_600,
        },
    },
}
ACCOUNT_FACTS = {"id": "1", "username": ACCOUNT, "acct": ACCOUNT}


def mastodon_answer(timeline: Timeline, request: ApiRequest) -> ApiAnswer:
    if request.path.endswith("/instance"):
        return ApiAnswer(ABOUT)
    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return ApiAnswer({"error": "The access token is invalid"}, 401)
    where = request.path.removeprefix("/api/v1").removeprefix("/api/v2")
    match request.method, where.strip("/").split("/"):
        case "GET", ["accounts", "verify_credentials"]:
            return ApiAnswer(ACCOUNT_FACTS)
        case "GET", ["apps", "verify_credentials"]:
            return ApiAnswer({"name": "Feedletter", "scopes": ["read", "write"]})
        case "GET", ["accounts", _, "statuses"]:
            return ApiAnswer([_status(post, request) for post in timeline.posts(MASTODON)])
        case "POST", ["media"]:
            return _uploaded(timeline, request)
        case "POST", ["statuses"]:
            return _posted(timeline, request)
        case method, ["statuses", number] if status := timeline.find(MASTODON, number):
            if method == "PUT":
                status = timeline.change(status, {**_body_of(request), "key": (status.body or {}).get("key")})
            elif method == "DELETE":
                timeline.change(status, None)
            return ApiAnswer(_status(status, request))
    return NOT_FOUND


def _posted(timeline: Timeline, request: ApiRequest) -> ApiAnswer:
    """Idempotent by Idempotency-Key."""
    key = request.headers.get("Idempotency-Key", "")
    for post in timeline.posts(MASTODON):
        if key and post.body is not None and post.body.get("key") == key:
            return ApiAnswer(_status(post, request))
    return ApiAnswer(_status(timeline.add(MASTODON, {**_body_of(request), "key": key}), request))


def _body_of(request: ApiRequest) -> dict[str, Any]:
    form = parse_qs(request.body.decode())
    return {
        "text": form.get("status", [""])[0],
        "warning": form.get("spoiler_text", [""])[0],
        "pictures": form.get("media_ids[]", []),
    }


def _uploaded(timeline: Timeline, request: ApiRequest) -> ApiAnswer:
    head = f"Content-Type: {request.headers.get('Content-Type', '')}\r\n\r\n".encode()
    made = BytesParser(policy=policy.default).parsebytes(head + request.body)
    parts = {part.get_param("name", header="content-disposition"): part for part in made.iter_parts()}
    file, said = parts.get("file"), parts.get("description")
    if not isinstance(file, EmailMessage):
        return ApiAnswer({"error": "Validation failed: File can't be blank"}, 422)
    alt = str(said.get_content()).strip() if isinstance(said, EmailMessage) else ""
    number = timeline.keep_picture(bytes(file.get_payload(decode=True) or b""), alt)
    return ApiAnswer({"id": number, "type": "image", "url": None})


def _status(post: TimelinePost, request: ApiRequest) -> dict[str, Any]:
    body = post.body or {}
    return {
        "id": post.number,
        "url": f"http://{request.headers.get('Host', '')}/{MASTODON}/#{post.number}",
        "created_at": post.at,
        "content": body.get("text", ""),
        "in_reply_to_id": None,
        "account": ACCOUNT_FACTS,
        "media_attachments": [{"id": number} for number in body.get("pictures", ())],
    }
