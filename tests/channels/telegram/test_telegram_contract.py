"""The Telegram contract against a fake server.

Telegram messages: limits and markup, pictures, migrated groups, edits, deletions and checks.
"""

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import NO_POST, LaneFacts, Looks, Permanent, Sent, StatefulSession, Temporary
from channels.http.links import postable, utf16_units
from channels.letter import Letter
from channels.telegram.bridge import TelegramBridge
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.models import Account
from feeds.parsing.entry import Media
from tests.channels.telegram.letters import CHANNEL, Telegramming, message
from tests.contracts.bridge import LINK, MARKUP, BridgeContract, entry, expect, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.telegram import CHAT, MOVED_TO, NAME, TOKEN, mentions, parsed

SECRETS: Any = {"token": TOKEN}
HOSTILE = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="<>&\"'@_abcdefi/= 🦄\n;#", max_size=3_000),
    st.just(MARKUP),
    st.just("🦄 " * 3_000),
)
LINKS = st.text(alphabet="abz/?=&()[]<>@.,_*~|:%-\"' ü🦄", max_size=60).map(
    lambda end: f"https://e.example/{end}x"
)
PICTURE = Media("https://blog.example/a.png", "image/png")


def no(status: int, description: str) -> Reply:
    return Reply(status, {"ok": False, "error_code": status, "description": description})


class TestTelegramContract(Telegramming, BridgeContract):
    refused = no(400, "Bad Request: message is too long")
    unauthorised = no(401, "Unauthorized")
    gone = no(403, "Forbidden: bot was kicked from the channel chat")
    shares_token: ClassVar[bool] = True
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(one["message_id"]), one["shown"]) for one in self.service.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        return bool(self.service.messages[-1]["links"] == [LINK])

    def is_harmless(self, text: str) -> bool:
        return not mentions(text)


class TestTelegramPhotosContract(TestTelegramContract):
    options: ClassVar = {"photo": "on"}


def pictured(title: str = "T") -> Letter:
    return letter(entries=(entry(title, media=(PICTURE,)),))


class TestCompose:
    @given(
        title=HOSTILE,
        author=HOSTILE,
        summary=HOSTILE,
        link=LINKS,
        template=st.sampled_from(
            ["", "{title}{link}{summary}", "@{title} {link}.", "<b>{authors}</b> {hashtags}"]
        ),
    )
    def test_any_post_is_within_the_limits_and_stays_words(
        self, title: str, author: str, summary: str, link: str, template: str
    ) -> None:
        post = entry(title, link=link, authors=(author,), summary=summary)
        options: dict[str, Any] = {"template": template} if template else {}
        made = message(letter(entries=(post,)), **options).body
        for html, limit in ((made.text, 4_096), (made.caption, 1_024)):
            read = parsed(html)
            assert read is not None
            shown, links = read
            assert utf16_units(shown) <= limit
            assert all(found.startswith("https://e.example/") and found.endswith("x") for found in links)
            assert len(links) == (0 if "hashtags" in template else 1)
            assert not mentions(shown.replace(links[0], "") if links else shown)
        assert utf16_units(made.plain) <= 4_096 * 0.9
        assert "hashtags" in template or postable(link) in made.plain

    def test_a_name_that_begins_in_the_template_calls_nobody(self) -> None:
        assert not mentions(message(letter("everyone_here"), template="@{title}").body.text)

    def test_a_link_with_a_name_in_it_is_whole(self) -> None:
        link = "https://social.example/@ada/1"
        made = message(letter(entries=(entry(link=link),)), template="{link}").body
        assert f'href="{link}"' in made.text
        assert made.plain == link

    def test_the_title_is_the_link(self) -> None:
        made = message(letter("Bees & <b>wasps</b>")).body
        href = LINK.replace("&", "&amp;")
        assert made.text == f'<a href="{href}">Bees &amp; &lt;b&gt;wasps&lt;/b&gt;</a>\nBees, by Ada'
        assert made.plain == f"[bees] New Post: Bees & <b>wasps</b>, by Ada {LINK}"

    def test_a_digest_lists_its_posts_with_links(self) -> None:
        entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(60))
        made = message(
            letter("T0, and more", entries=entries, is_digest=True, web_url="https://l.example/7/")
        )
        read = parsed(made.body.text)
        assert read is not None
        assert read[1] == ["https://l.example/7/", *(f"https://blog.example/{n}" for n in range(50))]

    @pytest.mark.parametrize(
        ("wish", "preview"),
        [
            ({}, {"url": LINK, "prefer_large_media": True}),
            ({"link_preview": "small"}, {"url": LINK, "prefer_small_media": True}),
            ({"link_preview": "none"}, {"is_disabled": True}),
        ],
    )
    def test_the_preview_is_as_wished(self, wish: dict[str, Any], preview: dict[str, Any]) -> None:
        assert message(**wish).body.preview == preview

    def test_it_is_shown_beforehand_without_markup(self) -> None:
        assert CHANNEL.preview(message(letter("A & 🦄"))) == Looks("A & 🦄\nBees, by Ada", 19, 4_096)
        assert CHANNEL.preview(message(pictured(), photo="on")).limit == 1_024

    def test_a_link_that_is_too_long_to_be_shown_is_said(self) -> None:
        of = letter(entries=(entry(link="https://e.example/" + "x" * 5_000),))
        assert "link" in message(of, template="{link}").refusal


