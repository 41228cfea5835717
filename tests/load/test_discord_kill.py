"""A worker is killed while Discord takes the bot's message: looked up, it is posted once, in time or late."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.load.installation import Installation, sqlite_installation
from tests.servers.killers import Killer
from tests.servers.services.discord import BOT_TOKEN, CHANNEL, GUILD, Discord

pytestmark = pytest.mark.slow

SETUP = f"""
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue, IssueItem, ServiceAccount
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
account = ServiceAccount(kind="discord_bot", name="discord")
account.secrets = {{"token": {BOT_TOKEN!r}}}
account.save()
bridge = Subscribable.objects.create(name="bees", title="Bees", channel="discord_bot")
config = {{"account": "discord", "channel_id": {CHANNEL!r}, "guild_id": {GUILD!r}, "channel_type": "0"}}
to = Destination.objects.create(kind="discord_bot", core="discord/1", label="#news", config=config)
Subscription.objects.create(subscribable=bridge, destination=to, status="confirmed")
issue = Issue.objects.create(subscribable=bridge, within_type_id="1", token="t" * 24, title="Bees",
                             subject="Bees", html="<p>Bees</p>", text="Bees")
entry = Entry(guid="1", title="On bees", link="https://blog.example/1")
IssueItem.objects.create(issue=issue, position=0, entry=entry.to_json())
publish(issue_id=issue.pk, now=utcnow())
"""
SEND = """
import os
from datetime import timedelta
from common.clock import utcnow
from django.conf import settings
from delivery.engine.send_pass import send_due
settings.DISCORD_API_URL = {url!r}
open({mark!r}, "w").write(str(os.getpid()))
send_due(clock=lambda: utcnow() + timedelta(minutes={minutes}))
from delivery.models import Delivery
print(*Delivery.objects.values_list("state", "remote_id"))
"""


class KillingDiscord(Killer, Discord):
    pass


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with sqlite_installation(tmp_path) as made:
        made.script(SETUP)
        yield made


@pytest.mark.parametrize("before", [True, False], ids=["before it was taken", "after it was taken"])
@pytest.mark.parametrize("minutes", [3, 63])
def test_a_kill_between_post_and_record_makes_one_message(
    installation: Installation, tmp_path: Path, before: bool, minutes: int
) -> None:
    with KillingDiscord() as discord:
        discord.before, discord.mark, discord.now = before, tmp_path / "pid", datetime.now(UTC)

        def send(later: int) -> str:
            url, mark = f"{discord.url}/api/v10", str(discord.mark)
            text = SEND.format(url=url, mark=mark, minutes=later)
            return installation.python("-c", f"import django; django.setup()\n{text}").stdout

        assert send(0) == ""  # killed before it could print
        assert len(discord.messages) == (0 if before else 1)
        if minutes > 5:
            discord.forget_nonces()
        # The lease has run out, another worker takes it over.
        for later in (minutes, minutes + 5):
            said = send(later)
        [message] = discord.messages
        assert said.strip() == str(("sent", f"{CHANNEL}/{message['id']}"))
