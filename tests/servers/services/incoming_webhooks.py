"""Fake incoming webhooks on loopback, each as strict as the real one.

Fake webhook receiver on loopback that checks Standard Webhooks signatures.
"""

import re
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.servers.api_server import ApiServer, Reply, Request
from tests.servers.consent import App, Consent

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PATH = "/hooks/very-secret-path"
LONGEST = 20 * 1024
SLACK_APP = App("100.200", "slack-app-s3cret", [])
JOINER = "\u2060"


class IncomingWebhooks(ApiServer):
    """Webhook server. `taken` are the bodies, `texts` the visible text without markup."""

    path: str

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[dict[str, Any]] = []
        self.texts: list[str] = []


def text_reply(status: int, words: str) -> Reply:
    return Reply(status, words, {"Content-Type": "text/plain"})


class SlackWebhooks(IncomingWebhooks):
    """Slack. `fetches`: whether it can fetch pictures."""

    path = "/services/T0000/B0000/very-secret-token"
    fetches = True

    def __init__(self) -> None:
        super().__init__()
        self.consent = Consent("Slack")
        self.consent.apps[SLACK_APP.client_id] = App(
            SLACK_APP.client_id, SLACK_APP.client_secret, [], {"incoming-webhook"}
        )
        self.channel = ("C1", "#News & More")

    def posts(self, request: Request) -> bool:
        return super().posts(request) and request.place != "/api/oauth.v2.access"

    def _token(self, request: Request) -> Reply:
        """Exchange a code. Slack reports errors with status 200 and its own error codes."""
        found = self.consent.redeem(request)
        if isinstance(found, str):
            words = {"invalid_client": "bad_client_secret", "invalid_grant": "invalid_code"}
            return Reply(body={"ok": False, "error": words.get(found, found)})
        about = {"channel_id": self.channel[0], "channel": self.channel[1], "url": f"{self.url}{self.path}"}
        said = {
            "ok": True,
            "access_token": "xoxb-not-to-be-kept",
            "team": {"id": "T0000", "name": "Acme Inc."},
        }
        return Reply(body={**said, "incoming_webhook": about})

    def usual(self, request: Request) -> Reply:
        if request.place == "/oauth/v2/authorize":
            return self.consent.page(request)
        if request.place == "/api/oauth.v2.access":
            return self._token(request)
        if request.place != self.path:
            return text_reply(404, "no_service")
        body = request.json
        if not body.get("text"):
            return text_reply(400, "no_text")
        blocks = body.get("blocks", [])
        if len(body["text"]) > 40_000 or len(str(blocks)) > 13_200:
            return text_reply(400, "msg_too_long")
        seen = [self._seen(block) for block in blocks]
        if None in seen:
            return text_reply(400, "invalid_blocks")
        # Only links may be between < and >.
        left = re.sub(r"<https?://[^<>|]*(\|[^<>|]*)?>", "", body["text"])
        if re.search("[<>]|&(?!amp;|lt;|gt;)", left):
            return text_reply(400, "invalid_payload")
        self.taken.append(body)
        self.texts.append("".join(map(str, seen)) if blocks else body["text"])
        return text_reply(200, "ok")

    def _seen(self, block: dict[str, Any]) -> str | None:
        """Return the visible text of a block, or None if it is invalid."""
        if block["type"] == "image":
            return "" if self.fetches and 0 < len(block["alt_text"]) <= 2_000 else None
        [section] = block["elements"]
        if (block["type"], section["type"]) != ("rich_text", "rich_text_section"):
            return None
        words = []
        for element in section["elements"]:
            known = {"text": {"text"}, "link": {"url", "text"}}[element["type"]]
            if element.keys() - known - {"type"} or "" in element.values():
                return None
            words.append(element.get("text") or element["url"])
        return "".join(words)


class MattermostWebhooks(IncomingWebhooks):
    path = "/hooks/very-secret-token"

    def usual(self, request: Request) -> Reply:
        if request.place != self.path:
            said = {"id": "web.incoming_webhook.invalid.app_error", "message": "Invalid webhook."}
            return Reply(400, {**said, "status_code": 400})
        text = request.json.get("text", "")
        if not 0 < len(text) <= 16_383:
            said = {"id": "web.incoming_webhook.text.length.app_error", "message": "Maximum text length"}
            return Reply(400, {**said, "status_code": 400})
        self.taken.append(request.json)
        self.texts.append(re.sub(r"\\([\\`*{}\[\]()#+\-.!_>~|])", r"\1", text).replace(JOINER, ""))
        return text_reply(200, "ok")


class RocketChatWebhooks(IncomingWebhooks):
    path = "/hooks/very-secret-id/very-secret-token"

    def usual(self, request: Request) -> Reply:
        if request.place != self.path:
            said = "Invalid integration id or token provided."
            return Reply(404, {"success": False, "error": said})
        text = request.json.get("text", "")
        if not 0 < len(text) <= 5_000:
            return Reply(400, {"success": False, "error": "error-message-size-exceeded"})
        self.taken.append(request.json)
        self.texts.append(re.sub(r"\\([*_~`#])", r"\1", text).replace(JOINER, ""))
        return Reply(body={"success": True})


class WebhookReceiver(ApiServer):
    """Receiver. `calls` are the accepted ones by webhook-id, without repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, dict[str, Any]] = {}
        self.longest = LONGEST

    def usual(self, request: Request) -> Reply:
        if request.place != PATH:
            return Reply(404, {"error": "nothing here"})
        try:
            Webhook(SECRET).verify(request.body, dict(request.headers))
        except WebhookVerificationError as error:
            return Reply(401, {"error": str(error)})
        if len(request.body) > self.longest:
            return Reply(413, {"error": "too large"})
        self.calls.setdefault(request.headers["webhook-id"], request.json)
        return Reply(202)
