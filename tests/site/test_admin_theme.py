"""A newsletter's look in the admin: reached from the newsletter, shown as it is changed, taken back."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from delivery.customisation import set_theme, theme_of
from delivery.models import Theme
from subscriptions.models import Subscribable
from tests.factories import BridgeFactory, SubscribableFactory
from tests.site.test_admin_journey import act, submit, text

pytestmark = pytest.mark.django_db


def newsletter_page(client: Client, newsletter: Subscribable) -> str:
    return text(
        client.get(reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + "?tab=look")
    )


def test_the_way_from_a_newsletter_to_its_look_and_back(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    page = newsletter_page(admin_client, newsletter)
    assert "The usual look." in page
    (way,) = re.findall(r'href="([^"]+)">Change the look', page)
    assert f'name="subscribable" value="{newsletter.pk}"' in text(admin_client.get(way))
    given = {
        "subscribable": newsletter.pk,
        "accent": "#7a3b9d",
        "logo_width": "120",
        "logo_url": "e.org/l.png",
    }
    shown = text(submit(admin_client, "delivery_theme_add", given))
    theme = Theme.objects.get()
    assert (theme.accent, theme.logo_url) == ("#7a3b9d", "https://e.org/l.png")
    assert 'type="color" value="#7a3b9d"' in shown
    assert "#7a3b9d" in newsletter_page(admin_client, newsletter)
    assert admin_client.get(way).headers["Location"] == reverse(
        "admin:delivery_theme_change", args=[theme.pk]
    )


def test_a_refusal_stands_at_its_field_and_changes_nothing(admin_client: Client) -> None:
    theme = set_theme(subscribable=SubscribableFactory(), accent="#7a3b9d")
    given = {
        "subscribable": theme.subscribable_id,
        "accent": "#b3261e",
        "logo_width": "120",
        "subject": "{nope}",
    }
    shown = text(submit(admin_client, "delivery_theme_change", given, theme.pk))
    assert "There is no {nope}." in shown
    assert theme_of(theme.subscribable).accent == "#7a3b9d"


def test_the_usual_look_comes_back_from_either_page(admin_client: Client) -> None:
    one, other = SubscribableFactory(), SubscribableFactory()
    set_theme(subscribable=one, accent="#7a3b9d")
    theme = set_theme(subscribable=other, accent="#7a3b9d")
    assert "Back to the usual look" in newsletter_page(admin_client, one)
    assert "The usual look is back" in text(
        act(admin_client, "subscriptions_subscribable", "usual_look", one)
    )
    act(admin_client, "delivery_theme", "usual_look", theme)
    assert not Theme.objects.exists()


def test_a_newsletter_without_one_offers_no_way_back_and_a_bridge_has_no_look(admin_client: Client) -> None:
    assert "usual_look" not in re.findall(
        r'value="(\w+)"[^>]*>Back to', newsletter_page(admin_client, SubscribableFactory())
    )
    assert "Change the look" not in newsletter_page(admin_client, BridgeFactory())
