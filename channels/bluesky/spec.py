import re
from collections.abc import Mapping
from functools import partial

from channels import fields
from channels.bridge import BridgeSpec
from channels.http.transport import server_url
from common.ports.channels import Field, ParsedDestination
from common.truncation import plain_line

ENTRYWAY = "https://bsky.social"
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# https://atproto.com/specs/handle
HANDLE = re.compile(rf"(?=.{{1,253}}\Z)(?:{LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
# https://atproto.com/specs/did: the two methods in use, within our maximum length.
DID = re.compile(r"did:plc:[a-z2-7]{24}|did:web:(?=.{1,150}\Z)[a-z0-9.-]+(?:%3A\d{1,5})?")
LABELS = {
    "": "None",
    "sexual": "Suggestive",
    "nudity": "Nudity",
    "porn": "Adult",
    "graphic-media": "Graphic media",
}


def handle(typed: str) -> str:
    """Check a handle or DID. Raises ValueError."""
    # Handles copied from the app contain direction marks.
    name = plain_line(typed).removeprefix("@")
    if DID.fullmatch(name):
        return name
    if not HANDLE.fullmatch(name.lower()):
        raise ValueError("enter the full handle, such as bees.bsky.social.")
    return name.lower()


def app_password(typed: str) -> str:
    if len(typed) > 256 or not typed.isprintable():
        raise ValueError("an app password has no such characters, or is shorter.")
    return typed


class BlueskySpec(BridgeSpec):
    key = "bluesky"
    label = "Bluesky"
    sentence = "Posts to your Bluesky account, with a link card."
    # No edits: Bluesky's app shows the first version, and a replaced record loses its likes.
    deletes = True
    announcement_hook = "bluesky_announcement"
    destination_fields = (
        fields.needed("handle", "Handle", "For example bees.bsky.social.", handle),
        fields.secret(
            "app_password",
            "App password",
            "Create it in Bluesky under Settings, Privacy and security, App passwords. Don’t use the "
            "account’s main password.",
            app_password,
        ),
        Field(
            "service_url",
            "Service",
            "The server where the account signs in. Default: https://bsky.social. Change it only if "
            "you use another server.",
            clean=partial(server_url, example="bsky.social"),
        ),
    )
    own_options = (
        fields.choice(
            "card",
            "Link",
            "A card shows the post’s title, summary and picture. Digests put the link in the text instead.",
            {"": "As a card", "no": "In the words"},
        ),
        fields.choice(
            "tags",
            "Categories",
            "Tags help people find posts by topic.",
            {"": "As tags that are not shown", "no": "Leave them out"},
        ),
        fields.choice(
            "thread",
            "Posts of a digest",
            "",
            {"": "One link to all of them", "yes": "A thread, with one reply per post"},
        ),
        fields.choice("content_label", "Content warning", "", LABELS),
        fields.LANGUAGE,
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """`check` replaces the `core` with the DID, which is permanent."""
        name, service = given["handle"], given["service_url"] or ENTRYWAY
        return ParsedDestination(
            core=name,
            label=name if name.startswith("did:") else f"@{name}",
            config={"handle": name, "service_url": service},
            secrets={"app_password": given["app_password"]},
        )
