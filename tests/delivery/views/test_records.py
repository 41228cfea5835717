"""Pages that prove a newsletter's records."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from channels.bluesky.standard_site import publication_uri
from delivery.bridges.records import switch_off
from delivery.models import Delivery, Issue
from subscriptions.links import page_url
from subscriptions.models import Destination, Subscribable
from tests.delivery.recorded import recorded
from tests.factories import NOW, DeliveryFactory, SubscribableFactory, an_issue
from tests.servers.services.bluesky import DID, DOCUMENT

pytestmark = pytest.mark.django_db
PLACE = "/.well-known/site.standard.publication"
FORMS = (f"{PLACE}/s/bees", f"{PLACE}/s/bees/", f"/s/bees{PLACE}")
DOCUMENT_URI = f"at://{DID}/{DOCUMENT}/3mbd3542k2227"


def written(newsletter: Subscribable) -> Issue:
    """Return an issue that has a record."""
    issue = an_issue(subscribable=newsletter)
    to = Destination.objects.get(kind="standard_site")
    DeliveryFactory(
        issue=issue,
        subscription=newsletter.subscriptions.get(destination=to),
        state="sent",
        remote_id=DOCUMENT_URI,
    )
    return issue


@pytest.mark.parametrize("path", [*FORMS, PLACE])
def test_the_publication_is_named_as_bare_text(client: Client, path: str) -> None:
    newsletter = recorded(name="bees")
    SubscribableFactory(name="wasps")
    shown = client.get(path)
    assert shown.content.decode() == publication_uri(DID, page_url(newsletter))
    assert shown["Content-Type"] == "text/plain; charset=utf-8"
    assert client.post(path).status_code == 405


@pytest.mark.parametrize("change", ["off", "private", "none"])
@pytest.mark.parametrize("path", [*FORMS, PLACE])
def test_without_records_there_is_nothing_to_prove(client: Client, path: str, change: str) -> None:
    newsletter = SubscribableFactory(name="bees") if change == "none" else recorded(name="bees")
    if change == "off":
        switch_off(newsletter, now=NOW)
    elif change == "private":
        Subscribable.objects.update(visibility="private")
    assert client.get(path).status_code == 404


def test_a_site_with_several_publications_has_none_at_its_root(client: Client) -> None:
    for name in ("bees", "wasps"):
        recorded(name=name)
    assert client.get(PLACE).status_code == 404
    uris = {client.get(f"{PLACE}/s/{name}").content for name in ("bees", "wasps")}
    assert len(uris) == 2


def test_pages_have_the_tags_of_their_records(client: Client) -> None:
    newsletter = recorded(name="bees")
    issue, other = written(newsletter), an_issue(subscribable=newsletter)
    publication = f'<link rel="site.standard.publication" href="{client.get(FORMS[0]).content.decode()}">'
    document = f'<link rel="site.standard.document" href="{DOCUMENT_URI}">'
    shown = [
        client.get(f"/s/bees/{path}").content.decode()
        for path in (f"archive/{issue.pk}/", f"archive/{other.pk}/", "")
    ]
    assert [publication in page for page in shown] == [True, True, True]
    assert [document in page for page in shown] == [True, False, False]


def test_a_deleted_record_has_no_tag(client: Client) -> None:
    issue = written(recorded(name="bees"))
    delivery = Delivery.objects.get()
    DeliveryFactory(kind="delete", key=f"{delivery.pk}-1", subscription=delivery.subscription, state="sent")
    page = client.get(f"/s/bees/archive/{issue.pk}/").content.decode()
    assert "site.standard.publication" in page
    assert "site.standard.document" not in page


def test_pages_of_other_newsletters_ask_nothing(client: Client) -> None:
    issue = an_issue(subscribable=SubscribableFactory(name="bees"))
    with CaptureQueriesContext(connection) as asked:
        assert "site.standard" not in client.get(f"/s/bees/archive/{issue.pk}/").content.decode()
    assert not any("standard_site" in query["sql"] for query in asked.captured_queries)