class TestPosting(Telegramming):
    def test_what_is_sent_is_linked(self) -> None:
        assert self.post() == Sent(f"{CHAT}/1", url=f"https://t.me/{NAME}/1")

    def test_a_private_chats_link_is_for_its_members(self) -> None:
        self.service.username = None
        expect(self.post(), Sent, url="https://t.me/c/1234567890/1")

    def test_options_reach_telegram(self) -> None:
        self.post(thread_id="7", silent="on")
        body = self.service.messages[0]["body"]
        assert (body["message_thread_id"], body["disable_notification"]) == (7, True)
        assert body["link_preview_options"]["url"] == LINK

    def test_a_picture_has_the_words_below_it(self) -> None:
        assert isinstance(self.post(pictured("Wörter " * 900), photo="on"), Sent)
        [sent] = self.service.messages
        assert sent["body"]["photo"] == PICTURE.url
        assert sent["links"] == [LINK]

    def test_a_picture_that_telegram_cannot_get_is_left_out(self) -> None:
        self.service.gets_pictures = False
        assert isinstance(self.post(pictured(), photo="on"), Sent)
        assert self.service.messages[0]["field"] == "text"

    def test_html_that_telegram_cannot_read_goes_out_in_words(self) -> None:
        self.service.reads_html = False
        assert isinstance(self.post(letter("A <b> c")), Sent)
        assert self.service.messages[0]["shown"] == f"[bees] New Post: A <b> c, by Ada {LINK}"

    def test_a_group_that_moved_is_followed_and_remembered(self) -> None:
        self.service.has_moved = True
        opened = self.session()
        for key in ("a", "b"):
            assert isinstance(opened.send(message(), key=key, begun_at=None, now=NOW), Sent)
        opened.close()
        assert len(self.service.requests) == 3
        assert isinstance(opened, StatefulSession)
        state = opened.new_state()
        assert state == {str(CHAT): str(MOVED_TO)}
        assert opened.new_state() is None
        again = self.session(state=state)
        assert isinstance(again.send(message(), key="c", begun_at=None, now=NOW), Sent)
        again.close()
        assert len(self.service.requests) == 4

    def test_a_group_that_moves_for_ever_is_not_followed_for_ever(self) -> None:
        self.service.says = refusal(400, "Bad Request: upgraded", {"migrate_to_chat_id": MOVED_TO})
        assert isinstance(self.post(), Permanent)
        assert len(self.service.requests) <= 4

    def test_the_body_says_how_long_to_wait(self) -> None:
        self.service.says = refusal(429, "Too Many Requests: retry after 35", {"retry_after": 35})
        expect(
            self.post(), Temporary, retry_at=NOW + timedelta(seconds=35), stops_lane=True, stops_account=False
        )

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (403, "Forbidden: bot was blocked by the user"), (403, "Forbidden: user is deactivated"),
            (403, "Forbidden: the group chat was deleted"), (400, "Bad Request: chat not found"),
            (400, "Bad Request: message thread not found"), (400, "Bad Request: TOPIC_CLOSED"),
            (400, "Bad Request: not enough rights to send text messages to the chat"),
            (400, "Bad Request: need administrator rights in the channel chat"),
        ],
    )  # fmt: skip
    def test_a_chat_that_takes_nothing_is_not_asked_again(self, status: int, words: str) -> None:
        self.service.says = refusal(status, words)
        expect(self.post(), Permanent, disables=True)
        assert len(self.service.requests) == 1

    @pytest.mark.parametrize(
        "words", ["not enough rights to send photos to the chat", "CHAT_SEND_PHOTOS_FORBIDDEN"]
    )
    def test_a_chat_that_takes_no_pictures_gets_the_text(self, words: str) -> None:
        self.service.paths[f"/bot{TOKEN}/sendPhoto"] = refusal(400, f"Bad Request: {words}")
        assert isinstance(self.post(pictured(), photo="on"), Sent)
        assert len(self.service.requests) == 2

    @pytest.mark.parametrize("status", [401, 404])
    def test_a_token_that_is_unknown_stops_the_account(self, status: int) -> None:
        self.service.says = refusal(status, "Unauthorized")
        outcome = expect(self.post(), Temporary, stops_account=True)
        assert TOKEN not in outcome.text

    def test_an_account_without_a_token_asks_nobody(self) -> None:
        opened = self.session(credentials={"token": ""})
        expect(opened.send(message(), key="k", begun_at=None, now=NOW), Temporary, stops_account=True)
        assert self.service.requests == []

    def test_the_token_and_what_was_kept_are_the_lanes(self) -> None:
        facts = LaneFacts("telegram", f"bees/{CHAT}", {"token": TOKEN}, state={str(CHAT): str(MOVED_TO)})
        assert TelegramBridge(facts).state == facts.state
        assert CHANNEL.shared_account(f"bees/{CHAT}") == "bees"


