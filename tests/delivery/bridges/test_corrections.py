"""What was posted is edited when its feed corrects it, and deleted when it is withdrawn: the whole way."""

from collections.abc import Iterator
from typing import Any

import pytest

from delivery.models import Correction, Delivery
from feeds.models import Feed, TrackedItem
from tests.delivery.corrected import BOTH, OLD, BridgedBlog, an_account, changes, dated
from tests.feeds.watched import at
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import MastodonInstance

pytestmark = pytest.mark.django_db(transaction=True)

A = dated("a", 10, title="Bee hotels")
CORRECTED = dated("a", 10, title="Bee hotels, corrected")
AGAIN = dated("a", 10, title="Bee hotels, corrected again")


@pytest.fixture
def blog(loopback_allowed: None) -> Iterator[BridgedBlog]:
    with FeedServer() as server:
        made = BridgedBlog(server)
        made.watch()
        made.read(0)
        yield made


def posted(blog: BridgedBlog, instance: MastodonInstance, **options: Any) -> None:
    """Post A has gone out."""
    an_account(blog.bridge(**options), instance)
    blog.new(A)
    blog.pass_by(20, 40, 60)
    assert "Bee hotels https" in instance.statuses[0]["text"]
    instance.requests.clear()


def writes(instance: MastodonInstance) -> list[str]:
    return [request.method for request in instance.requests if request.method != "GET"]


def test_a_correction_edits_the_post_once(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    blog.new(CORRECTED)
    blog.pass_by(70, 80)
    assert writes(instance) == []
    blog.pass_by(90, 100, 110)
    [status] = instance.statuses
    assert "Bee hotels, corrected https" in status["text"]
    assert writes(instance) == ["PUT"]
    assert changes() == [("edit", "sent", "")]
