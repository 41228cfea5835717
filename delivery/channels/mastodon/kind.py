"""What the rest of the program knows of Mastodon."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.truncation import plain_line
from delivery.channels.mastodon.address import instance_url

NICKNAME = re.compile(r"[\w.-]{1,64}")
TOKEN = re.compile(r"[!-~]{1,500}")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}")
VISIBILITIES = ("public", "unlisted", "private")
LONGEST_WARNING = 200


class MastodonKind:
    """Posts to an account of the admin's. Nobody signs up for it."""

    key = "mastodon"
    label = "Mastodon"
    public_sign_up = False
    arrangements = frozenset({"each", "daily", "weekly", "monthly", "every_n", "cron"})
    destination_fields: tuple[Field, ...] = (
        Field("account", "Account", "A short name of your own for it, such as bot.", required=True),
        Field("instance_url", "Instance", "Such as https://mastodon.example.", required=True),
        Field(
            "access_token",
            "Access token",
            "On the instance: Preferences, Development, New application, with the scopes read and"
            " write:statuses. Mark the account as automated there, too.",
            required=True,
            secret=True,
        ),
    )
    option_fields: tuple[Field, ...] = (
        Field(
            "visibility",
            "Visibility",
            "public (the usual), unlisted (kept out of public timelines, the custom for accounts that post"
            " a lot) or private (followers only).",
        ),
        Field("language", "Language", "Two or three letters, such as en; empty: the feed's language."),
        Field("spoiler", "Content warning", "Shown before each post; empty for none."),
    )

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """`core` is nickname@host: two nicknames, two accounts. Raises InvalidDestination."""
        account = data.get("account", "").strip().removeprefix("@").lower()
        if not NICKNAME.fullmatch(account):
            raise InvalidDestination(
                "account: give a short name of letters, digits, dots, dashes or underscores, such as bot."
            )
        url = instance_url(data.get("instance_url", ""))
        token = data.get("access_token", "").strip()
        if not TOKEN.fullmatch(token):
            raise InvalidDestination("access_token: it is missing, or has spaces or letters no token has.")
        host = urlsplit(url).netloc
        return ParsedDestination(
            core=f"{account}@{host}",
            label=f"{account} at {host}",
            config={"account": account, "instance_url": url},
            secrets={"access_token": token},
        )

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        """Visibility (public if not given), language, spoiler. Raises InvalidDestination."""
        given = {name: plain_line(value) for name, value in data.items()}
        for name in given.keys() - {field.name for field in self.option_fields}:
            raise InvalidDestination(f"Mastodon has no option “{name}”.")
        options = {"visibility": given.get("visibility", "").lower() or VISIBILITIES[0]}
        if options["visibility"] not in VISIBILITIES:
            raise InvalidDestination(f"visibility: choose one of {', '.join(VISIBILITIES)}.")
        if language := given.get("language", ""):
            if not LANGUAGE.fullmatch(language):
                raise InvalidDestination("language: give a code of two or three letters, such as en.")
            options["language"] = language.lower()
        if spoiler := given.get("spoiler", ""):
            if len(spoiler) > LONGEST_WARNING:
                raise InvalidDestination(f"spoiler: at most {LONGEST_WARNING} characters.")
            options["spoiler"] = spoiler
        return options

    def check(self, destination: ParsedDestination) -> None:
        """Asks the instance whose token it is (network). Raises InvalidDestination."""
        # Mastodon.py is large, and most processes never need it.
        from delivery.channels.mastodon.check import check_token

        check_token(destination)
