"""The consent page's view of a client, and redirects that are never followed."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from reader.indieauth.grants import read_client
from reader.models import Code, Reader
from tests.examples import some_now
from tests.reader.indieauth.client_app import ClientApp
from tests.servers.feed_server import FeedServer, Reply, Request
from tests.servers.own_site import HTML, JSON

pytestmark = [pytest.mark.django_db]


def served(server: FeedServer, **about: Any) -> str:
    """Serve a client with a metadata document at its URL."""
    url = f"http://localhost:{server.port}/app"
    said = {"client_id": url, "client_name": "Reading lamp", **about}
    server.serve("/app", json.dumps(said), headers=JSON)
    return url


@pytest.fixture
def app(ada: Reader, server: FeedServer) -> ClientApp:
    elsewhere = "https://lamp.example/back"
    client_id = served(server, logo_uri=server.url("/logo.png"), redirect_uris=[elsewhere, "lamp.app:/back"])
    return ClientApp(ada, client_id, elsewhere)


def page_of(app: ClientApp, **asked: str) -> Any:
    return app.browser.get(app.asks(**asked))


class TestThePage:
    def test_it_says_who_asks_for_what_and_where_the_answer_goes(self, app: ClientApp) -> None:
        page = page_of(app, scope="read create follow delete")
        html = page.content.decode()
        assert "<bdi>Reading lamp</bdi> asks for access to your account" in html
        assert app.client_id in html
        assert "lamp.example" in html
        assert "This is a different website" in html
        assert re.findall(r'name="scope" value="(\w+)" checked', html) == ["read", "follow"]
        assert "It also asks for create, delete, which" in html
        assert 'src="/reader/media/' in html
        assert page["Cache-Control"] == "private, no-store"

    def test_its_form_leads_to_the_client_and_nowhere_else(self, app: ClientApp) -> None:
        assert "form-action 'self' https://lamp.example;" in page_of(app)["Content-Security-Policy"]
        app.redirect_uri = "lamp.app:/back"
        assert "form-action 'self' lamp.app:;" in page_of(app)["Content-Security-Policy"]
        there = ClientApp(app.reader, "http://[::1]:3000/")
        assert "form-action 'self' http:;" in page_of(there)["Content-Security-Policy"]

    def test_an_app_of_a_phone_gets_its_answer(self, app: ClientApp) -> None:
        app.redirect_uri = "lamp.app:/back"
        assert app.exchange(app.answered()["code"])[0] == 200

    def test_an_address_with_a_query_keeps_it(self, ada: Reader) -> None:
        app = ClientApp(ada, "http://127.0.0.1:3000/", "http://127.0.0.1:3000/back?a=b")
        answer = app.browser.post(app.asks().replace("/indieauth/authorize", "/reader/allow/"))
        assert answer.status_code == 403
        query = app.browser.get(app.asks(response_type="token")).headers["Location"]
        assert query.startswith("http://127.0.0.1:3000/back?a=b&error=unsupported_response_type&state=")

    def test_markup_in_what_a_client_says_is_text(self, ada: Reader, server: FeedServer) -> None:
        mean = "<script>alert(1)</script>\u202e"
        url = served(server, client_name=mean, logo_uri="javascript:alert(1)")
        html = page_of(ClientApp(ada, url), scope="read <b>").content.decode()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in html
        assert "javascript:" not in html
        assert "<b>" not in html

    def test_whoever_is_not_signed_in_signs_in_first(self, app: ClientApp) -> None:
        asked = app.http.get(app.asks())
        assert asked.headers["Location"].startswith("/account/sign-in/?next=/indieauth/authorize%3F")

    def test_an_old_session_types_the_password_and_the_request_survives(self, app: ClientApp) -> None:
        app.reader.user.set_password("right-horse-1")
        app.reader.user.save()
        app.browser = Client()
        app.browser.force_login(app.reader.user)
        decision = app.asks().replace("/indieauth/authorize", "/reader/allow/")
        for asked in (app.browser.get(app.asks()), app.browser.post(decision, {"act": "allow"})):
            assert asked["Location"].startswith("/account/confirm/?next=")
        assert "error=access_denied" in app.browser.post(decision, {"act": "deny"})["Location"]
        page = app.browser.post(asked["Location"], {"password": "right-horse-1"}, follow=True)
        assert "asks for access to your account" in page.content.decode()
        assert app.exchange(app.answered()["code"])[0] == 200

    def test_who_has_no_password_signs_in_again_and_the_request_survives(self, app: ClientApp) -> None:
        app.browser = Client()
        app.browser.force_login(app.reader.user)
        session = app.browser.session
        session["signed_in_at"] = 0
        session.save()
        asked = app.browser.get(app.asks())
        assert asked["Location"].startswith("/account/sign-out/?next=")
        back = app.browser.post(asked["Location"])["Location"]
        assert back == app.asks()
        assert app.browser.get(back)["Location"].startswith("/account/sign-in/?next=/indieauth/authorize%3F")

    def test_a_sign_in_with_the_password_counts_as_typing_it(self, app: ClientApp) -> None:
        app.reader.user.set_password("right-horse-1")
        app.reader.user.save()
        app.browser = Client()
        given = {"login": app.reader.user.username, "password": "right-horse-1", "next": app.asks()}
        assert app.browser.post("/account/sign-in/", given, follow=True).status_code == 200
        assert app.exchange(app.answered()["code"])[0] == 200

    def test_a_form_from_another_site_is_refused(self, app: ClientApp) -> None:
        action = app.asks().replace("/indieauth/authorize", "/reader/allow/")
        assert app.browser.post(action, {"act": "allow", "scope": "read"}).status_code == 403
        assert not Code.objects.exists()

    def test_it_is_asked_for_so_often_a_minute(self, app: ClientApp) -> None:
        for _ in range(20):
            assert page_of(app).status_code == 200
        refused = page_of(app)
        assert "Wait" in refused.content.decode()
        assert refused.status_code == 429

    @pytest.mark.parametrize("state", ["", "x" * 2_001])
    def test_a_request_without_a_state_is_refused(self, app: ClientApp, state: str) -> None:
        answer = page_of(app, state=state)
        assert answer.status_code == 302
        assert "error=invalid_request" in answer.headers["Location"]


class TestWhereAnAnswerGoes:
    @pytest.mark.parametrize(
        "redirect_uri",
        some_now(
            [
                "https://evil.example/back",
                "https://lamp.example/back/",
                "https://lamp.example/back?x=y",
                "https://lamp.example.evil.example/back",
                "https://lamp.example@evil.example/",
                "javascript:alert(1)",
                "data:text/html,x",
                "//evil.example/",
                "",
            ]
        ),
    )
    def test_never_to_what_is_not_the_clients(self, app: ClientApp, redirect_uri: str) -> None:
        answer = page_of(app, redirect_uri=redirect_uri)
        assert (answer.status_code, "Location" in answer.headers) == (400, False)
        answer = app.browser.get(app.asks(redirect_uri=redirect_uri, response_type="token"))
        assert "Location" not in answer.headers

    @pytest.mark.parametrize(
        "client_id",
        ["", "lamp", "https://lamp.example", "https://10.0.0.1/", "https://a@lamp.example/", "javascript:1"],
    )
    def test_never_where_the_client_is_no_address(self, app: ClientApp, client_id: str) -> None:
        answer = page_of(app, client_id=client_id)
        assert (answer.status_code, "Location" in answer.headers) == (400, False)

    @pytest.mark.parametrize(
        ("asked", "error"),
        [
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": ""}, "unsupported_response_type"),
            ({"code_challenge": ""}, "invalid_request"),
            ({"code_challenge": "short"}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge_method": ""}, "invalid_request"),
        ],
    )
    def test_what_is_wrong_otherwise_is_told_to_the_client(
        self, app: ClientApp, asked: dict[str, str], error: str
    ) -> None:
        assert app.came_back(page_of(app, **asked)) == {"error": error}


class TestWhatAClientSays:
    def test_an_older_one_has_an_h_app(self, server: FeedServer) -> None:
        server.serve(
            "/app/",
            '<link rel="redirect_uri" href="/back"><link rel="redirect_uri" href="lamp.app:/back">'
            '<div class="h-app"><img class="u-logo" src="logo.png" alt="x"><a href="/" class="u-url p-name">'
            "Older\n lamp</a></div>",
            headers={**HTML, "Link": '<https://lamp.example/back>; rel="redirect_uri"'},
        )
        base = f"http://localhost:{server.port}"
        found = read_client(f"{base}/app/")
        assert (found.name, found.url, found.logo) == ("Older lamp", f"{base}/", f"{base}/app/logo.png")
        assert found.redirect_uris == ("https://lamp.example/back", f"{base}/back", "lamp.app:/back")

    def test_a_page_without_either_is_known_by_its_address(self, server: FeedServer) -> None:
        server.serve("/app/", "<h1>Hello", headers=HTML)
        found = read_client(f"http://localhost:{server.port}/app/")
        assert (found.label, found.problem) == (f"localhost:{server.port}", "")

    def test_a_document_of_another_client_is_not_believed(self, server: FeedServer) -> None:
        url = served(server, client_id="https://lamp.example/", redirect_uris=["https://evil.example/"])
        found = read_client(url)
        assert (found.name, found.redirect_uris) == ("", ())
        assert "different client_id" in found.problem

    def test_what_stands_at_another_place_does_not_speak_for_it(self, server: FeedServer) -> None:
        url = f"http://localhost:{server.port}/go"
        server.redirect("/go", server.url("/evil"))
        server.serve("/evil", f'{{"client_id": "{url}", "redirect_uris": ["https://evil.example/"]}}')
        found = read_client(url)
        assert found.redirect_uris == ()
        assert "leads to 127.0.0.1" in found.problem

    @pytest.mark.parametrize(
        "returns", [None, "https://x.example/", [7, None, {}], {"a": "b"}, ["javascript:alert(1)", "/back"]]
    )
    def test_nonsense_among_its_addresses_is_left_out(self, server: FeedServer, returns: Any) -> None:
        found = read_client(served(server, client_name=["x"], client_uri="ftp://x", redirect_uris=returns))
        assert (found.redirect_uris, found.name, found.url) == ((), "", "")

    def test_only_so_many_addresses_and_letters_are_read(self, server: FeedServer) -> None:
        many = [f"https://lamp.example/{number}" for number in range(200)]
        found = read_client(served(server, client_name="x" * 10_000, redirect_uris=many))
        assert (len(found.redirect_uris), len(found.name)) == (50, 200)

    def test_a_large_page_is_not_read(self, server: FeedServer) -> None:
        server.serve("/app/", b" " * 1_100_000)
        assert "larger than 1 MB" in read_client(f"http://localhost:{server.port}/app/").problem

    def test_its_own_place_may_be_used_even_if_it_cannot_be_read(
        self, ada: Reader, server: FeedServer
    ) -> None:
        app = ClientApp(ada, f"http://localhost:{server.port}/gone/")
        assert "HTTP 404" in page_of(app).content.decode()
        assert app.exchange(app.answered()["code"])[0] == 200

    def test_it_is_read_once_in_ten_minutes(self, server: FeedServer) -> None:
        url = served(server)
        for _ in range(3):
            assert read_client(url).name == "Reading lamp"
        assert len(server.asked("/app")) == 1

    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
    def test_the_readers_own_machine_is_not_this_one(self, server: FeedServer, host: str) -> None:
        assert read_client(f"http://{host}:{server.port}/app").problem
        assert server.requests == []

    def test_what_is_not_public_is_not_called(self, server: FeedServer, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        found = read_client(f"http://localhost:{server.port}/app")
        assert found.problem == "localhost isn’t on the public web."
        assert server.requests == []

    def test_a_redirect_to_what_is_not_public_is_not_followed(self, server: FeedServer) -> None:
        server.redirect("/app", "http://169.254.169.254/latest/meta-data/")
        found = read_client(f"http://localhost:{server.port}/app")
        assert found.problem.endswith("isn’t on the public web.")
        assert found.redirect_uris == ()

    def test_nothing_of_the_readers_goes_along(self, app: ClientApp, server: FeedServer) -> None:
        page_of(app)
        (request,) = server.asked("/app")
        assert not {"cookie", "authorization", "referer"} & request.headers.keys()


def test_a_client_may_answer_by_what_it_is_asked_for(ada: Reader, server: FeedServer) -> None:
    url = f"http://localhost:{server.port}/app"

    def both(request: Request) -> Reply:
        if "json" in request.headers["accept"]:
            return Reply(json.dumps({"client_id": url, "client_name": "By JSON"}).encode(), headers=JSON)
        return Reply(b"<h1>x", headers=HTML)

    server.answer("/app", both)
    assert read_client(url).name == "By JSON"
