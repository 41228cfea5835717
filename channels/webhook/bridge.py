"""Requests signed according to Standard Webhooks 1.0.0."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from channels import fields
from channels.announcement import MOST_HTML, Announcement, images_of
from channels.base import CannotPost, CrashPolicy, Looks, Sent, Shape
from channels.bridge import Bridge
from channels.http.client import ApiClient
from channels.http.links import postable
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import EditingSession
from channels.http.transport import ApiResponse
from channels.rules.webhooks import HTTP_GONE, KEY_PREFIX, secret_of, signed_headers
from channels.wording import parts_of
from common.html.clean import clean, plain
from common.ports.channels import Field
from common.text import shortened
from common.truncation import DoesNotFit, FittingPart, fit_parts, plain_line
from feeds.parsing.entry import Entry

# "Between 24 bytes (192 bits) and 64 bytes (512 bits)."
SHORTEST_KEY, LONGEST_KEY = 24, 64
BODY_VERSION = 1
# Octets: a payload "should be small, less than 20kb", unless full posts were requested.
LONGEST_BODY, LONGEST_WITH_CONTENT = 20_000, 1_000_000
# Reserved for type, id and time.
ENVELOPE = 1_000
MOST_WORDS = 2_000
MOST_TITLE, MOST_NAME, MOST_NAMES = 500, 100, 20
# Ever shorter summaries, in characters.
SUMMARIES = (1_000, 300, 100, 0)
TOO_LONG_FOR_WEBHOOK = "The post’s link and names alone are longer than a webhook allows."
GONE, REFUSED = "gone", "refused"


def signing_secret(typed: str) -> str:
    try:
        key = base64.b64decode(typed.removeprefix(KEY_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise ValueError("enter whsec_ and 24 to 64 bytes in base64, as made by openssl rand -base64 32.")
    return secret_of(key)


@dataclass(frozen=True, slots=True)
class Posts:
    data: Mapping[str, Any]
    at: datetime
    is_digest: bool

    @property
    def longest(self) -> int:
        in_full = any("content" in post for post in self.data["posts"])
        return LONGEST_WITH_CONTENT if in_full else LONGEST_BODY

    def json(self, event: str, subject: str) -> bytes:
        """`event` is published or updated, `subject` the first call's id."""
        kind = f"{'digest' if self.is_digest else 'post'}.{event}"
        data = {"id": subject, **self.data}
        return _json({"type": kind, "timestamp": self.at.isoformat(), "version": BODY_VERSION, "data": data})


def _words(answer: ApiResponse) -> str:
    kind = answer.headers.get("content-type", "").lower()
    is_text = kind.startswith(("text/plain", "application/json", "application/problem+json"))
    return answer.body.decode("utf-8", "replace") if is_text else ""


def _code(answer: ApiResponse) -> str:
    """Only 410 is final; other refusals may be mistakes."""
    if answer.status == HTTP_GONE:
        return GONE
    return REFUSED if 400 <= answer.status < 500 and answer.status != 429 else ""