class TestChanges(Telegramming):
    def test_an_edit_says_it_anew(self) -> None:
        first = expect(self.post(), Sent)
        assert self.edit(letter("Corrected"), first.remote_id) == first
        assert self.service.messages[0]["shown"].startswith("Corrected")

    def test_the_words_below_a_picture_are_edited(self) -> None:
        first = expect(self.post(pictured(), photo="on"), Sent)
        assert self.edit(letter("Corrected"), first.remote_id) == first
        assert self.service.messages[0]["shown"].startswith("Corrected")

    def test_an_edit_that_changes_nothing_is_done(self) -> None:
        first = expect(self.post(), Sent)
        assert isinstance(self.edit(letter(), first.remote_id), Sent)

    def test_what_was_deleted_there_is_neither_edited_nor_the_chats_end(self) -> None:
        assert self.edit(letter(), f"{CHAT}/9") == NO_POST

    def test_deleting_twice_is_deleting(self) -> None:
        first = expect(self.post(), Sent)
        for _ in range(2):
            expect(self.delete(first.remote_id), Sent)
        assert self.service.messages == []

    def test_a_refusal_to_delete_is_said(self) -> None:
        self.service.paths[f"/bot{TOKEN}/deleteMessage"] = refusal(
            400, "Bad Request: message can't be deleted"
        )
        expect(self.delete(f"{CHAT}/1"), Permanent, disables=False)


