"""A newsletter's look: validated when saved, saved completely or not at all, used by letters.

Unusable values of a newsletter are refused when it is saved, naming the field.
Pictures uploaded for a newsletter or the site, from the form to the letter.
"""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from common.pictures.codec import clean_picture
from common.pictures.picture import CleanPicture
from delivery.customisation import (
    back_to_usual,
    refuse_wrong_sender,
    refuse_wrong_template,
    set_theme,
    theme_facts,
    theme_of,
)
from delivery.letters.pages import newsletter_mail
from delivery.models import Theme
from delivery.rendering.facts import USUAL_THEME, ThemeFacts
from subscriptions.branding.brands import alter_site, site_facts
from subscriptions.models import Picture, Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from tests.console import json_of, refused
from tests.factories import FeedFactory, SubscribableFactory
from tests.pictures import drawn, octets_of

SIGN_IN = {"newsletter": "Harbour News", "sign_in_url": "https://x.example/sign-in/y/", "minutes": "30"}
pytestmark = pytest.mark.django_db


def test_a_newsletter_without_a_theme_has_the_usual_look() -> None:
    assert theme_of(SubscribableFactory()) == theme_of(None) == USUAL_THEME


def test_what_is_given_changes_and_the_rest_stays() -> None:
    newsletter, other = SubscribableFactory(), SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d", footer="Made by hand.")
    set_theme(subscribable=newsletter, accent="#b3261e")
    assert theme_of(newsletter) == ThemeFacts(accent="#b3261e", footer="Made by hand.")
    assert theme_of(other) == USUAL_THEME


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accent", "red"),
        ("accent", "#fff"),
        ("accent", "#ffffff;x"),
        ("background", "#gggggg"),
        ("logo_url", "ftp://e.org/x.png"),
        ("logo_url", "javascript:alert(1)"),
        ("logo_url", "logo.png"),
        ("logo_url", "https://e.org/logo.svg"),
        ("header_picture_url", "https://e.org/logo.SVG?x=1"),
        ("logo_width", 0),
        ("logo_width", 553),
        ("subject", "{nope}"),
        ("subject", "x" * 201),
        ("header", "x" * 2001),
        ("footer", "x" * 2001),
        ("postal_address", "x" * 2001),
    ],
)
def test_what_no_letter_could_show_is_refused_at_its_field(field: str, value: Any) -> None:
    newsletter = SubscribableFactory()
    with pytest.raises(ValidationError) as refused:
        set_theme(subscribable=newsletter, **{"footer": "kept?", field: value})
    assert field in refused.value.message_dict
    assert not Theme.objects.exists()


def test_the_usual_look_comes_back() -> None:
    newsletter = SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    assert back_to_usual(subscribables=[newsletter.pk]) == 1
    assert back_to_usual(subscribables=[newsletter.pk]) == 0
    assert theme_of(newsletter) == USUAL_THEME


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("from_email", "not an address"),
        ("from_email", "a@example.org, b@example.org"),
        ("from_email", "Ada <a@example.org>\r\nBcc: b@example.org"),
        ("from_email", '"a\x00" <a@example.org>'),
        ("reply_to", "nobody"),
        ("template", "there-is-none"),
    ],
)
def test_a_wrong_sender_or_template_is_refused_when_it_is_saved(field: str, value: str) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(ValidationError) as error:
        define_subscribable(name="letter", feeds=[FeedFactory()], **fields)
    assert list(error.value.message_dict) == [field]
    assert Subscribable.objects.count() == 0


def test_it_is_refused_when_it_is_changed_and_the_old_one_stays() -> None:
    subscribable = SubscribableFactory()
    with pytest.raises(ValidationError):
        alter_subscribable(subscribable=subscribable, from_email="nobody")
    subscribable.refresh_from_db()
    assert subscribable.from_email == "Letters <letters@sender.example>"


@pytest.mark.parametrize("value", ["", "a@example.org", "Grüße <a@example.org>", "letters@localhost"])
def test_a_right_sender_is_taken(value: str) -> None:
    refuse_wrong_sender(SubscribableFactory.build(from_email=value, reply_to=value))


def test_both_are_named_when_both_are_wrong() -> None:
    with pytest.raises(ValidationError) as error:
        refuse_wrong_sender(SubscribableFactory.build(from_email="a", reply_to="b"))
    assert set(error.value.message_dict) == {"from_email", "reply_to"}


@pytest.mark.parametrize("template", ["", "post", "digest", "announcement"])
def test_a_template_that_there_is_is_taken(template: str) -> None:
    refuse_wrong_template(SubscribableFactory.build(template=template))


@pytest.fixture
def newsletter() -> Subscribable:
    made: Subscribable = SubscribableFactory(name="valley")
    return made


