"""The pages on which mails and pages are previewed and edited.

A newsletter's look in the admin: one tab with form and preview, saved and reset.
"""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from delivery.customisation import set_theme, theme_of
from delivery.letters.templates import known_templates
from delivery.models import Delivery, LetterTemplate, Theme
from subscriptions.branding.brands import alter_site
from subscriptions.models import Subscribable
from tests.delivery.own_letters import a_read_feed, kept, saved
from tests.examples import some_now
from tests.factories import BridgeFactory, SubscribableFactory, SubscriptionFactory
from tests.pictures import drawn, octets_of
from tests.site.test_admin_journey import act, text
from tests.subscriptions.admin.test_rules import form_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def weekly() -> Subscribable:
    made: Subscribable = SubscribableFactory(name="weekly", title="The Weekly", feeds=[a_read_feed()])
    return made


def address(name: str = "issues/post", view: str = "edit", newsletter: str = "weekly") -> str:
    return reverse(f"admin:delivery_lettertemplate_{view}", args=[newsletter, *name.split("/")])


def a_draft(html: str = "<p>Draft</p>", **more: str) -> dict[str, str]:
    return {"html": html, "text": "", "subject": "", **more}


def a_client(*permissions: str) -> Client:
    user = User.objects.create_user("bea", "bea@example.org", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("name", some_now([known.name for known in known_templates()]))
@pytest.mark.parametrize("view", some_now(["preview", "edit"]))
def test_every_mail_and_page_has_its_page(admin_client: Client, weekly: Any, name: str, view: str) -> None:
    page = admin_client.get(address(name, view)).content.decode()
    assert "<iframe" in page
    assert ("<textarea" in page) == (view == "edit")


def test_frames_run_nothing_and_have_no_origin(admin_client: Client, weekly: Any) -> None:
    html = "<script>alert(1)</script><p>x</p>"
    page = admin_client.post(address(), a_draft(html, do="preview")).content.decode()
    assert page.count("sandbox title=") == 2
    assert "allow-" not in page
    # Only as the frame's source, escaped for its attribute.
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_newsletters_page_lists_its_letters(admin_client: Client, weekly: Any) -> None:
    saved(weekly, "mails/welcome", "Mine")
    kept(weekly, "issues/post", "{% nope %}")
    page = admin_client.get(
        reverse("admin:subscriptions_subscribable_change", args=[weekly.pk]) + "?tab=look"
    ).content.decode()
    assert address("issues/digest", "preview") in page
    assert address("pages/issue") in page
    assert "own, version 1" in page
    assert "It does not render. The template issues/post cannot be used" in page
    bridge = BridgeFactory()
    page = admin_client.get(
        reverse("admin:subscriptions_subscribable_change", args=[bridge.pk]) + "?tab=look"
    ).content.decode()
    assert "lettertemplate/of" not in page


def test_a_draft_is_shown_and_not_kept(admin_client: Client, weekly: Any) -> None:
    page = admin_client.post(address(), a_draft("Draft of {{ title }}", do="preview")).content.decode()
    assert "Draft of Post 0" in page
    assert LetterTemplate.objects.count() == 0


def test_a_template_is_saved_when_it_renders(admin_client: Client, weekly: Any) -> None:
    answer = admin_client.post(address(), a_draft("a\r\nb", do="save", note="Shorter"), follow=True)
    assert "Version 1 is now in use" in answer.content.decode()
    row = LetterTemplate.objects.get()
    assert (row.html, row.author, row.note, row.is_current) == ("a\nb", "admin", "Shorter", True)


def test_one_that_does_not_render_is_not_saved_and_nothing_written_is_lost(
    admin_client: Client, weekly: Any
) -> None:
    page = admin_client.post(address(), a_draft("mine\n{% nope %}", do="save", note="Hm")).content.decode()
    assert "Not saved. The template issues/post cannot be used: html, line 2" in page
    assert "2  {% nope %}" in page
    assert "mine\n{% nope %}</textarea>" in page
    assert 'value="Hm"' in page
    assert LetterTemplate.objects.count() == 0


def test_the_preview_follows_as_json(admin_client: Client, weekly: Any) -> None:
    reader = SubscriptionFactory(subscribable=weekly, display_name="Zoe")
    draft = a_draft("Hello %toNickname%", **{"as": reader.destination.label})
    made = admin_client.post(address(view="show"), draft).json()
    assert "Hello Zoe" in made["day"]
    assert made["problem"] is None
    assert "To: " in made["raw"]
    wrong = admin_client.post(address(view="show"), a_draft("\n{% nope %}")).json()["problem"]
    assert (wrong["part"], wrong["line"]) == ("html", 2)
    stranger = admin_client.post(address(view="show"), a_draft(**{"as": "no@example.org"})).json()
    assert stranger["note"] == "no@example.org does not subscribe to it. Shown for Ada instead."
    assert admin_client.get(address(view="show")).status_code == 405


def test_night_is_shown_by_day(admin_client: Client, weekly: Any) -> None:
    draft = a_draft('<style data-css-inline="keep">@media (prefers-color-scheme: dark){p{color:red}}</style>')
    made = admin_client.post(address(view="show"), draft).json()
    assert "(min-width: 0px)" in made["night"]
    assert "(max-width: 0px)" in made["day"]
    page = admin_client.post(address("pages/issue", "show"), {}).json()
    assert "<style>" in page["night"]
    assert "prefers-color-scheme" not in page["night"]


def test_versions_can_be_compared_and_used_again(admin_client: Client, weekly: Any) -> None:
    saved(weekly, "issues/post", "<p>One</p>\n<p>same</p>")
    saved(weekly, "issues/post", "<p>Two</p>\n<p>same</p>")
    page = admin_client.get(address() + "?version=1").content.decode()
    assert "-&lt;p&gt;One&lt;/p&gt;" in page
    assert "+&lt;p&gt;Two&lt;/p&gt;" in page
    assert "Use version 1 again" in page
    answer = admin_client.post(address(), {"do": "again", "version": "1"}, follow=True)
    assert "Version 3 is now in use" in answer.content.decode()
    assert LetterTemplate.objects.get(is_current=True).html.startswith("<p>One")
    assert (
        "From the default to the one in use"
        in admin_client.get(address() + "?version=default").content.decode()
    )
    for number in ("9", "x", "9" * 30):
        assert "From version" not in admin_client.get(f"{address()}?version={number}").content.decode()
    assert admin_client.post(address(), {"do": "again", "version": "x"}).status_code == 404


def test_the_default_comes_back(admin_client: Client, weekly: Any) -> None:
    saved(weekly, "issues/post", "Mine")
    answer = admin_client.post(address(), {"do": "default"}, follow=True)
    assert "The default is in use" in answer.content.decode()
    assert not LetterTemplate.objects.filter(is_current=True).exists()


@pytest.mark.parametrize("view", ["preview", "edit"])
def test_what_is_shown_is_sent_to_whoever_asks(admin_client: Client, weekly: Any, view: str) -> None:
    draft = a_draft("Draft") if view == "edit" else {}
    page = admin_client.post(address("mails/welcome", view), {**draft, "do": "test"}).content.decode()
    assert "A test is on its way to admin@example.com" in page
    row = Delivery.objects.get()
    assert (row.kind, row.context["template"]) == ("test", "mails/welcome")
    assert row.context.get("source") == ({"html": "Draft", "text": "", "subject": ""} if draft else None)


def test_no_test_is_sent_of_what_does_not_render(admin_client: Client, weekly: Any) -> None:
    page = admin_client.post(address(), a_draft("{% nope %}", do="test")).content.decode()
    assert "Not sent." in page
    admin_client.post(address("pages/issue", "preview"), {"do": "test"})
    assert Delivery.objects.count() == 0


def test_the_list_of_versions_leads_to_them(admin_client: Client, weekly: Any) -> None:
    row = saved(weekly, "issues/post", "Mine")
    listed = admin_client.get(reverse("admin:delivery_lettertemplate_changelist"))
    assert "issues/post" in listed.content.decode()
    answer = admin_client.get(reverse("admin:delivery_lettertemplate_change", args=[row.pk]))
    assert answer["Location"] == address() + "?version=1"
    assert admin_client.get("/admin/delivery/lettertemplate/x%2fy/change/").status_code == 404


@pytest.mark.parametrize(
    "place",
    ["weekly/issues/nope", "weekly/mails/alert", "nope/issues/post", "bridge/issues/post", "weekly/pages/.."],
)
def test_there_is_no_page_for_what_there_is_not(admin_client: Client, weekly: Any, place: str) -> None:
    BridgeFactory(name="bridge")
    assert admin_client.get(f"/admin/delivery/lettertemplate/of/{place}/").status_code == 404


def test_who_may_only_look_cannot_write(weekly: Any) -> None:
    client = a_client("view_lettertemplate")
    page = client.get(address(view="preview")).content.decode()
    assert "<iframe" in page
    assert address() not in page
    for data in (a_draft(do="save"), {"do": "default"}):
        assert client.post(address(), data)["Location"] == address(view="preview")
    assert LetterTemplate.objects.count() == 0


def test_nobody_else_sees_anything(weekly: Any, client: Client) -> None:
    staff = a_client()
    for view in ("preview", "edit", "show"):
        assert client.post(address(view=view), a_draft()).status_code == 302
        assert staff.post(address(view=view), a_draft()).status_code == 403


def test_a_draft_is_taken_from_our_own_pages_only(admin_user: User, weekly: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    for view in ("show", "edit"):
        assert client.post(address(view=view), a_draft(do="save")).status_code == 403


def test_as_whom_it_is_shown_asks_the_permission_to_see_subscribers(weekly: Subscribable) -> None:
    SubscriptionFactory(subscribable=weekly, destination__core="farah@example.org", display_name="Farah")
    bea = a_client("view_lettertemplate")
    for who in ("farah@example.org", "nobody@example.org"):
        page = bea.get(f"{address(view='preview')}?as={who}").content.decode()
        assert "You may not see subscribers" in page
        assert "Farah" not in page
    may = Permission.objects.filter(codename__in=["view_lettertemplate", "view_subscription"])
    User.objects.get().user_permissions.set(may)
    page = bea.get(f"{address(view='preview')}?as=nobody@example.org").content.decode()
    assert "You may not see subscribers" not in page


def theme_page(newsletter: Subscribable) -> str:
    return reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + "?tab=look"


def given(client: Client, newsletter: Subscribable, **changes: Any) -> dict[str, Any]:
    """Return the form's data as a browser sends it, with these changes."""
    return {**form_of(client.get(theme_page(newsletter))), **changes}


def theme_saved(client: Client, newsletter: Subscribable, **changes: Any) -> Any:
    data = given(client, newsletter, **changes, _save="1")
    return client.post(theme_page(newsletter), data)


def test_the_form_and_the_letter_stand_on_one_page(admin_client: Client) -> None:
    page = text(admin_client.get(theme_page(SubscribableFactory())))
    assert 'name="accent"' in page
    assert 'id="fl-day"' in page
    assert 'name="language"' in page


def test_it_is_saved_whole_and_one_stays_there(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    answer = theme_saved(admin_client, newsletter, accent="#7a3b9d", logo_url="e.org/l.png", language="de")
    assert answer.headers["Location"] == theme_page(newsletter)
    newsletter.refresh_from_db()
    theme = theme_of(newsletter)
    assert (theme.accent, theme.logo_url, newsletter.language) == ("#7a3b9d", "https://e.org/l.png", "de")
    page = text(admin_client.get(theme_page(newsletter)))
    assert re.search(r'type="color"[^>]* value="#7a3b9d"', page)
    assert "#7a3b9d" in page.partition('id="fl-day"')[2]


def test_a_refusal_stands_at_its_field_beside_what_was_typed_and_changes_nothing(
    admin_client: Client,
) -> None:
    newsletter = SubscribableFactory()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    answer = theme_saved(
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
    page = text(admin_client.post(theme_page(newsletter), {**data, "logo_picture": logo}))
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
    assert 'placeholder="#0a7d33"' in text(admin_client.get(theme_page(newsletter)))
    newsletter.params = {"accent": "'><script>"}
    newsletter.save()
    assert 'placeholder="#1f5f8b"' in text(admin_client.get(theme_page(newsletter)))


def test_the_usual_look_comes_back(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    theme_saved(admin_client, newsletter, language="de")
    assert not Theme.objects.exists()
    set_theme(subscribable=newsletter, accent="#7a3b9d")
    assert "Reset the look" in text(admin_client.get(theme_page(newsletter)))
    settings_tab = theme_page(newsletter).replace("tab=look", "tab=settings")
    assert "Reset the look" not in text(admin_client.get(settings_tab))
    said = text(act(admin_client, "subscriptions_subscribable", "usual_look", newsletter))
    assert "The look was reset" in said
    assert not Theme.objects.exists()


def test_a_newsletter_without_one_offers_no_way_back_and_a_bridge_has_no_theme(admin_client: Client) -> None:
    page = text(admin_client.get(theme_page(SubscribableFactory())))
    assert "usual_look" not in re.findall(r'value="(\w+)"[^>]*>Back to', page)
    bridge = text(admin_client.get(theme_page(BridgeFactory())))
    assert 'name="accent"' not in bridge
    assert 'id="fl-day"' not in bridge


def test_who_may_only_look_sees_the_letter_and_no_form(client: Client, viewer: Any) -> None:
    newsletter = SubscribableFactory()
    client.force_login(viewer)
    page = text(client.get(theme_page(newsletter)))
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
    page = text(admin_client.get(theme_page(SubscribableFactory())))
    for style in Theme.Style:
        assert f'name="style" value="{style}"' in page
        assert f"fl-preset-{style}" in page
