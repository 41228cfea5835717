"""Posts by incoming webhooks, each service with its own words for what went wrong."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import requests

from channels.base import NOTHING, Outcome, Permanent, Sent
from channels.http.client import Failed, UnreadableAnswer, secrets_in
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import ApiSession
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.slack.compose import RoomPost

ADVICE = "Make another webhook there, and save its address."


def _slack_code(answer: ApiResponse) -> str:
    """Slack answers with one word, as text."""
    said = answer.body[:100].decode("utf-8", "replace").strip()
    return said if re.fullmatch("[a-z_]{2,60}", said) else ""


# https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
SLACK = ApiService(
    name="Slack",
    words=_slack_code,
    code=_slack_code,
    verdicts=dict.fromkeys(
        (
            "action_prohibited",
            "channel_is_archived",
            "channel_not_found",
            "invalid_token",
            "no_active_hooks",
            "no_service",
            "no_service_id",
            "no_team",
            "posting_to_general_channel_denied",
            "team_disabled",
            "user_not_found",
        ),
        Verdict.DESTINATION,
    ),
    advice=ADVICE,
)
# The ids of its errors, https://github.com/mattermost/mattermost/blob/master/server/i18n/en.json
MATTERMOST = ApiService(
    name="Mattermost",
    words=lambda answer: answer.text_at("message"),
    code=lambda answer: answer.text_at("id"),
    verdicts={
        f"web.incoming_webhook.{what}.app_error": Verdict.DESTINATION
        for what in ("invalid", "channel", "channel_locked", "permissions", "user", "disabled")
    },
    advice=ADVICE,
)
ROCKETCHAT = ApiService(
    name="Rocket.Chat",
    words=lambda answer: answer.text_at("error"),
    code=lambda answer: answer.status,
    # "Invalid integration id or token provided."
    verdicts={404: Verdict.DESTINATION},
    advice=ADVICE,
    hides_failures_in=frozenset({200}),
)


class IncomingWebhookSession(ApiSession):
    """Posts to whatever webhook a message names. What was posted can be neither found nor changed."""

    def __init__(
        self,
        service: ApiService,
        *,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._service = service

    def send(
        self,
        message: RoomPost,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Posts, and once more plainer where the service does not take all of it."""
        if message.refusal:
            return Permanent(message.refusal)
        url = message.secrets["webhook_url"]
        client = self.client(url, self._service, now, secrets=secrets_in(url))
        for body in message.bodies:
            try:
                client.call("POST", url, read=_taken, posting=True, json=body)
                return Sent()
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        return outcome


def _taken(answer: ApiResponse) -> None:
    """Slack and Mattermost say ok, Rocket.Chat {"success": true}."""
    if answer.body.strip() != b"ok" and answer.at("success") is not True:
        raise UnreadableAnswer("neither ok nor success")
