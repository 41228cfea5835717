"""The admin's way from a URL to a feed, and the page that forecasts a reading."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from feeds.admin.adding import wait_words
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.page_text import robots_texts
from tests.examples import some_now
from tests.factories import NOW, FeedFactory
from tests.feeds.rules.blog import a_feed
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]

HTML = {"Content-Type": "text/html"}
FEED = '<link rel="alternate" type="application/rss+xml" title="{0}" href="/{0}.xml">'
TIMES = {
    "min_delay_minutes": 30,
    "await_stabilization_minutes": 15,
    "max_delay_minutes": 180,
    "recheck_every_minutes": 10,
}


def document(name: str, *posts: str) -> bytes:
    return rss([{"guid": one, "title": f"Post {one}", "published": NOW} for one in posts], title=name.title())


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        running.serve("/news.xml", document("news", "c", "b", "a"))
        running.serve("/all.xml", document("all", "z"))
        running.serve("/comments.xml", document("comments", "y"))
        running.serve("/one", f"<html>{FEED.format('news')}{FEED.format('comments')}", headers=HTML)
        running.serve("/two", f"<html>{FEED.format('all')}{FEED.format('news')}", headers=HTML)
        running.serve("/none", "<html>Nothing", headers=HTML)
        yield running


def post(client: Client, step: str, **data: Any) -> Any:
    return client.post(reverse("admin:feeds_feed_add"), {"step": step, **data}, follow=True)


def text(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def verdicts(answer: Any) -> dict[str, bool]:
    return {shown["title"]: shown["post"].is_sent for shown in answer.context["posts"]}


def test_the_first_page_asks_for_one_thing(admin_client: Client) -> None:
    page = text(admin_client.get(reverse("admin:feeds_feed_add"), {"url": "https://x.test/<b>"}))
    assert "Find feeds" in page
    assert "https://x.test/&lt;b&gt;" in page
    assert "start_count" not in page


def test_a_page_with_several_feeds_offers_them_the_best_chosen(
    admin_client: Client, server: FeedServer
) -> None:
    answer = post(admin_client, "find", url=server.url("/two"))
    page = text(answer)
    assert "2 feeds found." in page
    assert [card["chosen"] for card in answer.context["cards"]] == [True, False]
    assert [card["one"].title for card in answer.context["cards"]] == ["All", "News"]
    assert "Post z" in page
    assert "2\N{NO-BREAK SPACE}Mar" in page
    assert not Feed.objects.exists()


def test_a_page_with_one_feed_of_posts_leads_straight_to_its_preview(
    admin_client: Client, server: FeedServer
) -> None:
    answer = post(admin_client, "find", url=server.url("/one"))
    assert answer.context["preview"].url == server.url("/news.xml")
    # The last ones of the very first feed, so that the first newsletter isn't empty.
    assert verdicts(answer) == {"Post c": True, "Post b": True, "Post a": True}
    assert len(server.asked("/news.xml")) == 1
    assert not Feed.objects.exists()
    FeedFactory()
    answer = post(admin_client, "find", url=server.url("/one"))
    assert verdicts(answer) == {"Post c": False, "Post b": False, "Post a": False}


def test_the_chosen_feed_is_previewed(admin_client: Client, server: FeedServer) -> None:
    FeedFactory()
    answer = post(admin_client, "preview", url=server.url("/all.xml"), back=server.url("/two"))
    page = text(answer)
    assert "Post z" in page
    assert "Its one post won’t be sent." in page
    assert quote(server.url("/two"), safe="") in page


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"start": "from_now"}, set()),
        ({"start": "last", "start_count": 2}, {"Post c", "Post b"}),
        ({"start": "all"}, {"Post c", "Post b", "Post a"}),
    ],
)
def test_the_posts_follow_the_choice_and_adding_does_what_they_said(
    admin_client: Client, server: FeedServer, choice: dict[str, Any], sent: set[str]
) -> None:
    data = {"url": server.url("/news.xml"), **TIMES, **choice}
    answer = post(admin_client, "preview", **data)
    assert {title for title, is_sent in verdicts(answer).items() if is_sent} == sent
    answer = post(admin_client, "add", **data)
    feed = Feed.objects.get()
    assert answer.redirect_chain[-1][0] == reverse("admin:feeds_feed_change", args=[feed.pk])
    assert "The feed was added." in text(answer)
    assert set(feed.items.filter(state="unassigned").values_list("title", flat=True)) == sent
    assert feed.min_delay_minutes == 30


def test_the_newest_post_is_previewed_with_its_pages_text_if_that_is_wished(
    admin_client: Client, server: FeedServer
) -> None:
    robots_texts.clear()
    page = f"<article>{'<p>A whole post, with gulls, which the feed leaves out.</p>' * 9}</article>"
    link = server.serve("/post", f"{page}<script>alert(1)</script>", headers=HTML)
    posts = [{"guid": "a", "title": "A", "link": link, "content": "Excerpt", "published": NOW}]
    url = server.serve("/short.xml", rss(posts))
    plain = {"url": url, "back": url, "start": "from_now", **TIMES}
    assert "with gulls" not in text(post(admin_client, "preview", **plain))
    seen = text(post(admin_client, "preview", fetch_whole="on", **plain))
    assert "with gulls" in seen
    assert "<script>alert" not in seen
    assert "Try again in ten seconds" in text(post(admin_client, "preview", fetch_whole="on", **plain))
    post(admin_client, "add", fetch_whole="on", **plain)
    assert Feed.objects.get().fetch_whole


def test_ping_sets_all_times_to_nothing(admin_client: Client, server: FeedServer) -> None:
    post(admin_client, "add", url=server.url("/news.xml"), start="all", ping="on", **TIMES)
    feed = Feed.objects.get()
    assert (feed.min_delay_minutes, feed.recheck_every_minutes) == (0, 0)
    assert Item.objects.final().count() == 3


@pytest.mark.parametrize(
    ("wrong", "field"),
    some_now(
        [
            ({"start": "last", "start_count": ""}, "start_count"),
            ({"start": "last", "start_count": "0"}, "start_count"),
            ({"max_delay_minutes": 5}, "max_delay_minutes"),
            ({"min_delay_minutes": "soon"}, "min_delay_minutes"),
            ({"recheck_every_minutes": 10**9}, "recheck_every_minutes"),
            ({"start": "yesterday"}, "start"),
        ]
    ),
)
@pytest.mark.parametrize("step", some_now(["preview", "add"]))
def test_what_is_wrong_is_shown_at_its_field_and_adds_nothing(
    admin_client: Client, server: FeedServer, step: str, wrong: dict[str, Any], field: str
) -> None:
    data = {"url": server.url("/news.xml"), "start": "from_now", **TIMES, **wrong}
    answer = post(admin_client, step, **data)
    assert field in answer.context["form"].errors
    assert answer.context["form"].errors[field][0] in text(answer).replace("&#x27;", "'")
    assert not Feed.objects.exists()


@pytest.mark.parametrize("url", ["", "ftp://x.test/", "javascript:alert(1)", "http://x.test/\x00"])
@pytest.mark.parametrize("step", ["find", "preview", "add"])
def test_what_is_no_address_is_refused_at_its_field(admin_client: Client, step: str, url: str) -> None:
    answer = post(admin_client, step, url=url)
    assert answer.context["form"].errors["url"]
    assert "Find feeds" in text(answer)
    assert not Feed.objects.exists()


def test_a_page_without_feeds_says_so_at_the_address(admin_client: Client, server: FeedServer) -> None:
    answer = post(admin_client, "find", url=server.url("/none"))
    assert "names no feed" in answer.context["form"].errors["url"][0]
    assert "Add it anyway" not in text(answer)


def test_what_cannot_be_reached_may_be_added_all_the_same(admin_client: Client, server: FeedServer) -> None:
    url = server.serve("/busy.xml", "busy", status=503)
    answer = post(admin_client, "find", url=url)
    assert "has a problem" in answer.context["form"].errors["url"][0]
    assert "Add it anyway" in text(answer)
    answer = post(admin_client, "add", url=url)
    assert "couldn’t be read" in text(answer)
    assert Feed.objects.get().failures == 1


def test_addresses_inside_the_network_are_not_called(admin_client: Client, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    with FeedServer() as inside:
        url = inside.serve("/feed.xml", document("x", "a"))
        for step in ("find", "preview"):
            answer = post(admin_client, step, url=url)
            assert "not a public address" in answer.context["form"].errors["url"][0]
        assert not inside.requests


def test_a_feed_that_asks_for_a_password_is_opened_with_it(admin_client: Client, server: FeedServer) -> None:
    def reply(request: Request) -> Reply:
        known = request.headers.get("authorization") == "Basic YWRhOnNlY3JldA=="
        return Reply(document("private", "a")) if known else Reply(b"", 401)

    url = server.answer("/private.xml", reply)
    page = text(post(admin_client, "find", url=url))
    assert "user name and a password" in page
    assert '<details class="fl-more" open>' in page
    secrets = {"user": "ada", "password": "secret"}
    answer = post(admin_client, "find", url=url, **secrets)
    assert answer.context["preview"].title == "Private"
    assert 'name="password" value="secret"' in text(answer)
    pasted = post(admin_client, "find", url=url.replace("http://", "http://ada:secret@"))
    assert pasted.context["preview"].url == url
    assert pasted.context["form"].credentials() == secrets
    post(admin_client, "add", url=url, start="all", **TIMES, **secrets)
    assert Item.objects.count() == 1
    assert Feed.objects.get().credentials.open() == secrets


def test_a_password_for_a_page_is_not_given_to_the_host_of_its_feed(
    admin_client: Client, server: FeedServer
) -> None:
    secrets = {"user": "ada", "password": "secret"}
    with FeedServer() as other:
        url = other.serve("/feed.xml", document("elsewhere", "a"))
        server.serve("/page", f'<html><link rel="feed" href="{url}">', headers=HTML)
        answer = post(admin_client, "find", url=server.url("/page"), **secrets)
        assert answer.context["preview"].url == url
        assert answer.context["form"].credentials() == {}
        post(admin_client, "preview", url=url, back=server.url("/page"), **secrets)
        assert not [request for request in other.requests if "authorization" in request.headers]
    assert "authorization" in server.requests[0].headers


def test_a_feed_that_is_watched_already_is_marked(admin_client: Client, server: FeedServer) -> None:
    feed = FeedFactory(url=server.url("/news.xml"))
    page = text(post(admin_client, "find", url=server.url("/one")))
    assert "already here" in page
    assert reverse("admin:feeds_feed_change", args=[feed.pk]) in page
    assert "This feed is already here" in text(post(admin_client, "preview", url=feed.url))


def test_what_feeds_say_is_escaped(admin_client: Client, server: FeedServer) -> None:
    evil = "<script>alert(1)</script>"
    item = {
        "guid": evil,
        "title": f"&lt;i&gt;{evil}",
        "link": "javascript:alert(1)",
        "content": f"<p>{evil}x</p>",
    }
    server.serve("/evil.xml", rss([item], title=f"&lt;b&gt;{evil}", extra=f"<image><url>{'x'}</url></image>"))
    server.serve("/evil", f"<html>{FEED.format('evil')}{FEED.format('news')}", headers=HTML)
    for answer in (
        post(admin_client, "find", url=server.url("/evil")),
        post(admin_client, "find", url=server.url("/evil.xml")),
        post(admin_client, "preview", url=server.url("/evil.xml"), back='"><script>alert(1)</script>'),
    ):
        page = text(answer)
        assert "<script>alert" not in page
        assert "javascript:" not in page


def test_who_may_not_add_feeds_is_refused(client: Client, server: FeedServer) -> None:
    user = User.objects.create_user("ed", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_feed"))
    client.force_login(user)
    assert client.get(reverse("admin:feeds_feed_add")).status_code == 403
    data = {"step": "find", "url": server.url("/news.xml")}
    assert client.post(reverse("admin:feeds_feed_add"), data).status_code == 403
    assert not server.requests


def test_a_forged_post_is_refused(server: FeedServer, admin_user: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    data = {"step": "add", "url": server.url("/news.xml")}
    assert client.post(reverse("admin:feeds_feed_add"), data).status_code == 403
    assert not Feed.objects.exists()


def test_a_feed_added_in_a_pop_up_is_handed_back(admin_client: Client, server: FeedServer) -> None:
    page = text(post(admin_client, "find", url=server.url("/news.xml"), _popup="1"))
    assert 'name="_popup" value="1"' in page
    answer = post(admin_client, "add", url=server.url("/news.xml"), start="all", _popup="1", **TIMES)
    assert "popup_response" in text(answer)


# --- the forecast


def forecast(client: Client, feed: Feed) -> Any:
    return client.get(reverse("admin:feeds_feed_forecast", args=[feed.pk]))


def test_the_page_of_a_feed_leads_to_what_would_happen_now(admin_client: Client, server: FeedServer) -> None:
    feed = FeedFactory(url=server.url("/news.xml"))
    page = text(admin_client.get(reverse("admin:feeds_feed_change", args=[feed.pk])))
    assert reverse("admin:feeds_feed_forecast", args=[feed.pk]) in page
    assert "What would happen now?" in page


def test_the_forecast_says_what_happens_to_each_post_and_changes_nothing(
    admin_client: Client, server: FeedServer
) -> None:
    post(admin_client, "add", url=server.url("/news.xml"), start="all", **TIMES)
    feed = Feed.objects.get()
    server.serve("/news.xml", rss([{"guid": one, "title": f"Post {one}"} for one in "dca"]))
    before = [*Feed.objects.values_list(), *Item.objects.values_list(), *FeedDocument.objects.values_list()]
    page = text(forecast(admin_client, feed))
    assert "Of its posts: 1 new, 1 withdrawn." in page
    assert "Post d" in page
    assert "it was removed from the feed before it settled" in page
    after = [*Feed.objects.values_list(), *Item.objects.values_list(), *FeedDocument.objects.values_list()]
    assert repr(after) == repr(before)


def test_a_forecast_of_a_feed_that_cannot_be_read_says_why(admin_client: Client, server: FeedServer) -> None:
    page = text(forecast(admin_client, FeedFactory(url=server.url("/gone.xml"))))
    assert "The feed couldn’t be read." in page
    assert "now would fail" in page


def test_a_forecast_of_no_feed_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(reverse("admin:feeds_feed_forecast", args=[99])).status_code == 404


def test_who_may_not_see_feeds_sees_no_forecast(client: Client, server: FeedServer) -> None:
    client.force_login(User.objects.create_user("ed", password="x", is_staff=True))
    feed = FeedFactory(url=server.url("/news.xml"))
    assert forecast(client, feed).status_code == 403
    assert not server.requests


def test_the_preview_has_the_sentence_for_both_positions_of_ping() -> None:
    assert wait_words(a_feed(0, 0, 0)) == "A post is ready for the next issue as soon as it is seen."
    assert wait_words(a_feed(30, 30, 180)) == (
        "A post is ready at the first reading 31 minutes after it was first seen, if it doesn’t change."
        " Posts published more than 3 hours ago are ready already."
    )
