"""https://gotify.net/docs/pushmsg and https://gotify.net/api-docs#/message/createMessage"""

from collections.abc import Mapping
from typing import Any

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, Looks, Sent, Shape
from channels.bridge import Bridge
from channels.http.client import ApiClient, Target, an_id
from channels.http.outcomes import ApiService
from channels.wording import push_parts
from common.ports.channels import ParsedDestination
from common.truncation import fit_parts

PRIORITIES = {"": "Usual: with a sound", "2": "Low: no sound", "8": "High: with a sound, on top"}
# Nobody reads longer pushes.
LONGEST_MESSAGE = 4_000


class GotifyBridge(Bridge):
    """Pushes to all clients of the application's owner. Tokens have no name."""

    key = "gotify"
    label = "Gotify"
    sentence = "Push notifications to your phones and browsers through your Gotify server."
    # Application tokens cannot read or change messages.
    crash_policy = CrashPolicy.HOLD
    lane = LaneDefaults(spacing_seconds=1.0)
    core_is_chosen = True
    destination_fields = (
        fields.name("news"),
        fields.server("server_url", "Server", example="gotify.example"),
        fields.secret(
            "access_token", "Access token", "In Gotify, choose Apps, Create application, and show its token."
        ),
    )
    own_options = (fields.choice("priority", "Priority", "", PRIORITIES), fields.PICTURE)
    service = ApiService(
        name="a Gotify server",
        words=lambda answer: answer.text_at("errorDescription"),
        advice="Save the token of an existing application.",
    )

    def body(self, post: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
        text = fit_parts(
            push_parts(post, options.get("template", "")), lambda text: len(text) <= LONGEST_MESSAGE
        )
        notification: dict[str, Any] = {"click": {"url": post.link}} if post.link else {}
        if post.images and options.get("picture") != "no":
            notification["bigImageUrl"] = post.images[0].url
        return {
            "title": post.newsletter_title,
            "message": text.encode("utf-8", "replace").decode(),
            "priority": int(options.get("priority") or 5),
            # Disables markup in posts.
            "extras": {
                "client::display": {"contentType": "text/plain"},
                "client::notification": notification,
            },
        }

    def looks(self, body: dict[str, Any]) -> Looks:
        text, notification = body["message"], body["extras"]["client::notification"]
        return Looks(
            text,
            len(text),
            LONGEST_MESSAGE,
            shape=Shape.PUSH,
            title=body["title"],
            pictures=(notification["bigImageUrl"],) if "bigImageUrl" in notification else (),
            notes=(f"Opens {notification['click']['url']}",) if "click" in notification else (),
        )

    def headers(self, to: Target) -> Mapping[str, str]:
        return {"X-Gotify-Key": to.secrets["access_token"]}

    def post(self, api: ApiClient, body: dict[str, Any]) -> Sent:
        return api.call("POST", "/message", read=lambda it: Sent(an_id(it.at("id"))), posting=True, json=body)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Only a post can test the token, so an unknown server doesn't get it."""
        api.call("GET", f"{api.url}/version", read=lambda it: an_id(it.at("buildDate")))
        return destination
