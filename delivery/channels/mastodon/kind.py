"""What the rest of the program knows of Mastodon."""

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from common.ports.channels import Field, ParsedDestination
from common.truncation import plain_line
from delivery.channels.bridge import BridgeKind
from delivery.channels.http.address import server_url

VISIBILITIES = {
    "public": "Public",
    "unlisted": "Unlisted: kept out of public timelines, the custom for accounts that post a lot",
    "private": "Followers only",
}
LONGEST_WARNING = 200


def nickname(typed: str) -> str:
    """Raises ValueError."""
    name = typed.removeprefix("@").lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError("give a short name of letters, digits, dots, dashes or underscores, such as bot.")
    return name


def token(typed: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(r"[!-~]{1,500}", typed):
        raise ValueError("it has spaces or letters no token has.")
    return typed


def language(typed: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z]{2,3}", typed):
        raise ValueError("give a code of two or three letters, such as en.")
    return typed.lower()


def warning(typed: str) -> str:
    """Raises ValueError."""
    if len(text := plain_line(typed)) > LONGEST_WARNING:
        raise ValueError(f"at most {LONGEST_WARNING} characters.")
    return text


class MastodonKind(BridgeKind):
    """Posts to an account of the admin's."""

    key = "mastodon"
    label = "Mastodon"
    sentence = "A post of an account of yours, on any instance."
    announcement_hook = "mastodon_announcement"
    destination_fields = (
        Field("account", "Account", "A short name of your own, such as bot.", required=True, clean=nickname),
        Field(
            "instance_url",
            "Instance",
            "Such as https://mastodon.example.",
            required=True,
            clean=partial(server_url, example="mastodon.example"),
        ),
        Field(
            "access_token",
            "Access token",
            "On the instance: Preferences, Development, New application, with the scopes read and"
            " write:statuses. Mark the account as automated there, too.",
            required=True,
            secret=True,
            clean=token,
        ),
    )
    own_options = (
        Field("visibility", "Visibility", choices=lambda: list(VISIBILITIES.items()), clean=str.lower),
        Field(
            "language",
            "Language",
            "Two or three letters, such as en; empty: the feed's language.",
            clean=language,
        ),
        Field("spoiler", "Content warning", "Shown before each post; empty for none.", clean=warning),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """`core` is nickname@host: two nicknames, two accounts."""
        account, url = given["account"], given["instance_url"]
        host = urlsplit(url).netloc
        return ParsedDestination(
            core=f"{account}@{host}",
            label=f"{account} at {host}",
            config={"account": account, "instance_url": url},
            secrets={"access_token": given["access_token"]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Asks the instance whose token it is (network). Raises InvalidDestination."""
        # Mastodon.py is large, and most processes never need it.
        from delivery.channels.mastodon.check import check_token

        check_token(destination)
        return destination
