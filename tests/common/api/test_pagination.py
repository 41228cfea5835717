"""Pages by key: every row once, whatever rows are added and removed meanwhile."""

from typing import Any

import pytest

from feeds.models import Feed
from tests.api import Api, fields
from tests.factories import FeedFactory

pytestmark = pytest.mark.django_db


def walk(api: Api, address: str, link: str = "next") -> list[list[int]]:
    pages: list[list[int]] = []
    url: str | None = address
    while url is not None:
        page = api.client.get(url).json()
        pages.append([row["id"] for row in page["results"]])
        url = page[link]
    return pages


def test_pages_follow_each_other_there_and_back() -> None:
    api, pks = Api(), [feed.pk for feed in FeedFactory.create_batch(5)]
    assert walk(api, "/api/v1/feeds/?page_size=2") == [pks[:2], pks[2:4], pks[4:]]
    last = f"/api/v1/feeds/?page_size=2&cursor=a{pks[3]}"
    assert walk(api, last, "previous") == [pks[4:], pks[2:4], pks[:2]]
    back = pks[::-1]
    assert walk(api, "/api/v1/feeds/?page_size=2&ordering=-id") == [back[:2], back[2:4], back[4:]]


def test_a_row_that_goes_or_comes_makes_none_twice_and_none_missing() -> None:
    api, pks = Api(), [feed.pk for feed in FeedFactory.create_batch(4)]
    first = api.get("feeds/", page_size=2).json()
    Feed.objects.filter(pk=pks[0]).delete()
    new = FeedFactory().pk
    second = api.client.get(first["next"]).json()
    assert [row["id"] for row in second["results"]] == pks[2:]
    assert [row["id"] for row in api.client.get(second["next"]).json()["results"]] == [new]


def test_links_keep_the_filters() -> None:
    FeedFactory.create_batch(3, status="paused")
    FeedFactory()
    pages = walk(Api(), "/api/v1/feeds/?page_size=1&status=paused")
    assert [len(page) for page in pages] == [1, 1, 1]


@pytest.mark.parametrize("cursor", ["x", "", "a", "a-1", f"a{'9' * 19}", "cD0y", "a1\0", "a１"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    assert fields(Api().get("feeds/", cursor=cursor)) == ["cursor"]


@pytest.mark.parametrize("size", ["0", "1001", "-1", "x", ""])
def test_pages_are_bounded(size: str) -> None:
    assert fields(Api().get("feeds/", page_size=size)) == ["page_size"]


def test_a_page_is_found_by_its_key_not_by_counting(django_assert_max_num_queries: Any) -> None:
    FeedFactory.create_batch(3)
    api = Api()
    api.get("feeds/")
    with django_assert_max_num_queries(3) as seen:
        api.get("feeds/", page_size=1, cursor="a1")
    assert not any("OFFSET" in query["sql"] or "COUNT(" in query["sql"] for query in seen.captured_queries)
