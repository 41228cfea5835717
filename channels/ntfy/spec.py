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
        raise ValueError(f"give up to {MOST_TAGS} words with commas between them, such as newspaper, bee.")
    return ",".join(tags)


class NtfySpec(BridgeSpec):
    key = "ntfy"
    label = "ntfy"
    sentence = "A push to phones and desktops, by ntfy.sh or a server of yours."
    edits = deletes = True
    destination_fields = (
        Field(
            "server_url",
            "Server",
            "Such as https://ntfy.sh.",
            required=True,
            clean=partial(server_url, example="ntfy.sh"),
        ),
        Field(
            "topic",
            "Topic",
            "Where nobody has reserved it, whoever guesses a topic can read and post: choose a long one.",
            required=True,
            clean=topic_name,
        ),
        Field(
            "access_token",
            "Access token",
            "In ntfy's settings, Access tokens; begins with tk_. Empty for a topic that is open to all.",
            secret=True,
            clean=secret_word,
        ),
        Field("user", "User", "Instead of a token, with its password.", clean=words_of_at_most(200)),
        Field("password", "Password", secret=True),
    )
    own_options = (
        Field("priority", "Priority", choices=lambda: list(PRIORITIES.items())),
        Field("tags", "Tags", "Such as newspaper, bee: shown as emoji where ntfy knows one.", clean=tag_list),
        Field(
            "picture",
            "Picture",
            choices=lambda: [("", "The post's first one"), ("no", "None")],
        ),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is topic@host."""
        if bool(given["user"]) != bool(given["password"]):
            raise InvalidDestination("password: user and password belong together.")
        if given["access_token"] and given["user"]:
            raise InvalidDestination("access_token: give a token, or a user and password, not both.")
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
