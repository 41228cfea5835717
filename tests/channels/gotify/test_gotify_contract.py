"""Gotify against a fake server: the contract, and Gotify's own features."""

from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st

from channels.base import Permanent, Sent
from channels.gotify.bridge import LONGEST_MESSAGE, GotifyBridge
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter, recipient_of
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.gotify import TOKEN, GotifyServer, error

CHANNEL = GotifyBridge()
PICTURE = "https://e.example/a.png"
FIELDS = {"account": "phone", "server_url": "https://gotify.example", "access_token": TOKEN}
HOSTILE = st.text(max_size=3_000) | st.sampled_from(["\x00\ud800" * 900, "🦄" * 3_000])


class Gotify(ServiceCase):
    channel, made_by = CHANNEL, GotifyServer
    given: ClassVar = {**FIELDS, "server_url": "{url}"}
    service: GotifyServer


class TestGotifyContract(Gotify, BridgeContract):
    refused = error(400, "Field 'message' is required")
    unauthorised = error(401, "you need to provide a valid access token")
    # The application was deleted, and its token with it.
    gone = None
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(number), said["message"]) for number, said in enumerate(self.service.messages)]

    def acceptable(self, arrival: Arrival) -> bool:
        clicks = [said["extras"]["client::notification"]["click"]["url"] for said in self.service.messages]
        return len(arrival.text) <= LONGEST_MESSAGE and set(clicks) == {LINK}

    def is_harmless(self, text: str) -> bool:
        """Gotify shows plain text if the message asks for it."""
        kinds = {said["extras"]["client::display"]["contentType"] for said in self.service.messages}
        return kinds == {"text/plain"}


class TestGotify(Gotify):
    def test_a_push_opens_the_post_and_shows_its_picture(self) -> None:
        post = letter(entries=(entry("Bees", summary="On <b>bees</b>.", image=PICTURE),))
        assert self.post(post, priority="8") == Sent("1")
        [said] = self.service.messages
        assert (said["title"], said["priority"]) == ("Bees", 8)
        assert said["message"] == "[bees] New Post: Bees, by Ada\nOn bees."
        assert said["extras"]["client::notification"] == {"click": {"url": LINK}, "bigImageUrl": PICTURE}
        assert TOKEN not in repr(self.composed(post))
        self.post(post, picture="no")
        assert "bigImageUrl" not in self.service.messages[-1]["extras"]["client::notification"]

    def test_a_link_beyond_measure_is_refused_here(self) -> None:
        long = letter(entries=(entry(link="https://e.example/" + "x" * 9_000),))
        expect(self.post(long, template="{link}"), Permanent)
        assert self.service.requests == []

    def test_a_server_is_asked_whether_it_is_one_without_showing_it_the_token(self) -> None:
        self.check()
        assert "x-gotify-key" not in self.service.requests[0].headers
        for reply in (Reply(body="<html>"), Reply(404, "<html>"), Reply(503)):
            self.service.paths["/version"] = reply
            self.refuse_check("server_url: ")


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_push_is_as_short_as_one_reads(title: str, summary: str, template: str) -> None:
    post = letter(entries=(entry(title, summary=summary, content=summary),), options={"template": template})
    body = CHANNEL.compose(post, recipient_of(CHANNEL, FIELDS)).body
    assert 0 < len(body["message"]) <= LONGEST_MESSAGE
    assert not template or LINK in body["message"]
