"""A reader authorizes a client: its token and scopes, and why stolen parts are useless."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from reader.indieauth.grants import CODE_LASTS, CODES_KEPT, Exchange, NotGranted, redeem
from reader.models import Code, Reader, Token
from reader.people.tokens import IDLE, digest_of
from tests.races import beside
from tests.reader.indieauth.client_app import ClientApp

pytestmark = pytest.mark.django_db
ME = "http://127.0.0.1:8000/@ada/"


@pytest.fixture
def app(ada: Reader) -> ClientApp:
    """Return a client on the reader's own machine, which needs no fetching."""
    return ClientApp(ada, "http://127.0.0.1:3000/")


def test_from_a_persons_address_to_their_posts(app: ClientApp) -> None:
    given = app.signed_in("create read follow profile")
    assert given["me"] == ME
    assert (given["token_type"], given["scope"]) == ("Bearer", "read follow profile")
    assert given["profile"] == {"name": "ada", "url": ME}
    api = app.microsub(given["access_token"])
    assert [one["uid"] for one in api.ask("channels")["channels"]] == ["notifications", "home"]
    status, refused = api.post("channels", name="New")
    assert (status, refused["error"]) == (403, "insufficient_scope")


def test_only_what_is_ticked_is_given(app: ClientApp) -> None:
    code = app.answered(scope="read follow mute", ticks=["read", "block", "nonsense"])["code"]
    _, given = app.exchange(code)
    assert given["scope"] == "read"
    assert "profile" not in given


def test_a_no_is_told(app: ClientApp) -> None:
    assert app.answered("deny") == {"error": "access_denied"}
    assert not Code.objects.exists()


def test_without_a_scope_there_is_no_token_but_a_name(app: ClientApp) -> None:
    code = app.answered(ticks=[])["code"]
    assert app.exchange(code)[1]["error"] == "invalid_grant"
    assert app.exchange(code, at="authorization_endpoint") == (200, {"me": ME})
    assert app.exchange(code, at="authorization_endpoint")[1]["error"] == "invalid_grant"
    assert not Token.objects.exists()


def test_at_the_authorization_endpoint_a_code_gives_a_name_and_no_token(app: ClientApp) -> None:
    code = app.answered(scope="read profile")["code"]
    status, said = app.exchange(code, at="authorization_endpoint")
    assert (status, said) == (200, {"me": ME, "profile": {"name": "ada", "url": ME}})
    assert app.exchange(code)[0] == 400
    assert not Token.objects.exists()


def test_nothing_that_opens_anything_is_stored(app: ClientApp) -> None:
    code = app.answered()["code"]
    _, given = app.exchange(code)
    stored = str(list(Code.objects.values())) + str(list(Token.objects.values()))
    for secret in (code, given["access_token"], given["refresh_token"], app.verifier):
        assert secret not in stored
        assert digest_of(secret) in stored or secret == app.verifier


