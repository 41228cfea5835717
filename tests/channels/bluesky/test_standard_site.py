"""Records of site.standard fulfil the contract of all services, and follow edits and deletions."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from channels.base import NO_POST, Message, Permanent, Sent, Temporary
from channels.bluesky.standard_site import StandardSiteChannel, publication_key, publication_uri
from channels.letter import Letter, Recipient
from common.pictures.picture import CleanPicture
from common.ports.channels import InvalidDestination
from feeds.parsing.entry import Media
from tests.channels.bluesky.bluesky_letters import Skeeting
from tests.contracts.bridge import BridgeContract, entry, expect, letter
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import (
    DID,
    DOCUMENT,
    HANDLE,
    LARGEST_REQUEST,
    PASSWORD,
    PUBLICATION,
    PUT,
    Refused,
    check_standard_site,
)

PAGE = "https://letters.example/s/bees/"
PNG = CleanPicture("bees.png", "image/png", 16, 9, b"\x89PNG\r\n\x1a\n" + b"0" * 50)
MEDIA = (Media("https://x.example/a.png", "image/png"),)


class Publishing(Skeeting):
    channel: ClassVar[Any] = StandardSiteChannel()
    given: ClassVar = {"did": DID}

    def connected(self, timeout: float, **lane: Any) -> Any:
        account = {"did": DID, "handle": HANDLE, "service_url": self.url, "pds": self.url}
        return super().connected(timeout, credentials={**account, "app_password": PASSWORD}, **lane)

    def recipient(self) -> Recipient:
        return Recipient(1, DID, f"@{HANDLE}")

    def composed(self, of: Letter | None = None, to: Recipient | None = None, **options: str) -> Any:
        of = of or letter()
        of = replace(of, web_url=f"{PAGE}archive/7/", page_url=PAGE, description="About bees")
        return super().composed(of, to, **options)

    @property
    def document(self) -> dict[str, Any]:
        [made] = self.service.documents.values()
        return dict(made)


class TestStandardSiteContract(Publishing, BridgeContract):
    refused = Reply(400, {"error": "InvalidRequest", "message": "Invalid site.standard.document record"})
    unauthorised = Reply(401, {"error": "AuthenticationRequired", "message": "Invalid password"})
    gone = Reply(400, {"error": "AccountTakedown", "message": "Account has been taken down"})
    secrets = (PASSWORD,)

    def arrived(self) -> list[Arrival]:
        names = ("title", "description", "textContent")
        documents = self.service.documents.items()
        return [Arrival(key, "\n".join(made.get(name, "") for name in names)) for key, made in documents]

    def acceptable(self, arrival: Arrival) -> bool:
        made = self.service.documents[arrival.identity]
        check_standard_site(made, self.service.blobs)
        return bool(made["path"] == "/archive/7/")

    def is_harmless(self, text: str) -> bool:
        """A record's texts have no markup."""
        return True

    def test_a_template_is_posted_in_its_words(self) -> None:
        """A newsletter has no template for it."""

    def test_a_post_without_link_and_words_is_refused_without_asking_anyone(self) -> None:
        """Its issue has a page."""


