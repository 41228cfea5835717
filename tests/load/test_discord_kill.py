"""A worker killed while Discord accepts the bot's message: it is looked up and posted once."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.examples import NIGHTLY
from tests.load.installation import Installation
from tests.load.killed_sends import Killer, one_issue, send
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, Discord

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
