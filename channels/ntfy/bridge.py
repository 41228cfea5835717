"""https://docs.ntfy.sh/publish/#publish-as-json"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, Looks, Sent, Shape
from channels.bridge import Bridge
from channels.http.client import ApiClient, Failed, Target, UnreadableAnswer, an_id, first_accepted
from channels.http.links import octets
from channels.http.outcomes import ApiService
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse
from channels.wording import push_parts
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.truncation import FittingPart, fit_parts

PRIORITIES = {
    "": "Default",
    "1": "Lowest: no sound, at the bottom",
    "2": "Low: no sound",
    "4": "High",
    "5": "Highest",
}
MOST_TAGS = 5
# In octets: a longer message becomes a text file, a longer body is refused (41303).
LONGEST_MESSAGE = 4_096
LONGEST_TOPIC = LONGEST_SEQUENCE_ID = 64
LONGEST_BODY = 2 * LONGEST_MESSAGE
topic_name = fields.matching(
    r"[-_A-Za-z0-9]{1,64}", "a topic has up to 64 letters, digits, dashes or underscores."
)


def tag_list(typed: str) -> str:
    tags = [tag for tag in re.split(r"[\s,]+", typed) if tag]
    if len(tags) > MOST_TAGS or not all(re.fullmatch(r"[\w+-]{1,64}", tag) for tag in tags):
        raise ValueError(f"enter up to {MOST_TAGS} words separated by commas, such as newspaper, bee.")
    return ",".join(tags)


@dataclass(frozen=True, slots=True)
class Push:
    """`fields` are ntfy's, without topic and text."""

    parts: tuple[FittingPart, ...]
    fields: Mapping[str, Any]

    def json(
        self, topic: str, sequence_id: str, *, most: int = LONGEST_MESSAGE, picture: bool = True
    ) -> bytes:
        """Raises DoesNotFit."""
        fields = {name: value for name, value in self.fields.items() if picture or name != "attach"}

        def written(text: str) -> bytes:
            whole = {"topic": topic, **fields, "sequence_id": sequence_id, "message": text}
            return json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")

        return written(
            fit_parts(self.parts, lambda text: octets(text) <= most and len(written(text)) <= LONGEST_BODY)
        )


class NtfyBridge(EditingSession, DeletingSession, Bridge):
    key = "ntfy"
    label = "ntfy"
    sentence = "Push notifications to phones and desktops, through ntfy.sh or your server."
    # Since 2.16, a repetition replaces the first message.
    crash_policy = CrashPolicy.RESEND
    # ntfy.sh allows sixty at once, then one every five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)
    name_field = "topic"
    destination_fields = (
        fields.server("server_url", "Server", example="ntfy.sh"),
        fields.needed(
            "topic",
            "Topic",
            "Unless the topic is reserved, anyone who guesses its name can read and post. Choose a "
            "long name.",
            topic_name,
        ),
        Field(
            "access_token",
            "Access token",
            "In ntfy, choose Settings, Access tokens. It starts with tk_. Leave empty for a public topic.",
            secret=True,
            clean=fields.secret_word,
        ),
        fields.line("user", "User", "Use this with its password instead of a token.", most=200),
        Field("password", "Password", secret=True),
    )
    own_options = (
        fields.choice("priority", "Priority", "", PRIORITIES),
        Field("tags", "Tags", "For example newspaper, bee. ntfy shows known tags as emoji.", clean=tag_list),
        fields.PICTURE,
    )
    service = ApiService(
        name="an ntfy server",
        words=lambda answer: answer.text_at("error"),
        advice="Save a token, or a user and password, that can write to this topic.",
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        if bool(given["user"]) != bool(given["password"]):
            raise InvalidDestination("password: enter both user and password.")
        if given["access_token"] and given["user"]:
            raise InvalidDestination("access_token: enter a token, or a user and password, but not both.")
        return super().destination(given)

    def body(self, post: Announcement, options: Mapping[str, str]) -> Push:
        tags = options.get("tags", "")
        fields = {
            "title": post.newsletter_title,
            "click": post.link or None,
            "tags": tags.split(",") if tags else None,
            "priority": int(options.get("priority") or 0) or None,
            "attach": post.images[0].url if post.images and options.get("picture") != "no" else None,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        return Push(tuple(push_parts(post, options.get("template", ""))), known)

    def looks(self, body: Push) -> Looks:
        shown = json.loads(body.json("0" * LONGEST_TOPIC, "0" * LONGEST_SEQUENCE_ID))
        return Looks(
            shown["message"],
            octets(shown["message"]),
            LONGEST_MESSAGE,
            shape=Shape.PUSH,
            title=shown.get("title", ""),
            pictures=(shown["attach"],) if "attach" in shown else (),
            notes=tuple(_notes(shown)),
            unit="bytes",
        )

    def headers(self, to: Target) -> Mapping[str, str]:
        if user := to.config.get("user"):
            login = f"{user}:{to.secrets.get('password', '')}".encode()
            return {"Authorization": f"Basic {b64encode(login).decode()}"}
        return super().headers(to)

    def post(self, api: ApiClient, body: Push) -> Sent:
        """A repetition replaces the first, as the key is the sequence id."""
        return self.change(api, body, sequence_id_of(api.key), ())

    def change(self, api: ApiClient, body: Push, remote_id: str, parts: Sequence[str]) -> Sent:
        def publish(version: tuple[int, bool]) -> Sent:
            most, picture = version
            data = body.json(api.config["topic"], remote_id, most=most, picture=picture)
            headers = {"Content-Type": "application/json"}
            api.call("POST", "/", read=_published, posting=True, data=data, headers=headers)
            return Sent(remote_id)

        # A server may have lower limits, or no attachments.
        return first_accepted(((LONGEST_MESSAGE, True), (LONGEST_MESSAGE // 2, False)), publish)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        """Servers before 2.16 cannot."""
        api.call("DELETE", f"/{api.config['topic']}/{remote_id}", read=_published)
        return Sent(remote_id)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """A server cannot be asked who may write. For a write-only token, ask for its account."""
        try:
            api.call("GET", f"/{api.config['topic']}/auth", read=_success)
        except Failed:
            if not api.headers or api.answer.status != 403:
                raise
            api.call("GET", "/v1/account", read=lambda answer: an_id(answer.at("username")))
        return destination


def sequence_id_of(key: str) -> str:
    """Ntfy allows 64 letters, digits, dashes and underscores; equal ids replace."""
    is_allowed = re.fullmatch(rf"[-_A-Za-z0-9]{{1,{LONGEST_SEQUENCE_ID}}}", key)
    return key if is_allowed else sha256(key.encode()).hexdigest()


def _notes(shown: Mapping[str, Any]) -> Iterator[str]:
    if tags := shown.get("tags"):
        yield f"Tags: {', '.join(tags)}"
    if link := shown.get("click"):
        yield f"Opens {link}"


def _published(answer: ApiResponse) -> str:
    return an_id(answer.at("id"))


def _success(answer: ApiResponse) -> None:
    if answer.at("success") is not True:
        raise UnreadableAnswer("no success")
