"""Calls signed according to Standard Webhooks 1.0.0."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from channels.announcement import Announcement
from channels.base import (
    NOTHING,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Shape,
)
from channels.bridge import OldBridgeChannel
from channels.http.client import ApiSession, Failed, secrets_in
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.letter import Recipient
from channels.rules.webhooks import HTTP_GONE, signed_headers
from channels.webhook.message import PostsCall, posts_call_of

GONE, REFUSED = "gone", "refused"


def _words(answer: ApiResponse) -> str:
    kind = answer.headers.get("content-type", "").lower()
    is_text = kind.startswith(("text/plain", "application/json", "application/problem+json"))
    return answer.body.decode("utf-8", "replace") if is_text else ""


def _code(answer: ApiResponse) -> str:
    """Only 410 is final; other refusals may be mistakes."""
    if answer.status == HTTP_GONE:
        return GONE
    return REFUSED if 400 <= answer.status < 500 and answer.status != 429 else ""


WEBHOOK = ApiService(
    name="a webhook",
    words=_words,
    code=_code,
    verdicts={GONE: Verdict.DESTINATION, REFUSED: Verdict.TRY_AGAIN},
    advice="It doesn’t want further requests.",
)


class WebhookSession(ApiSession):
    """Calls cannot be undone."""

    def send(
        self,
        message: PostsCall,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """The webhook-id, our key, identifies a repetition."""
        return self._call(message, message.body("published", key), key, key, now)

    def edit(
        self, message: PostsCall, *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        """Announce a change with the first call's id."""
        return self._call(message, message.body("updated", remote_id), remote_id, key, now)

    def _call(self, message: PostsCall, body: bytes, subject: str, key: str, now: datetime) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        url, secret = message.secrets["webhook_url"], message.secrets["signing_secret"]
        signed = signed_headers(event_id=key, at=now, body=body, secrets=[secret])
        try:
            self.client(url, WEBHOOK, now, secrets=(*secrets_in(url), secret)).call(
                "POST",
                url,
                read=lambda answer: answer.status,
                posting=True,
                data=body,
                headers={"Content-Type": "application/json", **signed},
            )
        except Failed as failed:
            return failed.outcome
        return Sent(subject)


class WebhookChannel(OldBridgeChannel):
    key = "webhook"
    # The webhook-id identifies a repetition.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults()

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PostsCall:
        return posts_call_of(said, options, recipient)

    def preview(self, message: PostsCall) -> Looks:
        if message.refusal:
            return Looks("", refusal=message.refusal)
        body = message.body("published", "…")
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
        return Looks(text, len(body), message.longest, shape=Shape.CODE, unit="bytes")

    def connect(self, lane: LaneFacts) -> WebhookSession:
        return WebhookSession()
