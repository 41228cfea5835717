"""Following a newsletter from the Fediverse, for its page."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from channels.activitypub.message import Actor as Addresses
from common.ports.ways import AskedFirst, Way
from fediverse.actors import KEY, handle_of
from subscriptions.links import page_url

BEFORE_RSS = 5


def fediverse_way(newsletter: Any) -> Iterator[Way]:
    if KEY not in newsletter.companions.split():
        return
    yield Way(
        icon="fediverse",
        title=gettext("The Fediverse"),
        sentence=gettext("Follow it from Mastodon and other servers:"),
        copied=handle_of(newsletter),
        form=AskedFirst(
            title=gettext("Open it on your server"),
            action=reverse("fediverse:follow", args=[newsletter.name]),
            name="server",
            label=gettext("Your server"),
            button=gettext("Continue"),
            placeholder="mastodon.example",
        ),
        account=Addresses(page_url(newsletter)).id,
        rank=BEFORE_RSS,
    )