@pytest.fixture
def ada(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def a_file(width: int = 1200, height: int = 300, name: str = "x.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, octets_of(drawn(width, height)), content_type="image/png")


def a_picture(width: int = 1104) -> CleanPicture:
    return clean_picture(io.BytesIO(octets_of(drawn(width, 200))))


def sent(**values: object) -> dict[str, object]:
    return {"logo_width": "120", "language": "en", "style": "serif", **values}


def look_page(newsletter: Subscribable) -> str:
    return f"/admin/subscriptions/subscribable/{newsletter.pk}/change/?tab=look"


def test_uploaded_pictures_win_over_addresses_and_both_are_in_letters_and_on_pages(
    newsletter: Subscribable, client: Client
) -> None:
    set_theme(
        subscribable=newsletter,
        logo_url="https://i.example/l.png",
        header_picture_url="https://i.example/h.png",
    )
    assert theme_of(newsletter).header_picture_url == "https://i.example/h.png"
    set_theme(subscribable=newsletter, logo_picture=a_picture(400), header_picture=a_picture())
    chosen = theme_of(newsletter)
    assert re.fullmatch(r"http://[^/]+/pictures/[0-9a-f]{40}\.png", chosen.logo_url)
    context = {"newsletter": "Valley", "confirm_url": "https://x.example/c/", "hours": "48"}
    html = newsletter_mail(newsletter, "confirmation", context, language="en").html
    page = client.get("/s/valley/").content.decode()
    for shown in (html, page):
        assert chosen.logo_url in shown
        assert chosen.header_picture_url in shown
    set_theme(subscribable=newsletter, logo_picture=None)
    assert theme_of(newsletter).logo_url == "https://i.example/l.png"


def test_the_form_takes_pictures_keeps_them_and_takes_them_away(
    ada: Client, newsletter: Subscribable
) -> None:
    page = look_page(newsletter)
    assert ada.post(page, sent(logo_picture=a_file(), accent="#7a3b9d")).status_code == 302
    row = Theme.objects.get()
    assert row.logo_picture is not None
    assert (row.logo_picture.width, row.accent) == (1104, "#7a3b9d")
    shown = ada.get(page).content.decode()
    assert f"/pictures/{row.logo_picture_id}" in shown
    # Programs that invert colours show no plate behind it.
    assert "a dark logo on a transparent background disappears" in shown
    assert ada.post(page, sent(header_picture=a_file(600, 90))).status_code == 302
    row.refresh_from_db()
    assert row.logo_picture_id
    assert row.header_picture_id
    ada.post(page, sent(**{"logo_picture-clear": "on"}))
    assert theme_facts(Theme.objects.get()).logo_url == ""
    assert Picture.objects.count() == 2


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (SimpleUploadedFile("x.png", b"<svg onload=alert(1)>", "image/png"), "This picture cannot be read"),
        (a_file(300, 40), "choose one with 552"),
    ],
)
def test_what_is_no_picture_is_refused_at_its_field(
    ada: Client, newsletter: Subscribable, file: SimpleUploadedFile, said: str
) -> None:
    answer = ada.post(look_page(newsletter), sent(header_picture=file))
    assert said in answer.content.decode()
    assert not Picture.objects.exists()
    assert not Theme.objects.exists()


def test_strangers_upload_nothing(client: Client, newsletter: Subscribable) -> None:
    for path in ("/admin/subscriptions/sitesettings/1/change/", look_page(newsletter)):
        answer = client.post(path, sent(logo=a_file()))
        assert answer.status_code in (302, 413)
    assert not Picture.objects.exists()


def test_the_sites_own_page_is_its_settings(ada: Client) -> None:
    path = "/admin/subscriptions/sitesettings/1/change/"
    assert ada.get("/admin/subscriptions/sitesettings/").headers["Location"] == path
    assert ada.get(path).status_code == 200
    answer = ada.post(path, {"name": "Harbour News", "accent": "#0b6e4f", "logo": a_file(400, 100)})
    assert answer.headers["Location"] == path
    assert (site_facts().name, site_facts().logo_width) == ("Harbour News", 192)
    refusal = ada.post(path, {"name": "Other", "accent": "green"}).content.decode()
    assert "A colour is written as #1a5fb4." in refusal
    assert site_facts().name == "Harbour News"


def test_the_sign_in_mail_is_the_sites() -> None:
    alter_site(name="Harbour News", accent="#0b6e4f", logo=a_picture(400), imprint_url="https://h.example/i")
    mail = newsletter_mail(None, "sign_in", SIGN_IN, language="en")
    assert mail.subject == "Sign-in link for Harbour News"
    assert 'bgcolor="#0b6e4f"' in mail.html
    assert site_facts().logo_url in mail.html
    assert 'href="https://h.example/i"' in mail.html
    assert "Imprint: https://h.example/i" in mail.text
    german = newsletter_mail(None, "sign_in", SIGN_IN, language="de")
    assert german.subject == "Anmeldelink für Harbour News"
    assert "Impressum" in german.html


def test_letters_say_whose_they_are_only_where_an_admin_said_so(newsletter: Subscribable) -> None:
    context = {"newsletter": "Valley"}
    assert "Imprint" not in newsletter_mail(newsletter, "farewell", context, language="en").html
    alter_site(name="Harbour <News>", accent="#0b6e4f", privacy_url="https://h.example/p")
    mail = newsletter_mail(newsletter, "farewell", context, language="en")
    assert "Harbour &lt;News&gt;</a>" in mail.html
    assert "Privacy: https://h.example/p" in mail.text
    assert "Imprint" not in mail.html
    assert "#0b6e4f" in mail.html


def test_commands_take_pictures_from_files(newsletter: Subscribable, tmp_path: Path) -> None:
    good, bad = tmp_path / "logo.png", tmp_path / "bad.png"
    good.write_bytes(octets_of(drawn(400, 100)))
    bad.write_bytes(b"words")
    shown = json_of("set_site", "--name", "Harbour News", "--logo", str(good), "--logo-says-name", "yes")
    assert (shown["name"], shown["logo_says_name"]) == ("Harbour News", True)
    assert shown["logo"] == json_of("set_theme", "valley", "--logo", str(good))["logo_url"]
    assert json_of("set_site") == shown
    assert "cannot be read" in refused("set_site", "--logo", str(bad))
    assert "cannot be read" in refused("set_theme", "valley", "--logo", str(tmp_path / "none.png"))
    assert json_of("set_site", "--logo", "")["logo"] == ""