class TestRecords(Publishing):
    def test_both_records_name_each_other_by_keys_of_their_own(self) -> None:
        sent = expect(self.post(), Sent, url=f"{PAGE}archive/7/")
        [(key, publication)] = self.service.publications.items()
        url = PAGE.rstrip("/")
        assert publication == {"$type": PUBLICATION, "url": url, "name": "Bees", "description": "About bees"}
        assert self.document["site"] == publication_uri(DID, PAGE) == f"at://{DID}/{PUBLICATION}/{key}"
        assert key == publication_key(url)
        assert sent.remote_id == f"at://{DID}/{DOCUMENT}/{next(iter(self.service.documents))}"

    def test_a_repetition_changes_nothing(self) -> None:
        self.post()
        written = len(self.service.writes)
        expect(self.post(), Sent)
        assert len(self.service.writes) == written == 2

    def test_a_post_has_its_text_tags_and_picture(self) -> None:
        self.picture_of = lambda url: PNG if url == MEDIA[0].url else None
        text, tags = "<p>They <b>dance</b>.</p><p>And hum.</p>", ("bees", "b" * 60)
        self.post(letter(entries=(entry("Bees", content=text, categories=tags, media=MEDIA),)))
        made = self.document
        assert (made["title"], made["textContent"]) == ("Bees", "They dance.\n\nAnd hum.")
        assert (made["tags"], made["coverImage"]["mimeType"]) == (["bees"], "image/png")

    def test_a_digest_has_the_texts_of_its_posts(self) -> None:
        posts = tuple(entry(f"T{n}", content=f"<p>Text {n}</p>") for n in range(2))
        self.post(letter("T0, and 1 more", entries=posts, is_digest=True))
        assert self.document["textContent"] == "T0\n\nText 0\n\nT1\n\nText 1"
        assert self.document["description"] == "T0; T1"

    def test_the_text_of_a_post_with_a_warning_is_left_out(self) -> None:
        self.post(letter(entries=(entry("Stings", content="Ouch", sensitive=True, warning="Pain"),)))
        assert self.document["description"] == "Pain"
        assert "textContent" not in self.document

    @pytest.mark.parametrize("text", ["é" * 60_000, "wörter " * 20_000, "蜂" * 30_000, "\ud83dbees"])
    def test_any_text_fits_a_request(self, text: str) -> None:
        expect(self.post(letter(entries=(entry(content=text),))), Sent)
        assert self.document["textContent"]
        assert max(len(request.body) for request in self.service.asked(PUT)) < LARGEST_REQUEST

    def test_a_server_with_a_smaller_limit_gets_no_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.servers.services.bluesky.LARGEST_REQUEST", 4_000)
        expect(self.post(letter(entries=(entry(content="bees " * 1_000),))), Sent)
        assert "textContent" not in self.document

    @pytest.mark.parametrize("without", ["web_url", "page_url"])
    def test_an_issue_without_a_public_page_is_refused(self, without: str) -> None:
        pages = {"web_url": f"{PAGE}archive/7/", "page_url": PAGE, without: ""}
        message: Message[Any] = self.channel.compose(letter(**pages), self.recipient())
        expect(self.post(message), Permanent, "public page")

    def test_without_its_bridges_password_it_waits(self) -> None:
        made = super().connected(1.0)
        made.credentials = {}
        outcome = made.send(self.composed(), key="key-1", begun_at=None, now=None)
        assert expect(outcome, Temporary, "no token").stops_account

    def test_it_is_edited_once_and_keeps_what_only_others_write(self) -> None:
        sent = self.post()
        [record] = self.service.documents.values()
        record["coverImage"] = self.service.blobs["b"] = {"ref": {"$link": "b"}, "size": 9}
        written = len(self.service.writes)
        for _ in range(2):
            expect(self.edit(letter("Corrected"), sent.remote_id), Sent, remote_id=sent.remote_id)
        assert self.document["title"] == "Corrected"
        assert self.document["coverImage"] == record["coverImage"]
        assert self.document["updatedAt"] == "2026-03-04T05:06:07.000Z"
        assert len(self.service.writes) == written + 1

    def test_it_is_deleted_and_no_edit_brings_it_back(self) -> None:
        sent = self.post()
        for _ in range(2):
            expect(self.delete(sent.remote_id), Sent)
        assert self.edit(letter("Corrected"), sent.remote_id) == NO_POST
        assert self.service.documents == {}
        assert len(self.service.publications) == 1

    def test_an_edit_that_meets_another_is_made_again(self) -> None:
        sent = self.post()
        self.service.says = Reply(400, {"error": "InvalidSwap", "message": "Record was at another CID"})
        expect(self.edit(letter("Corrected"), sent.remote_id), Temporary)


def test_only_a_did_is_an_account() -> None:
    with pytest.raises(InvalidDestination, match="DID"):
        Publishing.channel.parse_destination({"did": "bees.example"})


def test_the_fake_refuses_what_no_app_can_read() -> None:
    with pytest.raises(Refused):
        check_standard_site({"$type": PUBLICATION, "url": PAGE, "name": "Bees"}, {})