@pytest.mark.django_db
class TestKind:
    @pytest.fixture(autouse=True)
    def _account(self) -> None:
        Account(kind="telegram", name="bees", secrets=SECRETS).save()

    @pytest.mark.parametrize(
        "typed", ["@Bees_News", "bees_news", "https://t.me/bees_news", "t.me/Bees_news/"]
    )
    def test_spellings_of_a_chat_are_one(self, typed: str) -> None:
        assert CHANNEL.parse_destination({"account": "bees", "chat": typed}).core == "bees/@bees_news"

    def test_a_number_is_taken(self) -> None:
        made = CHANNEL.parse_destination({"account": "bees", "chat": str(CHAT)})
        assert made.core == f"bees/{CHAT}"
        assert made.config == {"account": "bees", "chat_id": str(CHAT)}

    def test_an_unknown_account_is_refused(self) -> None:
        with pytest.raises(InvalidDestination, match=r"account: .*There are: bees"):
            CHANNEL.parse_destination({"account": "wasps", "chat": "@bees_news"})

    @pytest.mark.parametrize("token", ["x", "123:ab", "123456:has spaces in it and more", f"bot{TOKEN}"])
    def test_a_wrong_token_is_refused_and_not_repeated(self, token: str) -> None:
        clean = CHANNEL.account_fields[0].clean
        assert clean is not None
        assert clean(TOKEN) == TOKEN
        with pytest.raises(ValueError, match="isn’t a bot token") as caught:
            clean(token)
        assert token == "x" or token not in str(caught.value)

    def test_the_accounts_token_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def remember(session: TelegramBridge, destination: ParsedDestination) -> ParsedDestination:
            asked.append(session.credentials["token"])
            return destination

        monkeypatch.setattr(TelegramBridge, "check_destination", remember)
        CHANNEL.check(CHANNEL.parse_destination({"account": "bees", "chat": "@bees_news"}))
        assert asked == [TOKEN]


class TestCheck(Telegramming):
    def ask(self, token: str = TOKEN, chat: str = f"@{NAME}") -> ParsedDestination:
        given = ParsedDestination(f"bees/{chat}", chat, config={"account": "bees", "chat_id": chat})
        made: ParsedDestination = self.session(credentials={"token": token}).check_destination(given)
        return made

    def test_a_chat_is_known_by_its_number(self) -> None:
        made = self.ask()
        assert made.core == f"bees/{CHAT}"
        assert made.label == "Bee <news>, by bees"
        assert made.config == {"account": "bees", "chat_id": str(CHAT)}

    @pytest.mark.parametrize(
        ("kind", "member"),
        [
            ("channel", {"status": "administrator", "can_post_messages": False}),
            ("channel", {"status": "member"}),
            ("supergroup", {"status": "left"}),
            ("supergroup", {"status": "restricted", "can_send_messages": False}),
        ],
    )
    def test_a_bot_that_may_not_post_is_told(self, kind: str, member: dict[str, Any]) -> None:
        self.service.kind, self.service.member = kind, member
        with pytest.raises(InvalidDestination, match="chat: the bot can’t post"):
            self.ask()

    @pytest.mark.parametrize(
        "member",
        [{"status": "member"}, {"status": "creator"}, {"status": "restricted", "can_send_messages": True}],
    )
    def test_a_member_of_a_group_may_post(self, member: dict[str, Any]) -> None:
        self.service.kind, self.service.member = "supergroup", member
        assert self.ask().core == f"bees/{CHAT}"

    def test_an_unknown_chat_is_told(self) -> None:
        with pytest.raises(InvalidDestination, match=r"chat: .*chat not found"):
            self.ask(chat="@nobody_here")

    def test_a_wrong_token_is_the_accounts(self) -> None:
        wrong = "123456:" + "w" * 30
        with pytest.raises(InvalidDestination, match="account: ") as caught:
            self.ask(wrong)
        assert wrong not in str(caught.value)

    def test_an_account_without_a_token_is_told(self) -> None:
        with pytest.raises(InvalidDestination, match=r"account: .*no token"):
            self.ask("")

    def test_an_account_is_not_saved_without_a_token(self) -> None:
        with pytest.raises(InvalidDestination, match=r"^token: .*no token"):
            self.session(credentials={"token": ""}).check_credentials()
        assert self.service.requests == []

    def test_a_bots_name_is_told(self) -> None:
        assert self.session().check_credentials() == "@bees_bot"

    @pytest.mark.parametrize(
        "reply", [Reply(200, "<html>"), Reply(200, {"ok": True, "result": {}}), Reply(503)]
    )
    def test_an_answer_that_proves_nothing_is_told(self, reply: Reply) -> None:
        self.service.paths[f"/bot{TOKEN}/getMe"] = reply
        with pytest.raises(InvalidDestination, match="token: "):
            self.session().check_credentials()


def refusal(status: int, description: str, parameters: dict[str, Any] | None = None) -> Reply:
    body = {"ok": False, "error_code": status, "description": description, "parameters": parameters or {}}
    return Reply(status, body)
