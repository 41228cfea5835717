"""Mail scanners fetch every link, by GET and HEAD, repeatedly: nothing may change."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core import serializers
from django.test import Client
from django.utils import timezone

from subscriptions import links
from tests.factories import (
    LeftFactory,
    MailboxMessageFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db
OURS = ("feeds", "subscriptions", "delivery")


def everything() -> str:
    rows = [
        row
        for app in OURS
        for model in apps.get_app_config(app).get_models()
        for row in model._default_manager.order_by("pk")
    ]
    return str(serializers.serialize("json", rows))


def every_path() -> list[str]:
    letter = SubscribableFactory(name="weekly")
    issue, kept = an_issue(subscribable=letter), MailboxMessageFactory()
    waiting = UnconfirmedFactory(subscribable=letter)
    urls = [links.confirm_url(waiting, now=timezone.now())]
    for one in (waiting, SubscriptionFactory(subscribable=letter), LeftFactory(subscribable=letter)):
        urls += [links.unsubscribe_url(one), links.manage_url(one)]
    return [
        *("/" + url.split("/", 3)[3] for url in urls),
        *("/", "/s/weekly/", "/s/weekly/archive/", f"/s/weekly/archive/{issue.pk}/", "/s/weekly/feed.xml"),
        *("/mailbox/", "/mailbox/?q=letter", f"/mailbox/issue/{kept.delivery.issue_id}/"),
        *(f"/mailbox/{kept.pk}/", f"/mailbox/{kept.pk}/html/"),
    ]


@pytest.mark.slow
def test_get_and_head_of_every_address_twice_change_nothing(client: Client, settings: Any) -> None:
    settings.EMBEDDED = True
    client.force_login(get_user_model().objects.create_superuser("admin"))
    paths = every_path()
    before = everything()
    for path in paths * 2:
        shown = client.get(path)
        assert shown.status_code == 200, path
        seen = client.head(path)
        assert seen.status_code == 200, path
        assert seen.content == b""
    assert everything() == before
