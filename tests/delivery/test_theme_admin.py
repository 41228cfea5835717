"""A newsletter's look in the admin: one tab with form and preview, saved and reset."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from delivery.customisation import set_theme, theme_of
from delivery.models import Theme
from subscriptions.branding.brands import alter_site
from subscriptions.models import Subscribable
from tests.factories import BridgeFactory, SubscribableFactory
from tests.pictures import drawn, octets_of
from tests.site.test_admin_journey import act, text
from tests.subscriptions.admin.test_rules import form_of

pytestmark = pytest.mark.django_db


def address(newsletter: Subscribable) -> str:
    return reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + "?tab=look"


def given(client: Client, newsletter: Subscribable, **changes: Any) -> dict[str, Any]:
    """Return the form's data as a browser sends it, with these changes."""
    return {**form_of(client.get(address(newsletter))), **changes}


def saved(client: Client, newsletter: Subscribable, **changes: Any) -> Any:
    data = given(client, newsletter, **changes, _save="1")
    return client.post(address(newsletter), data)


def test_the_form_and_the_letter_stand_on_one_page(admin_client: Client) -> None:
    page = text(admin_client.get(address(SubscribableFactory())))
    assert 'name="accent"' in page
    assert 'id="fl-day"' in page
    assert 'name="language"' in page


def test_it_is_saved_whole_and_one_stays_there(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    answer = saved(admin_client, newsletter, accent="#7a3b9d", logo_url="e.org/l.png", language="de")
    assert answer.headers["Location"] == address(newsletter)
    newsletter.refresh_from_db()
    theme = theme_of(newsletter)
    assert (theme.accent, theme.logo_url, newsletter.language) == ("#7a3b9d", "https://e.org/l.png", "de")
    page = text(admin_client.get(address(newsletter)))
    assert re.search(r'type="color"[^>]* value="#7a3b9d"', page)
    assert "#7a3b9d" in page.partition('id="fl-day"')[2]


def test_a_refusal_stands_at_its_field_beside_what_was_typed_and_changes_nothing(
    admin_client: Client,
) -> None:
    newsletter = SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    answer = saved(
        admin_client, newsletter, accent="#b3261e", subject="{nope}", footer="By hand.", language="de"
    )
    page = text(answer)
    assert answer.status_code == 200
    assert "There is no {nope}." in page
    assert "By hand." in page.partition('id="fl-day"')[2]
    assert theme_of(newsletter).accent == "#7a3b9d"
    newsletter.refresh_from_db()
    assert newsletter.language == "en"


def test_without_scripts_a_button_shows_what_is_typed_and_saves_nothing(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    data = given(admin_client, newsletter, accent="#b3261e", header="Good morning", _preview="1")
    logo = SimpleUploadedFile("logo.png", octets_of(drawn(200, 100)), content_type="image/png")
    page = text(admin_client.post(address(newsletter), {**data, "logo_picture": logo}))
    assert 'name="accent" value="#b3261e"' in page
    letter = page.partition('id="fl-day"')[2]
    assert "Good morning" in letter
    assert "data:image/png;base64," in letter
    assert "Choose the picture once more" in page
    assert "errornote" not in page
    assert not Theme.objects.exists()


def test_the_letter_follows_the_typing_and_says_what_it_cannot_show(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    show = reverse("admin:delivery_look_show", args=[newsletter.name])
    data = given(admin_client, newsletter, accent="#b32", header="Good morning", logo_picture_chosen="1")
    made = admin_client.post(show, data).json()
    assert "Good morning" in made["day"]
    assert "#7a3b9d" in made["day"]
    assert made["note"] == "Accent: A colour is written as #1a5fb4. The preview shows the saved value."
    assert made["pictures"]["logo_picture"] in made["day"]
    assert theme_of(newsletter).header == ""


@pytest.mark.slow
def test_the_accent_in_force_stands_in_the_empty_field(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    alter_site(accent="#0a7d33")
    assert 'placeholder="#0a7d33"' in text(admin_client.get(address(newsletter)))
    newsletter.params = {"accent": "'><script>"}
    newsletter.save()
    assert 'placeholder="#1f5f8b"' in text(admin_client.get(address(newsletter)))


def test_the_usual_look_comes_back(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    saved(admin_client, newsletter, language="de")
    assert not Theme.objects.exists()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    assert "Reset the look" in text(admin_client.get(address(newsletter)))
    settings_tab = address(newsletter).replace("tab=look", "tab=settings")
    assert "Reset the look" not in text(admin_client.get(settings_tab))
    said = text(act(admin_client, "subscriptions_subscribable", "usual_look", newsletter))
    assert "The look was reset" in said
    assert not Theme.objects.exists()


def test_a_newsletter_without_one_offers_no_way_back_and_a_bridge_has_no_theme(admin_client: Client) -> None:
    page = text(admin_client.get(address(SubscribableFactory())))
    assert "usual_look" not in re.findall(r'value="(\w+)"[^>]*>Back to', page)
    bridge = text(admin_client.get(address(BridgeFactory())))
    assert 'name="accent"' not in bridge
    assert 'id="fl-day"' not in bridge


def test_who_may_only_look_sees_the_letter_and_no_form(client: Client, viewer: Any) -> None:
    newsletter = SubscribableFactory()
    client.force_login(viewer)
    page = text(client.get(address(newsletter)))
    assert 'id="fl-day"' in page
    assert 'name="accent"' not in page
    assert client.post(reverse("admin:delivery_look_show", args=[newsletter.name])).status_code == 403


@pytest.fixture
def viewer(django_user_model: Any) -> Any:
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("eve", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_subscribable"))
    return user


def test_each_look_has_a_drawing_to_click(admin_client: Client) -> None:
    page = text(admin_client.get(address(SubscribableFactory())))
    for style in Theme.Style:
        assert f'name="style" value="{style}"' in page
        assert f"fl-preset-{style}" in page