class WebhookBridge(EditingSession, Bridge):
    """Announces each post to another program, which would mistake a test for a post."""

    key = "webhook"
    label = "Webhook"
    sentence = "A signed request to your program."
    # The webhook-id identifies a repetition.
    crash_policy = CrashPolicy.RESEND
    address_field = "webhook_url"
    destination_fields = (
        fields.name("shop"),
        fields.secret(
            "webhook_url",
            "Address",
            "The address of your program. Keep it secret: anyone who knows it may be able to post there.",
            fields.posting_url("shop.example"),
        ),
        fields.secret(
            "signing_secret",
            "Signing secret",
            "whsec_ and 24 to 64 bytes in base64. Create it with openssl rand -base64 32 and also "
            "give it to your program.",
            signing_secret,
        ),
    )
    own_options = (
        Field("content", "Full posts", choices=lambda: [("", "No"), ("html", "Yes, as cleaned HTML")]),
    )
    service = ApiService(
        name="a webhook",
        words=_words,
        code=_code,
        verdicts={GONE: Verdict.DESTINATION, REFUSED: Verdict.TRY_AGAIN},
        advice="It doesn’t want further requests.",
    )

    def refusal(self, post: Announcement) -> str:
        """A digest includes its posts."""
        return "" if post.is_digest else post.refusal

    def body(self, post: Announcement, options: Mapping[str, str]) -> Posts:
        common = {
            "newsletter": {"name": post.newsletter, "title": post.newsletter_title},
            "issue": {"url": post.page_url, "title": post.title, "published_at": post.at.isoformat()},
            "text": _text(post, options),
            "total": len(post.posts),
        }
        sizes = ({**common, "posts": posts} for posts in _sizes(post.posts))
        data = next((size for size in sizes if len(_json(size)) <= LONGEST_BODY - ENVELOPE), None)
        if options.get("content") == "html":
            whole = {
                **common,
                "posts": [
                    {**_post(each), "content": clean(each.html, base=each.base or each.link)}
                    for each in post.posts
                ],
            }
            data = whole if len(_json(whole)) <= LONGEST_WITH_CONTENT else data
        if data is None:
            raise CannotPost(TOO_LONG_FOR_WEBHOOK)
        return Posts(data, post.at, post.is_digest)

    def looks(self, body: Posts) -> Looks:
        data = body.json("published", "…")
        text = json.dumps(json.loads(data), ensure_ascii=False, indent=2)
        return Looks(text, len(data), body.longest, shape=Shape.CODE, unit="bytes")

    def post(self, api: ApiClient, body: Posts) -> Sent:
        """The webhook-id, our key, identifies a repetition."""
        return self._call(api, body.json("published", api.key), api.key)

    def change(self, api: ApiClient, body: Posts, remote_id: str, parts: Sequence[str]) -> Sent:
        """Announce a change with the first call's id."""
        return self._call(api, body.json("updated", remote_id), remote_id)

    def _call(self, api: ApiClient, data: bytes, subject: str) -> Sent:
        secrets = [api.to.secrets["signing_secret"]]
        signed = signed_headers(event_id=api.key, at=api.now, body=data, secrets=secrets)
        headers = {"Content-Type": "application/json", **signed}
        api.call("POST", api.url, read=lambda _: None, posting=True, data=data, headers=headers)
        return Sent(subject)


def _sizes(entries: tuple[Entry, ...]) -> Iterator[list[dict[str, Any]]]:
    """Yield ever shorter posts, then without pictures, then fewer."""
    posts = [_post(entry) for entry in entries]
    yield posts
    for limit in SUMMARIES:
        posts = [{**post, "summary": shortened(post["summary"], limit) if limit else ""} for post in posts]
        yield posts
    while posts:
        posts = [{**post, "images": []} for post in posts]
        yield posts
        posts = posts[: len(posts) // 2]


def _post(entry: Entry) -> dict[str, Any]:
    words = entry.warning or plain((entry.summary or entry.content)[:MOST_HTML])
    return {
        "title": _line(entry.title, MOST_TITLE),
        "link": postable(entry.link),
        "authors": [_line(name, MOST_NAME) for name in entry.authors[:MOST_NAMES]],
        "summary": _line(words, MOST_WORDS),
        "images": [{"url": image.url, "alt": _line(image.alt, MOST_TITLE)} for image in images_of(entry)],
        "categories": [_line(name, MOST_NAME) for name in entry.categories[:MOST_NAMES]],
        "published": entry.published.isoformat() if entry.published else None,
        "updated": entry.updated.isoformat() if entry.updated else None,
        "language": _line(entry.language, MOST_NAME),
        **({"sensitive": True} if entry.sensitive else {}),
    }


def _text(post: Announcement, options: Mapping[str, str]) -> str:
    try:
        parts = parts_of(post, options.get("template", ""))
        return fit_parts(parts, lambda text: len(text) <= MOST_WORDS)
    except DoesNotFit:
        return fit_parts([FittingPart(post.title, cuttable=True)], lambda text: len(text) <= MOST_WORDS)


def _line(text: str, limit: int) -> str:
    return shortened(plain_line(text[: 10 * limit]), limit)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
