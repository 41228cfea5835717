"""The checklist of a new site ticks itself, can be hidden, and is gone when all is done."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from delivery.customisation import set_theme
from feedletter_site.models import FirstStep
from feedletter_site.monitoring.first_steps import STEP_NAMES, open_steps
from feedletter_site.services.backups import note_back_up
from reader.people.readers import add_reader
from tests.factories import NOW, FeedFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def undone() -> list[str]:
    return [step.name for step in open_steps(email="ada@example.org") if not step.is_done]


@pytest.mark.needs("reader")
def test_each_step_ticks_when_it_is_done_and_in_the_end_the_list_is_gone(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    assert undone() == list(STEP_NAMES)
    feed = FeedFactory()
    assert undone()[0] == "newsletter"
    letter = SubscribableFactory(feeds=[feed])
    set_theme(subscribable=letter, accent="#1a5fb4")
    SubscriptionFactory(subscribable=letter)
    assert undone() == ["mail", "form", "reading", "back_up"]
    add_reader(name="ada", now=NOW)
    settings.EMAIL_URL = "smtp://mail.example.org"
    letter.embed_hosts = "blog.example.org"
    letter.save()
    note_back_up()
    assert open_steps(email="") == []


def test_a_step_is_put_aside_and_so_is_the_whole_list(admin_client: Client) -> None:
    page = reverse("first_steps")
    admin_client.post(page, {"aside": "mail"})
    assert "mail" not in [step.name for step in open_steps(email="")]
    assert "Keep the mailbox" not in admin_client.get("/admin/").content.decode()
    admin_client.post(page, {"aside": "all"})
    assert "First steps" not in admin_client.get("/admin/").content.decode().split('id="content-main"')[1]
    assert "Show hidden steps" in admin_client.get(page).content.decode()
    admin_client.post(page)
    assert undone()[0] == "feed"
    admin_client.post(page, {"aside": "no such step"})
    assert not FirstStep.objects.exists()


@pytest.mark.slow
def test_the_links_carry_what_is_known(admin_client: Client) -> None:
    letter = SubscribableFactory()
    steps = {step.name: step.url for step in open_steps(email="ada@example.org")}
    assert f"subscribable={letter.pk}" in steps["reader"]
    form = admin_client.get(steps["reader"]).content.decode()
    assert "ada@example.org" in form
    assert 'id="put-it-on-your-site"' in admin_client.get(steps["form"]).content.decode()
    for url in steps.values():
        assert admin_client.get(url).status_code == 200, url


def test_who_may_not_set_up_sees_no_list(client: Client) -> None:
    client.force_login(User.objects.create_user("eve", is_staff=True))
    assert client.get(reverse("first_steps")).status_code == 403
    assert "First steps" not in client.get("/admin/").content.decode()


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_a_back_up_ticks_its_step(tmp_path: Path, settings: Any) -> None:
    from django.db import connection

    if connection.vendor == "sqlite":
        call_command("backup", str(tmp_path / "copy"))
        assert FirstStep.objects.get().name == "back_up"
