"""The recipes of docs/api.md are carried out, with the requests that a shell makes of them."""

import re
import subprocess
from pathlib import Path

import pytest

from delivery.models import Broadcast
from tests.api import Api
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
# Prints the words of each call.
API = "api() { printf '%s\\0' \"$@\"; printf '\\1'; }\n"


def recipes() -> list[list[str]]:
    section = PAGE.partition("\n## Recipes\n")[2]
    script = API + "\n".join(re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S))
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return [call.split("\0")[:-1] for call in printed.split("\1")[:-1]]


@pytest.mark.django_db
def test_the_recipes_of_the_api_are_accepted() -> None:
    feed, weekly = FeedFactory(), SubscribableFactory(name="weekly")
    subscription = SubscriptionFactory(subscribable=weekly)
    api = Api()
    refused: list[tuple[str, str, str]] = []
    for *options, url in recipes():
        given = dict(zip(options[::2], options[1::2], strict=True))
        letter = Broadcast.objects.order_by("-pk").values_list("pk", flat=True).first()
        path = url.partition("127.0.0.1:8000")[2].replace(
            "subscriptions/1/", f"subscriptions/{subscription.pk}/"
        )
        body = given.get("-d", "").replace('"feeds": [1]', f'"feeds": [{feed.pk}]')
        answer = api.client.generic(
            given.get("-X", "POST" if body else "GET"),
            path.replace("letters/1/", f"letters/{letter}/"),
            body,
            content_type="application/json",
        )
        if answer.status_code >= 300:
            refused.append((url, body, answer.content.decode()))
    assert refused == []