class TestCodes:
    def test_a_second_use_ends_what_the_first_one_gave(self, app: ClientApp) -> None:
        code = app.answered()["code"]
        _, given = app.exchange(code)
        api = app.microsub(given["access_token"])
        api.ask("channels")
        status, refused = app.exchange(code)
        assert (status, refused["error"]) == (400, "invalid_grant")
        assert api.get("channels")[0] == 401
        assert (
            app.post(
                "token_endpoint",
                grant_type="refresh_token",
                refresh_token=given["refresh_token"],
                client_id=app.client_id,
            )[0]
            == 400
        )

    @pytest.mark.parametrize(
        "instead",
        [
            {"code_verifier": "x" * 64},
            {"code_verifier": "short"},
            {"client_id": "http://127.0.0.1:3001/"},
            {"redirect_uri": "http://127.0.0.1:3000/elsewhere"},
            {"code": "flr_unknown"},
        ],
    )
    def test_what_does_not_fit_gives_nothing_and_spoils_nothing(
        self, app: ClientApp, instead: dict[str, str]
    ) -> None:
        code = app.answered()["code"]
        status, refused = app.exchange(**{"code": code, **instead})
        assert (status, refused["error"]) == (400, "invalid_grant")
        assert not Token.objects.exists()
        assert app.exchange(code)[0] == 200

    @pytest.mark.parametrize("missing", ["code", "client_id", "redirect_uri", "code_verifier"])
    def test_what_is_missing_is_named(self, app: ClientApp, missing: str) -> None:
        code = app.answered()["code"]
        status, refused = app.exchange(**{"code": code, missing: ""})
        assert (status, refused["error"]) == (400, "invalid_request")
        assert missing in refused["error_description"]

    def test_it_lasts_five_minutes(self, app: ClientApp) -> None:
        code = app.answered()["code"]
        Code.objects.update(made_at=utcnow() - CODE_LASTS)
        assert app.exchange(code)[1]["error"] == "invalid_grant"

    def test_a_second_use_is_noticed_after_its_end_too(self, app: ClientApp) -> None:
        code = app.answered()["code"]
        _, given = app.exchange(code)
        Code.objects.update(made_at=utcnow() - timedelta(hours=1))
        app.exchange(code)
        assert app.microsub(given["access_token"]).get("channels")[0] == 401

    def test_old_ones_are_forgotten(self, app: ClientApp) -> None:
        app.answered()
        Code.objects.update(made_at=utcnow() - CODES_KEPT - timedelta(hours=1))
        app.answered()
        assert Code.objects.count() == 1

    def test_who_may_not_read_any_more_gets_nothing(self, app: ClientApp) -> None:
        code = app.answered()["code"]
        app.reader.user.is_active = False
        app.reader.user.save()
        assert app.exchange(code)[1]["error"] == "invalid_grant"

    def test_another_sort_of_grant_is_refused(self, app: ClientApp) -> None:
        for sort in ("password", "client_credentials", ""):
            status, refused = app.post("token_endpoint", grant_type=sort)
            assert (status, refused["error"]) == (400, "unsupported_grant_type")


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_gets_a_token_and_that_one_ends(ada: Reader) -> None:
    app = ClientApp(ada, "http://127.0.0.1:3000/")
    code = app.answered()["code"]
    shown = Exchange(code, app.client_id, app.redirect_uri, app.verifier)

    def ask() -> str:
        try:
            return redeem(shown, now=utcnow()).key
        except NotGranted as error:
            return str(error)

    first, second = beside(ask, ask)
    assert first.startswith("flr_")
    assert "already used" in second
    assert Token.objects.get().revoked_at is not None


class TestRefreshing:
    def refreshed(self, app: ClientApp, given: dict[str, Any], **more: str) -> tuple[int, dict[str, Any]]:
        form = {"grant_type": "refresh_token", "refresh_token": given["refresh_token"], **more}
        return app.post("token_endpoint", **{"client_id": app.client_id, **form})

    def test_the_next_token_takes_the_place_of_the_one_before(self, app: ClientApp) -> None:
        first = app.signed_in("read follow")
        status, second = self.refreshed(app, first)
        assert status == 200
        assert second["scope"] == "read follow"
        assert app.microsub(second["access_token"]).get("channels")[0] == 200
        assert app.microsub(first["access_token"]).get("channels")[0] == 401
        assert Token.objects.count() == 1

    def test_whoever_shows_the_one_before_again_ends_all(self, app: ClientApp) -> None:
        first = app.signed_in()
        _, second = self.refreshed(app, first)
        assert self.refreshed(app, first)[1]["error"] == "invalid_grant"
        assert app.microsub(second["access_token"]).get("channels")[0] == 401
        assert self.refreshed(app, second)[0] == 400

    def test_scopes_may_become_fewer_and_never_more(self, app: ClientApp) -> None:
        first = app.signed_in("read follow")
        assert self.refreshed(app, first, scope="read channels")[1]["error"] == "invalid_scope"
        _, second = self.refreshed(app, first, scope="read")
        assert second["scope"] == "read"

    def test_it_is_no_other_clients(self, app: ClientApp) -> None:
        first = app.signed_in()
        assert self.refreshed(app, first, client_id="https://evil.example/")[1]["error"] == "invalid_grant"
        assert self.refreshed(app, first, client_id="")[1]["error"] == "invalid_request"
        assert self.refreshed(app, first)[0] == 200

    def test_an_access_token_is_no_refresh_token_and_the_other_way_round(self, app: ClientApp) -> None:
        first = app.signed_in()
        swapped = {"refresh_token": first["access_token"]}
        assert self.refreshed(app, swapped)[0] == 400
        assert app.microsub(first["refresh_token"]).get("channels")[0] == 401

    def test_access_that_is_not_used_ends_and_cannot_be_renewed(self, app: ClientApp) -> None:
        first = app.signed_in()
        Token.objects.update(made_at=utcnow() - IDLE, last_used_at=None)
        assert app.microsub(first["access_token"]).get("channels")[0] == 401
        assert self.refreshed(app, first)[1]["error"] == "invalid_grant"

    def test_use_puts_the_end_off(self, app: ClientApp) -> None:
        first = app.signed_in()
        Token.objects.update(made_at=utcnow() - IDLE, last_used_at=utcnow() - timedelta(days=1))
        assert app.microsub(first["access_token"]).get("channels")[0] == 200


