"""The Mastodon channel: a status for each post, or one for a digest."""

from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from delivery.channels.base import CrashPolicy, LaneFacts
from delivery.channels.mastodon.compose import Message, compose_status
from delivery.channels.mastodon.session import MastodonSession
from delivery.letter import Letter, Recipient


class MastodonChannel:
    """Every account is a lane of its own, posting in order and unhurried."""

    key = "mastodon"
    crash_policy = CrashPolicy.LOOK_UP
    serial = True
    concurrency = 1
    # Far below 300 statuses in 3 hours, and easy on followers.
    spacing_seconds = 60.0

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return core

    def domain(self, core: str) -> str:
        """The instance's host, without a port."""
        return urlsplit(f"//{core}").hostname or ""

    def compose(self, letter: Letter, recipient: Recipient) -> Message:
        return compose_status(letter, recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], Message]:
        return partial(self.compose, letter)

    def pipelines(self, lane: LaneFacts) -> None:
        """Its sessions block."""

    def connect(self, lane: LaneFacts) -> MastodonSession:
        """The credentials come with each message."""
        return MastodonSession()
