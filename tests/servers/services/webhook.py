"""Fake webhook receiver on loopback that checks Standard Webhooks signatures."""

from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.servers.api_server import ApiServer, Reply, Request

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PATH = "/hooks/very-secret-path"
LONGEST = 20 * 1024


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