class TestWhatATokenIs:
    def test_revoking_is_always_200_and_ends_it(self, app: ClientApp) -> None:
        given = app.signed_in()
        assert app.post("revocation_endpoint", token="unknown") == (200, {})
        assert app.post("revocation_endpoint", token=given["access_token"]) == (200, {})
        assert app.post("revocation_endpoint", token=given["access_token"]) == (200, {})
        assert app.microsub(given["access_token"]).get("channels")[0] == 401
        assert app.post("revocation_endpoint")[1]["error"] == "invalid_request"

    def test_revoking_the_refresh_token_ends_both(self, app: ClientApp) -> None:
        given = app.signed_in()
        app.post("revocation_endpoint", token=given["refresh_token"])
        assert app.microsub(given["access_token"]).get("channels")[0] == 401

    def test_as_older_clients_revoke(self, app: ClientApp) -> None:
        given = app.signed_in()
        assert app.post("token_endpoint", action="revoke", token=given["access_token"]) == (200, {})
        assert app.microsub(given["access_token"]).get("channels")[0] == 401

    def test_the_token_endpoint_says_what_a_token_is(self, app: ClientApp) -> None:
        given = app.signed_in("read profile")
        headers = {"Authorization": f"Bearer {given['access_token']}"}
        about = app.http.get("/indieauth/token", headers=headers).json()
        assert about == {"me": ME, "client_id": app.client_id, "scope": "read profile"}
        refused = app.http.get("/indieauth/token", headers={"Authorization": "Bearer nonsense"})
        assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Bearer")

    def test_introspection_is_for_whoever_has_a_token_of_the_same_person(
        self, app: ClientApp, bob: Reader
    ) -> None:
        given, others = app.signed_in("read"), ClientApp(bob, app.client_id).signed_in("read")
        key, bobs = given["access_token"], others["access_token"]
        assert app.post("introspection_endpoint", token=key)[0] == 401
        assert app.post("introspection_endpoint", token=key, key="nonsense")[0] == 401
        status, about = app.post("introspection_endpoint", token=key, key=key)
        assert status == 200
        assert (about["active"], about["me"], about["scope"]) == (True, ME, "read")
        assert about["iat"] < about["exp"]
        for token in ("unknown", bobs, given["refresh_token"]):
            assert app.post("introspection_endpoint", token=token, key=key) == (200, {"active": False})


class TestAddresses:
    def test_the_metadata_say_all_that_there_is(self, app: ClientApp) -> None:
        assert app.metadata["issuer"] == "http://127.0.0.1:8000/"
        assert app.metadata["code_challenge_methods_supported"] == ["S256"]
        assert app.metadata["authorization_response_iss_parameter_supported"] is True
        assert app.http.get("/.well-known/oauth-authorization-server").json() == app.metadata
        assert app.rels["authorization_endpoint"] == app.metadata["authorization_endpoint"]
        assert app.rels["token_endpoint"] == app.metadata["token_endpoint"]

    @pytest.mark.parametrize("name", ["metadata", "token", "revoke", "introspect", "authorize"])
    def test_both_spellings_answer_and_browsers_of_anywhere_may_ask(self, db: None, name: str) -> None:
        client = Client()
        for address in (f"/indieauth/{name}", f"/indieauth/{name}/"):
            assert client.options(address).status_code == 204
            answer = client.post(address)
            assert answer.status_code == (405 if name == "metadata" else 401 if name == "introspect" else 400)
            assert answer["Access-Control-Allow-Origin"] == "*"
            assert answer.json()["error"]


def test_a_reader_of_their_own_token_sees_no_other_persons_posts(app: ClientApp, bob: Reader) -> None:
    others = ClientApp(bob, app.client_id).signed_in("read")
    status, refused = app.microsub(others["access_token"]).get("channels")
    assert (status, refused["error"]) == (403, "forbidden")
