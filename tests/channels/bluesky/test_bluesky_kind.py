"""The Bluesky channel's interface: destination, options and check."""

from collections.abc import Iterator

import pytest

from channels.bluesky.bridge import BlueskyBridge
from channels.bluesky.client import pds_of, scope_of
from common.ports.channels import InvalidDestination, ParsedDestination
from tests.channels.bluesky.bluesky_letters import LOOPBACK
from tests.contracts.bridge import IMPATIENT, PATIENT, closed_port
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD, SIGN_IN, BlueskyServer

KIND = BlueskyBridge()


@pytest.fixture
def server() -> Iterator[BlueskyServer]:
    with BlueskyServer() as made:
        yield made


def parsed(**data: str) -> ParsedDestination:
    return KIND.parse_destination({"handle": HANDLE, "app_password": PASSWORD, **data})


def checked(url: str, *, plc: str = "", timeout: float = PATIENT, **data: str) -> ParsedDestination:
    given = parsed(service_url=url, **data)
    asked = BlueskyBridge(session=LOOPBACK.session(), timeout=timeout)
    asked.plc = plc or closed_port()
    return asked.check_destination(given)


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

    @pytest.mark.parametrize(
        "typed",
        [
            "", "bees", "a b.example", "bees@example.org", "-x.example", "x.1", "x..y",
            "did:plc:short", "did:key:z6Mk", "did:web:a/../b",
            "https://bsky.app/profile/x", "x" * 64 + ".example", "a." * 130 + "example",
        ],
    )  # fmt: skip
    def test_a_wrong_handle_is_refused(self, typed: str) -> None:
        with pytest.raises(InvalidDestination, match="handle: "):
            parsed(handle=typed)

    @pytest.mark.parametrize("typed", ["", "a\nb", "x" * 257])
    def test_a_wrong_password_is_refused_and_not_repeated(self, typed: str) -> None:
        with pytest.raises(InvalidDestination, match="app_password: ") as caught:
            parsed(app_password=typed)
        assert not typed or typed not in str(caught.value)


class TestOptions:
    def test_options_are_checked(self) -> None:
        given = {"card": "no", "tags": "no", "thread": "yes", "content_label": "nudity", "language": "DE"}
        assert KIND.parse_options(given) == {**given, "language": "de"}
        for name in ("card", "tags", "thread", "content_label", "language"):
            with pytest.raises(InvalidDestination, match=f"{name}: "):
                KIND.parse_options({name: "maybe"})


class TestCheck:
    def test_an_account_is_known_by_its_did(self, server: BlueskyServer) -> None:
        made = checked(server.url)
        assert (made.core, made.label) == (DID, f"@{HANDLE}")
        assert made.config == {"handle": HANDLE, "service_url": server.url, "did": DID, "pds": server.url}
        assert made.secrets == {"app_password": PASSWORD}

    def test_the_accounts_own_password_is_warned_of(self, server: BlueskyServer) -> None:
        server.scope = "com.atproto.access"
        made = checked(server.url)
        assert "main password" in made.config["warning"]
        assert "app password" in made.config["warning"]
        server.scope = "com.atproto.appPass"
        assert "warning" not in checked(server.url).config

    @pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.bnVsbA.c", f"a.{'W1tb' * 9_999}.c", "a.ü.c"])
    def test_a_token_that_cannot_be_read_has_no_scope(self, token: str) -> None:
        assert scope_of(token) == ""

    def test_a_changed_handle_is_the_same_account(self, server: BlueskyServer) -> None:
        assert checked(server.url, handle=DID) == checked(server.url)

    def test_its_server_is_asked_of_the_directory(self, server: BlueskyServer) -> None:
        server.names_pds = False
        server.pds_url = "https://pds.example"
        with BlueskyServer() as directory:
            directory.paths[f"/{DID}"] = Reply(body=server.document())
            assert checked(server.url, plc=directory.url).config["pds"] == "https://pds.example"

    def test_where_nobody_names_its_server_it_is_the_service(self, server: BlueskyServer) -> None:
        server.names_pds = False
        assert checked(server.url).config["pds"] == server.url

    def test_a_wrong_password_is_said(self, server: BlueskyServer) -> None:
        with pytest.raises(InvalidDestination, match=r"app_password: .*Invalid identifier") as caught:
            checked(server.url, app_password="wrong-password")
        assert "wrong-password" not in str(caught.value)

    def test_an_account_that_is_not_active_is_refused(self, server: BlueskyServer) -> None:
        tokens = {"did": DID, "handle": HANDLE, "accessJwt": "a" * 9, "refreshJwt": "b" * 9}
        server.paths[SIGN_IN] = Reply(body={**tokens, "active": False, "didDoc": server.document()})
        with pytest.raises(InvalidDestination, match=r"handle: .* isn’t active"):
            checked(server.url)

    @pytest.mark.parametrize("said", [Reply(404), Reply(503), Reply(body="<html>"), Reply(silent=True)])
    def test_a_service_that_signs_in_nobody_is_said(self, server: BlueskyServer, said: Reply) -> None:
        server.paths[SIGN_IN] = said
        with pytest.raises(InvalidDestination, match="service_url: "):
            checked(server.url, timeout=IMPATIENT)


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
