"""The Bluesky channel's interface: destination, options and check."""

import pytest

from channels.bluesky.client import pds_of, scope_of
from common.ports.channels import ParsedDestination
from tests.channels.bluesky.bluesky_letters import CHANNEL, Skeeting
from tests.contracts.bridge import IMPATIENT
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD, SIGN_IN, BlueskyServer


def parsed(**data: str) -> ParsedDestination:
    return CHANNEL.parse_destination({"handle": HANDLE, "app_password": PASSWORD, **data})


class TestDestination:
    @pytest.mark.parametrize("typed", [HANDLE, f"@{HANDLE}", f" {HANDLE.upper()} ", f"\u202a@{HANDLE}\u202c"])
    def test_spellings_of_a_handle_are_one(self, typed: str) -> None:
        made = parsed(handle=typed)
        assert made.core == HANDLE
        assert made.label == f"@{HANDLE}"
        assert made.config == {"handle": HANDLE, "service_url": "https://bsky.social"}
        assert made.secrets == {"app_password": PASSWORD}

    @pytest.mark.parametrize("did", [DID, "did:web:pds.example", "did:web:localhost%3A2583"])
    def test_an_account_may_be_named_by_its_did(self, did: str) -> None:
        assert parsed(handle=did).core == did


class TestCheck(Skeeting):
    def test_an_account_is_known_by_its_did(self) -> None:
        made = self.check()
        assert (made.core, made.label) == (DID, f"@{HANDLE}")
        assert made.config == {
            "handle": HANDLE,
            "service_url": self.service.url,
            "did": DID,
            "pds": self.service.url,
        }
        assert made.secrets == {"app_password": PASSWORD}

    def test_the_accounts_own_password_is_warned_of(self) -> None:
        self.service.scope = "com.atproto.access"
        made = self.check()
        assert "main password" in made.config["warning"]
        assert "app password" in made.config["warning"]
        self.service.scope = "com.atproto.appPass"
        assert "warning" not in self.check().config

    @pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.bnVsbA.c", f"a.{'W1tb' * 9_999}.c", "a.ü.c"])
    def test_a_token_that_cannot_be_read_has_no_scope(self, token: str) -> None:
        assert scope_of(token) == ""

    def test_a_changed_handle_is_the_same_account(self) -> None:
        assert self.check(handle=DID) == self.check()

    def test_its_server_is_asked_of_the_directory(self) -> None:
        self.service.names_pds = False
        self.service.pds_url = "https://pds.example"
        with BlueskyServer() as directory:
            self.plc = directory.url
            directory.paths[f"/{DID}"] = Reply(body=self.service.document())
            assert self.check().config["pds"] == "https://pds.example"

    def test_where_nobody_names_its_server_it_is_the_service(self) -> None:
        self.service.names_pds = False
        assert self.check().config["pds"] == self.service.url

    def test_a_wrong_password_is_said(self) -> None:
        match = r"app_password: .*Invalid identifier"
        assert "wrong-password" not in self.refuse_check(match, app_password="wrong-password")

    def test_an_account_that_is_not_active_is_refused(self) -> None:
        tokens = {"did": DID, "handle": HANDLE, "accessJwt": "a" * 9, "refreshJwt": "b" * 9}
        self.service.paths[SIGN_IN] = Reply(
            body={**tokens, "active": False, "didDoc": self.service.document()}
        )
        self.refuse_check(r"handle: .* isn’t active")

    @pytest.mark.parametrize("said", [Reply(404), Reply(503), Reply(body="<html>"), Reply(silent=True)])
    def test_a_service_that_signs_in_nobody_is_said(self, said: Reply) -> None:
        self.service.paths[SIGN_IN] = said
        self.timeout = IMPATIENT
        self.refuse_check("service_url: ")


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {"service": {}}, {"service": [1, {"id": "#other"}]},
        {"service": [{"id": "#atproto_pds"}]},
        {"service": [{"id": "#atproto_pds", "serviceEndpoint": "http://evil.example"}]},
        {"service": [{"id": "#atproto_pds", "serviceEndpoint": ["https://a.example"]}]},
    ],
)  # fmt: skip
def test_nonsense_names_no_server(document: object) -> None:
    assert pds_of(document) == ""
