"""A worker killed while Discord accepts the bot's message: it is looked up and posted once.

A worker is killed while Twilio accepts its message: it is looked up, and sent once.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.examples import NIGHTLY
from tests.load.installation import Installation
from tests.load.killed_sends import Killer, one_issue, send
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, Discord
from tests.servers.services.twilio import VALUES, Twilio

pytestmark = NIGHTLY


class KillingDiscord(Killer, Discord):
    pass


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    config = {"account": "discord", "channel_id": CHANNEL, "guild_id": GUILD, "channel_type": "0"}
    to: dict[str, object] = {"core": "discord/1", "label": "#news", "config": config}
    secrets = {"token": BOT_TOKEN}
    with one_issue(tmp_path, "discord_bot", account="discord", secrets=secrets, to=to, options={}) as made:
        yield made


@pytest.mark.parametrize("before", [True, False], ids=["before it was taken", "after it was taken"])
@pytest.mark.parametrize("minutes", [3, 63])
def test_a_kill_between_post_and_record_makes_one_message(
    installation: Installation, tmp_path: Path, before: bool, minutes: int
) -> None:
    with KillingDiscord() as discord:
        discord.before, discord.mark, discord.now = before, tmp_path / "pid", datetime.now(UTC)
        url = f"{discord.url}/api/v10"
        service = f"from django.conf import settings; settings.DISCORD_API_URL = {url!r}"
        assert send(installation, service, discord.mark, minutes=0) == ""  # killed before it could print
        assert len(discord.messages) == (0 if before else 1)
        if minutes > 5:
            discord.forget_nonces()
        # The lease has expired, and another worker takes over.
        for later in (minutes, minutes + 5):
            said = send(installation, service, discord.mark, minutes=later)
        [message] = discord.messages
        assert said == str(("sent", f"{CHANNEL}/{message['id']}"))


class KillingTwilio(Killer, Twilio):
    pass


@pytest.fixture
def sms_installation(tmp_path: Path) -> Iterator[Installation]:
    to: dict[str, object] = {"core": "+4915123456789", "label": "+49 1512 3456789"}
    options = {"account": "bees"}
    with one_issue(tmp_path, "sms", account="bees", secrets=VALUES, to=to, options=options) as made:
        yield made


@pytest.mark.parametrize("before", [True, False], ids=["before it was taken", "after it was taken"])
def test_a_kill_between_post_and_record_makes_one_text_message(
    sms_installation: Installation, tmp_path: Path, before: bool
) -> None:
    with KillingTwilio() as twilio:
        twilio.before, twilio.mark = before, tmp_path / "pid"
        service = f"from channels.sms import channel; channel.TWILIO_API = {twilio.url!r}"
        assert send(sms_installation, service, twilio.mark, minutes=0) == ""  # killed before it could print
        assert len(twilio.messages) == (0 if before else 1)
        # Its lease expires, and another worker takes over.
        for minutes in (2, 5):
            said = send(sms_installation, service, twilio.mark, minutes=minutes)
        [message] = twilio.messages
        assert said == str(("sent", message["sid"]))
        asked = [request for request in twilio.requests if request.method == "GET"]
        assert len(asked) == 1
