import re

from channels.http.transport import ApiResponse
from channels.oauth import Grant, WebhookOAuth, a_secret, application_fields


class SlackConnect(WebhookOAuth):
    key = "slack-app"
    label = "Slack app"
    service = "Slack"
    # https://docs.slack.dev/authentication/installing-with-oauth
    authorise_address = "https://slack.com/oauth/v2/authorize"
    token_address = "https://slack.com/api/oauth.v2.access"  # noqa: S105 - an address
    scope = "incoming-webhook"
    account_fields = application_fields("the app's Basic Information, App Credentials")
    steps = (
        "At api.slack.com/apps, choose Create New App, From scratch, and select your workspace.",
        "Under Incoming Webhooks, turn them on.",
        "Under OAuth & Permissions, Redirect URLs, add the address below and save.",
        "Under Basic Information, copy the Client ID and the Client Secret.",
    )
    # "Redirect URLs must use HTTPS"
    needs_https = True

    def granted(self, answer: ApiResponse) -> Grant:
        made = "incoming_webhook"
        url = a_secret(answer.at(made, "url"))
        channel, team = answer.text_at(made, "channel"), answer.text_at("team", "name")
        # Workspaces may have channels of one name.
        name = re.sub(r"[^\w.-]+", "-", f"{channel.lstrip('#')}-{team}".lower()).strip("-")[:64]
        label = f"{channel} in {team}" if channel and team else channel
        number = answer.text_at(made, "channel_id")[:64]
        return Grant({"webhook_url": url, "account": name or "slack"}, {"channel_id": number}, label[:200])
