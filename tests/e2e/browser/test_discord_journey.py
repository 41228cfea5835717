"""The Discord bot from invitation to the removal of a feed, on the demo's Discord."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat.interactions.work import answer_due
from chat.models import Guild, GuildFeed
from chat.registration import register
from common.clock import utcnow
from demo.discord.places import API, GUILD, GUILD_NAME
from demo.services import Elsewhere, ServicesServer
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed, serve_page
from tests.chat.test_journey import Rounds
from tests.e2e.browser.screens import look_at, sign_in
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import OURS

NEEDS_APP = "chat"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("loopback_allowed"),
]


@pytest.fixture
def discord(tmp_path: Path, site: str, settings: Any) -> Iterator[str]:
    """Return the URL of the demo's Discord, before we are registered there."""
    elsewhere = Elsewhere(bot=f"{site}/admin/discord/", blog="http://blog.example/")
    server = ServicesServer(tmp_path, utcnow, application=OURS, port=0, elsewhere=elsewhere)
    settings.DISCORD_URL = f"http://127.0.0.1:{server.server_port}"
    settings.DISCORD_API_URL = f"{settings.DISCORD_URL}{API}"
    settings.DISCORD_APPLICATION_ID, settings.DISCORD_PUBLIC_KEY = OURS.id, OURS.public_key
    settings.DISCORD_BOT_TOKEN = OURS.bot_token
    with server.in_thread():
        yield settings.DISCORD_URL


class Desk:
    """One person in a channel."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def says(self, line: str) -> None:
        self.page.locator("#line").fill(line)
        self._clicks(self.page.get_by_role("button", name="Send"))

    def sees(self, words: str, *, name: str = "") -> None:
        """Wait until the words are shown; without scripts, reload first."""
        if self.page.is_plain:
            self.page.goto(self.page.url)
        self.page.get_by_text(words).first.wait_for()
        if name:
            look_at(self.page, name)

    def presses(self, button: str) -> None:
        """Press that button of the newest message that has it."""
        self._clicks(self.page.locator(".log").get_by_role("button", name=button).first)

    def _clicks(self, button: Any) -> None:
        """Click and wait for the bot's response."""
        with self.page.expect_response(lambda response: response.request.method == "POST"):
            button.click()
        self.page.wait_for_load_state()


def invited(page: Any, site: str, discord: str) -> None:
    """Invite the bot on the admin's page, which leads to Discord and, after consent, into a channel."""
    if page.is_plain:
        # The admin's menus need scripts.
        register(now=utcnow())
        page.goto(f"{discord}/discord/news/")
        look_at(page, "discord-before")
        page.get_by_role("link", name="Add Feedletter").click()
    else:
        sign_in(page, site)
        page.goto(f"{site}/admin/discord/")
        page.get_by_role("button", name="Register with Discord").click()
        page.get_by_text("is set up").wait_for()
        page.get_by_role("link", name="oauth2/authorize").click()
    page.get_by_role("heading", name="Feedletter").wait_for()
    look_at(page, "discord-invitation")
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url("**/discord/news/")
    assert (Guild.objects.get().pk, Guild.objects.get().name) == (int(GUILD), GUILD_NAME)


def test_from_the_invitation_to_the_end_of_a_feed(page: Any, site: str, discord: str) -> None:
    desk, rounds = Desk(page), Rounds()
    with FeedServer() as blog:
        serve_feed(blog, "/news.xml", title="News of bees")
        serve_feed(blog, "/talk.xml", title="Talk of bees")
        home = serve_page(blog, "/news.xml", "/talk.xml")
        invited(page, site, discord)
        desk.sees("is on this server now", name="discord-joined")

        desk.says(f"/feed add url:{home}")
        desk.sees("Feedletter is thinking", name="discord-thinking")
        assert answer_due() == 1
        desk.sees("2 feeds were found", name="discord-which")
        desk.presses("News of bees")
        assert answer_due() == 1
        desk.sees("will now be posted in", name="discord-card")
        assert GuildFeed.objects.get().subscribable.title == "News of bees"

        rounds(2)
        began = rounds.now
        serve_feed(blog, "/news.xml", posts=4, title="News of bees", began=began)
        rounds(5)
        desk.sees("The text of post 4", name="discord-post")

        desk.presses("Filter")
        page.get_by_role("dialog").wait_for()
        look_at(page, "discord-form")
        page.get_by_label("Post only posts with one of these").fill('honey "queen bee"')
        page.get_by_role("button", name="Submit").click()
        desk.sees("only posts what contains one of")

        desk.says("/feed digest feed:1 when:daily hour:24")
        page.get_by_text("hour: a number from 0 to 23.").wait_for()
        desk.says("/feed digest feed:1 when:daily hour:8 zone:Europe/Berlin")
        desk.sees("posts a digest each day at 8:00")
        assert Subscribable.objects.get().arrangement == "daily"

        desk.says("/feed why feed:1")
        desk.sees("The latest posts of", name="discord-why")

        desk.says("/feed remove feed:1")
        desk.sees("Waiting posts won")
        desk.presses("Remove")
        desk.sees("was removed", name="discord-removed")
        assert not GuildFeed.objects.present().exists()


def test_choices_while_somebody_types(page: Any, site: str, discord: str) -> None:
    if page.is_plain:
        pytest.skip("Without script there is the browser's own list.")
    invited(page, site, discord)
    line, choices = page.locator("#line"), page.get_by_role("option")
    line.press_sequentially("/fe")
    choices.filter(has_text="/feed digest").wait_for()
    look_at(page, "discord-choices")
    line.press_sequentially("ed add")
    page.keyboard.press("Tab")
    choices.filter(has_text="url").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    choices.filter(has_text="#bot-log").click()
    assert line.input_value() == "/feed add channel:#bot-log "
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.get_by_text("url: this option is required.").wait_for()
    with FeedServer() as blog:
        line.fill(f"/feed add url:{serve_feed(blog, title='Bees of the town')}")
        page.keyboard.press("Enter")
        page.get_by_text("is thinking").wait_for()
        answer_due()
        page.get_by_text("will now be posted in").wait_for()
    line.fill("/feed why feed:")
    # Autocompletion comes from the bot.
    line.press_sequentially("tow")
    choices.filter(has_text="1 · Bees of the town").click()
    assert line.input_value() == "/feed why feed:1 "
