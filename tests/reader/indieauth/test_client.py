"""Requesting identity, and a token for posting, from a person's own site."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from common.net.client import Fetched
from reader.indieauth import discovery
from reader.indieauth.client import Begun, begin, finish, renew
from reader.indieauth.discovery import NotConfirmed, discover
from tests.factories import NOW
from tests.servers.feed_server import FeedServer, Reply
from tests.servers.own_site import HTML, OwnSite

BACK = "http://127.0.0.1:8000/back/"


def begun(site: OwnSite, *scopes: str) -> Begun:
    return begin(discover(site.me), redirect_uri=BACK, scopes=scopes, now=NOW)


def kept_of(one: Begun) -> dict[str, Any]:
    """Return the state after a round trip through a session."""
    kept: dict[str, Any] = json.loads(json.dumps(one.kept))
    return kept


class TestDiscovery:
    def test_a_page_names_its_server_and_that_says_the_rest(self, own_site: OwnSite) -> None:
        found = discover(own_site.me)
        assert found.me == own_site.me
        assert found.issuer == own_site.url()
        assert found.authorization == own_site.url("auth")
        assert found.token == own_site.url("token")
        assert found.introspection == own_site.url("introspect")
        assert found.micropub == own_site.url("micropub")

    def test_older_pages_name_the_endpoints_themselves(self, own_site: OwnSite) -> None:
        own_site.rels = {"authorization_endpoint": "auth?x=1", "token_endpoint": "/t", "me": "/other"}
        found = discover(own_site.me)
        assert (found.authorization, found.issuer) == (own_site.url("auth?x=1"), "")
        assert found.token == own_site.server.url("/t")
        query = dict(parse_qsl(urlsplit(begin(found, redirect_uri=BACK, now=NOW).url).query))
        assert query["x"] == "1"
        assert query["response_type"] == "code"

    def test_the_header_counts_before_the_page(self, server: FeedServer) -> None:
        server.serve(
            "/ada/",
            '<link rel="authorization_endpoint" href="/page"><a rel="me micropub" href="/m">',
            headers={**HTML, "Link": '</header>; rel="authorization_endpoint", </m2>; rel=microsub'},
        )
        found = discover(server.url("/ada/"))
        assert found.authorization == server.url("/header")
        assert (found.micropub, found.microsub) == (server.url("/m"), server.url("/m2"))

    @pytest.mark.parametrize(
        ("statuses", "canonical"), [((301, 308), "/ada/"), ((302,), "/a"), ((301, 302, 301), "/b")]
    )
    def test_permanent_redirects_at_the_beginning_lead_to_who_somebody_is(
        self, own_site: OwnSite, statuses: tuple[int, ...], canonical: str
    ) -> None:
        places = [*("/a", "/b", "/c")[: len(statuses)], "/ada/"]
        for status, here, there in zip(statuses, places, places[1:], strict=False):
            own_site.server.redirect(here, there, status)
        found = discover(own_site.server.url("/a"))
        assert found.me == own_site.server.url(canonical)
        assert own_site.me in found.urls

    @pytest.mark.parametrize(
        "issuer", ["", None, 7, "https://evil.example/", "{}auth", "{}?x", "{}#x", "http://127.0.0.1/"]
    )
    def test_a_server_that_does_not_own_its_name_is_not_believed(
        self, own_site: OwnSite, issuer: Any
    ) -> None:
        own_site.metadata["issuer"] = issuer.format(own_site.url()) if isinstance(issuer, str) else issuer
        with pytest.raises(NotConfirmed, match="can’t be used"):
            discover(own_site.me)

    def test_a_page_that_names_nothing_says_what_is_missing(self, server: FeedServer) -> None:
        server.serve("/ada/", "<!-- <link rel=authorization_endpoint href=/x> --> Hello", headers=HTML)
        with pytest.raises(NotConfirmed, match="rel=indieauth-metadata"):
            discover(server.url("/ada/"))

    def test_a_page_that_is_not_there(self, server: FeedServer) -> None:
        with pytest.raises(NotConfirmed, match="HTTP 404"):
            discover(server.url("/nobody/"))

    def test_a_large_page_is_not_read(self, server: FeedServer) -> None:
        server.serve("/ada/", b" " * 1_100_000, headers=HTML)
        with pytest.raises(NotConfirmed, match="larger than 1 MB"):
            discover(server.url("/ada/"))

    def test_what_is_not_public_is_not_called_and_not_described(
        self, server: FeedServer, settings: Any
    ) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        with pytest.raises(NotConfirmed, match=r"^127.0.0.1 isn’t on the public web\.$"):
            discover(server.url("/ada/"))
        assert server.requests == []

    @pytest.mark.parametrize("hop", ["http://ada.example/", "https://10.0.0.1/", "https://ada.example:8443/"])
    def test_a_redirect_that_proves_nothing_is_told(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch, hop: str
    ) -> None:
        settings.SITE_URL = "https://letters.example.org"
        page = b'<link rel="authorization_endpoint" href="https://ada.example/auth">'
        answer = Fetched(200, hop, {}, page, ((301, hop),))
        # No test server has a name with a certificate and the usual port.
        monkeypatch.setattr(discovery, "fetched", lambda url, **_: answer)
        with pytest.raises(NotConfirmed):
            discover("https://www.ada.example/")

    def test_over_http_nothing_is_believed_outside_of_trials(self, own_site: OwnSite, settings: Any) -> None:
        settings.SITE_URL = "https://letters.example.org"
        with pytest.raises(NotConfirmed, match="https"):
            discover(own_site.me)
        assert own_site.server.requests == []


class TestSigningIn:
    def test_a_site_says_who_somebody_is(self, own_site: OwnSite) -> None:
        one = begun(own_site)
        asked = dict(parse_qsl(urlsplit(one.url).query))
        assert asked["client_id"] == "http://127.0.0.1:8000/indieauth/client.json"
        assert asked["code_challenge_method"] == "S256"
        assert "scope" not in asked
        granted = finish(kept_of(one), own_site.says_yes(one.url), now=NOW)
        assert (granted.me, granted.token) == (own_site.me, "")
        assert len(own_site.server.asked("/ada/token")) == 0

    def test_with_scopes_a_token_comes(self, own_site: OwnSite) -> None:
        own_site.said = {"expires_in": "3600", "refresh_token": "again"}
        one = begun(own_site, "create", "update", "media")
        granted = finish(kept_of(one), own_site.says_yes(one.url), now=NOW)
        assert (granted.token, granted.refresh_token) == ("token-1", "again")
        assert granted.scopes == ("create", "media")
        assert granted.ends_at == NOW + timedelta(hours=1)
        assert "token-1" not in repr(granted)
        assert one.kept["verifier"] not in repr(one)
        own_site.said = {"access_token": "token-2"}
        later = renew(granted, now=NOW)
        assert (later.token, later.refresh_token) == ("token-2", "again")

    def test_an_older_server_answers_with_a_form(self, own_site: OwnSite) -> None:
        body = f"me={own_site.me}&access_token=t&scope=create".encode()
        own_site.server.answer("/ada/token", lambda request: Reply(body))
        one = begun(own_site, "create")
        granted = finish(kept_of(one), own_site.says_yes(one.url), now=NOW)
        assert (granted.me, granted.token, granted.scopes) == (own_site.me, "t", ("create",))

    @pytest.mark.parametrize(
        ("instead", "told"),
        [
            ({"state": "another"}, "doesn’t match a sign-in"),
            ({"state": ""}, "doesn’t match a sign-in"),
            ({"state": "ü"}, "doesn’t match a sign-in"),
            ({"iss": "https://evil.example/"}, "isn’t from"),
            ({"iss": ""}, "isn’t from"),
            ({"code": ""}, "sent no code"),
            ({"code": "x" * 5_000}, "sent no code"),
            ({"code": "unknown"}, "refused it: That code is over"),
            ({"error": "access_denied"}, "You declined"),
            ({"error": "server_error", "error_description": "Sorry"}, "refused it: Sorry"),
        ],
    )
    def test_an_answer_that_is_not_right_is_refused(
        self, own_site: OwnSite, instead: dict[str, str], told: str
    ) -> None:
        one = begun(own_site)
        with pytest.raises(NotConfirmed, match=told):
            finish(kept_of(one), own_site.says_yes(one.url, **instead), now=NOW)

    def test_a_wrong_verifier_is_of_no_use(self, own_site: OwnSite) -> None:
        one = begun(own_site)
        kept = {**kept_of(one), "verifier": "x" * 64}
        with pytest.raises(NotConfirmed, match="refused"):
            finish(kept, own_site.says_yes(one.url), now=NOW)

    def test_what_was_begun_ends_after_an_hour(self, own_site: OwnSite) -> None:
        one = begun(own_site)
        with pytest.raises(NotConfirmed, match="an hour"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW + timedelta(minutes=61))

    def test_nothing_was_begun(self) -> None:
        with pytest.raises(NotConfirmed, match="doesn’t match a sign-in"):
            finish({}, {"state": "", "code": "x"}, now=NOW)

    def test_no_site_speaks_for_another_ones_people(self, own_site: OwnSite) -> None:
        victim = OwnSite(own_site.server, "/victim/")
        own_site.said = {"me": victim.me}
        one = begun(own_site)
        with pytest.raises(NotConfirmed, match="isn’t allowed to confirm"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW)

    def test_a_server_may_name_another_page_that_trusts_it(self, own_site: OwnSite) -> None:
        other = OwnSite(own_site.server, "/other/")
        other.rels = own_site.rels
        own_site.said = {"me": other.me}
        one = begun(own_site)
        assert finish(kept_of(one), own_site.says_yes(one.url), now=NOW).me == other.me

    @pytest.mark.parametrize("me", ["", "nonsense words", None, "ftp://ada.example/", ["x"]])
    def test_a_server_that_names_nobody_signs_in_nobody(self, own_site: OwnSite, me: Any) -> None:
        own_site.said = {"me": me}
        one = begun(own_site)
        with pytest.raises(NotConfirmed, match="didn’t say who you are"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW)

    @pytest.mark.parametrize("token", ["", None, 7, "a b\n", "ü", "x" * 5_000, ["x"]])
    def test_a_token_that_cannot_stand_in_a_header_is_none(self, own_site: OwnSite, token: Any) -> None:
        own_site.said = {"access_token": token}
        one = begun(own_site, "create")
        with pytest.raises(NotConfirmed, match="sent no token"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW)

    def test_without_a_place_for_tokens_none_is_asked_for(self, own_site: OwnSite) -> None:
        with pytest.raises(NotConfirmed, match="name a token endpoint"):
            begin(replace(discover(own_site.me), token=""), redirect_uri=BACK, scopes=["create"], now=NOW)

    def test_a_server_that_is_down(self, own_site: OwnSite) -> None:
        one = begun(own_site)
        answer = own_site.says_yes(one.url)
        own_site.is_down = True
        with pytest.raises(NotConfirmed, match="refused it"):
            finish(kept_of(one), answer, now=NOW)


class TestPrivateNetworks:
    """A page or server may name any URL: it is called only if it is public."""

    INSIDE = (
        "http://169.254.169.254/latest/",
        "http://10.0.0.1/",
        "http://[fd00::1]/",
        "http://[::ffff:10.0.0.1]/",
    )

    @pytest.mark.parametrize("inside", INSIDE)
    def test_as_somebodys_address(self, inside: str) -> None:
        with pytest.raises(NotConfirmed, match="isn’t on the public web"):
            discover(inside)

    @pytest.mark.parametrize("inside", INSIDE)
    def test_where_that_leads(self, server: FeedServer, inside: str) -> None:
        server.redirect("/ada/", inside)
        with pytest.raises(NotConfirmed, match="isn’t on the public web"):
            discover(server.url("/ada/"))

    @pytest.mark.parametrize("inside", INSIDE)
    def test_as_what_describes_the_server(self, own_site: OwnSite, inside: str) -> None:
        own_site.rels["indieauth-metadata"] = inside
        with pytest.raises(NotConfirmed, match="isn’t on the public web"):
            discover(own_site.me)

    @pytest.mark.parametrize("scopes", [(), ("create",)])
    @pytest.mark.parametrize("inside", INSIDE)
    def test_as_where_a_code_is_exchanged(
        self, own_site: OwnSite, inside: str, scopes: tuple[str, ...]
    ) -> None:
        own_site.metadata |= {"token_endpoint": inside, "authorization_endpoint": inside}
        one = begun(own_site, *scopes)
        with pytest.raises(NotConfirmed, match="isn’t on the public web"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW)

    @pytest.mark.parametrize("inside", INSIDE)
    def test_as_whom_a_server_names(self, own_site: OwnSite, inside: str) -> None:
        own_site.said = {"me": inside}
        one = begun(own_site)
        with pytest.raises(NotConfirmed, match="isn’t on the public web"):
            finish(kept_of(one), own_site.says_yes(one.url), now=NOW)


def test_our_client_id_leads_to_what_we_are(client: Client) -> None:
    answer = client.get("/indieauth/client.json")
    about = answer.json()
    assert about["client_id"] == "http://127.0.0.1:8000/indieauth/client.json"
    assert answer["Content-Type"] == "application/json"
    assert about["token_endpoint_auth_method"] == "none"
