"""Requirements of crawlers and validators for public pages."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from delivery.models import Issue
from tests.factories import NOW, IssueFactory

pytestmark = pytest.mark.django_db
# WHATWG HTML §2.3.5.7: at most three digits of a second.
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)|\d{4}-\d\d-\d\d")


def test_robots_are_sent_away_from_what_is_not_public(client: Client) -> None:
    answer = client.get("/robots.txt")
    assert answer.headers["Content-Type"].startswith("text/plain")
    disallowed = re.findall("^Disallow: (.*)$", answer.content.decode(), re.MULTILINE)
    assert {"/admin/", "/api/", "/reader/"} <= set(disallowed)
    assert "/" not in disallowed


def test_times_in_pages_are_valid(client: Client) -> None:
    issue: Issue = IssueFactory(published_at=NOW + timedelta(microseconds=123_456))
    archive = f"/s/{issue.subscribable.name}/archive/"
    for page in (f"/s/{issue.subscribable.name}/", archive, f"{archive}{issue.pk}/"):
        html = client.get(page).content.decode()
        moments = re.findall(r'(?:datetime|article:published_time" content)="([^"]*)"', html)
        assert moments, page
        assert [moment for moment in moments if not MOMENT.fullmatch(moment)] == [], page
