import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from channels.bridge import BridgeSpec
from channels.fields import secret_word, words_of_at_most
from channels.http.transport import server_url
from common.ports.channels import Field, InvalidDestination, ParsedDestination

PRIORITIES = {
    "": "Default",
    "1": "Lowest: no sound, at the bottom",
    "2": "Low: no sound",
    "4": "High",
    "5": "Highest",
}
MOST_TAGS = 5


def topic_name(typed: str) -> str:
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", typed):
        raise ValueError("a topic has up to 64 letters, digits, dashes or underscores.")
    return typed


def tag_list(typed: str) -> str:
    tags = [tag for tag in re.split(r"[\s,]+", typed) if tag]
    if len(tags) > MOST_TAGS or not all(re.fullmatch(r"[\w+-]{1,64}", tag) for tag in tags):
        raise ValueError(f"enter up to {MOST_TAGS} words separated by commas, such as newspaper, bee.")
    return ",".join(tags)


class NtfySpec(BridgeSpec):
    key = "ntfy"
    label = "ntfy"
    sentence = "Push notifications to phones and desktops, through ntfy.sh or your server."
    edits = deletes = True
    destination_fields = (
        Field(
            "server_url",
            "Server",
            "For example https://ntfy.sh.",
            required=True,
            clean=partial(server_url, example="ntfy.sh"),
        ),
        Field(
            "topic",
            "Topic",
            "Unless the topic is reserved, anyone who guesses its name can read and post. Choose a "
            "long name.",
            required=True,
            clean=topic_name,
        ),
        Field(
            "access_token",
            "Access token",
            "In ntfy, choose Settings, Access tokens. It starts with tk_. Leave empty for a public topic.",
            secret=True,
            clean=secret_word,
        ),
        Field("user", "User", "Use this with its password instead of a token.", clean=words_of_at_most(200)),
        Field("password", "Password", secret=True),
    )
    own_options = (
        Field("priority", "Priority", choices=lambda: list(PRIORITIES.items())),
        Field("tags", "Tags", "For example newspaper, bee. ntfy shows known tags as emoji.", clean=tag_list),
        Field(
            "picture",
            "Picture",
            choices=lambda: [("", "The post's first one"), ("no", "None")],
        ),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is topic@host."""
        if bool(given["user"]) != bool(given["password"]):
            raise InvalidDestination("password: enter both user and password.")
        if given["access_token"] and given["user"]:
            raise InvalidDestination("access_token: enter a token, or a user and password, but not both.")
        host = urlsplit(given["server_url"]).netloc
        return ParsedDestination(
            core=f"{given['topic']}@{host}",
            label=f"{given['topic']} at {host}",
            config={name: given[name] for name in ("server_url", "topic", "user") if given[name]},
            secrets={name: given[name] for name in ("access_token", "password") if given[name]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Raises InvalidDestination (network)."""
        from channels.ntfy.session import check_topic

        check_topic(destination)
        return destination
