"""Links of feedletter's emails and its sign-up forms lead to this site after the import."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client

from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import OldName, Subscribable, Subscription, UpstreamSalt
from subscriptions.rules.sign_up import Suffix, invitation
from tests.factories import SubscribableFactory
from tests.site.migrate_from.feedletter_dump import NOW, SALT, dump, run, site
from tests.site.migrate_from.test_cordfeeder import everything, words

__all__ = ["dump", "site"]
pytestmark = pytest.mark.django_db
ODD = "ri ver & é/?"
FORM = {"addressPart": "fresh@example.org", "displayNamePart": "Fresh", "destinationType": "Email"}
OTHER_SALT = "another salt = 2"


@pytest.fixture(autouse=True)
def salted(settings: Any) -> None:
    settings.UPSTREAM_SALT, settings.CONFIRM_HOURS = SALT, 8760


@pytest.fixture
def strict() -> Client:
    return Client(enforce_csrf_checks=True)


def renamed(dump: Path, new: str) -> None:
    text = dump.read_text()
    for column in ("\triver\t", "\nriver\t"):
        text = text.replace(column, column.replace("river", new))
    dump.write_text(text)


def link(number: int, suffix: Suffix, *, salt: str = SALT) -> str:
    path = "confirm" if suffix is Suffix.CONFIRM else "remove"
    proof = invitation(number, salt=salt, suffix=suffix)
    return f"/v0/subscription/{path}?subscriptionId={number}&invitation={proof}"


@pytest.mark.parametrize("number", [3, 7, 8, 9_000_000_001])
def test_each_old_unsubscribe_link_shows_a_page_and_its_button_unsubscribes(
    dump: Path, strict: Client, number: int
) -> None:
    run(dump)
    row = Subscription.objects.get(upstream_id={7: 3}.get(number, number))
    before = everything()
    page = strict.get(link(number, Suffix.REMOVE))
    assert page.status_code == 200
    assert f"Unsubscribe from {row.subscribable}</button>" in page.content.decode()
    assert everything() == before
    # The form of the page itself.
    (action,) = re.findall(r'<form method="post" action="([^"]*)"', page.content.decode()) or [""]
    done = strict.post(action or link(number, Suffix.REMOVE))
    assert "You’re unsubscribed" in done.content.decode()
    row.refresh_from_db()
    assert row.status == "unsubscribed"


def test_numbers_of_people_who_left_there_and_wrong_proofs_change_nobody(dump: Path, strict: Client) -> None:
    run(dump)
    assert "Nothing left to do" in strict.post(link(5, Suffix.REMOVE)).content.decode()
    wrong = strict.post(f"/v0/subscription/remove?subscriptionId=3&invitation={'0' * 64}")
    assert wrong.status_code == 400
    assert not Subscription.objects.filter(status="unsubscribed").exists()


def test_an_old_confirmation_link_still_confirms(dump: Path, strict: Client) -> None:
    run(dump)
    assert strict.get(link(14, Suffix.CONFIRM)).status_code == 200
    assert Subscription.objects.get(upstream_id=14).status == "unconfirmed"
    assert "You’re subscribed" in strict.post(link(14, Suffix.CONFIRM), follow=True).content.decode()
    assert Subscription.objects.get(upstream_id=14).status == "confirmed"


@pytest.mark.parametrize("name", ["river", ODD])
def test_old_sign_up_forms_work_under_their_old_name(dump: Path, strict: Client, name: str) -> None:
    renamed(dump, name)
    facts = run(dump)
    assert ("old sign-up forms still work" in words(facts, "changed")) == (name == ODD)
    form = {**FORM, "subscribableName": name}
    shown = strict.get("/v0/subscription/create", form)
    assert shown.status_code == 200
    assert "fresh@example.org" in shown.content.decode()
    assert strict.post("/v0/subscription/create", form).status_code in (200, 302, 303)
    row = Subscription.objects.get(destination__core="fresh@example.org")
    assert (row.status, row.subscribable.name[:2]) == ("unconfirmed", "ri")
    take_notices(now=NOW)
    assert Delivery.objects.get(kind="confirmation").destination == row.destination


def test_a_name_of_another_newsletter_is_reported_and_its_forms_stay(dump: Path, strict: Client) -> None:
    own = SubscribableFactory(name="river")
    facts = run(dump)
    assert "river: Its name here is river-2, because there is another river." in words(facts, "changed")
    assert not OldName.objects.exists()
    strict.post("/v0/subscription/create", {**FORM, "subscribableName": "river"})
    assert Subscription.objects.get(destination__core="fresh@example.org").subscribable == own


def test_forms_of_an_unknown_name_are_refused(dump: Path, strict: Client) -> None:
    run(dump)
    for name in ("nothing", "a\0b", "x" * 5000):
        answer = strict.post("/v0/subscription/create", {**FORM, "subscribableName": name})
        assert answer.status_code == 400
    assert Subscribable.objects.exists()


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    file = tmp_path / "secrets"
    file.write_text(f"feedletter.secret.salt={SALT}\n".replace("ä", "\\u00e4"))
    return file


@pytest.fixture
def other_secrets(tmp_path: Path) -> Path:
    file = tmp_path / "other-secrets"
    file.write_text(f"feedletter.secret.salt={OTHER_SALT}\n")
    return file


@pytest.fixture
def other_dump(dump: Path, tmp_path: Path) -> Path:
    """Return a dump of another program, with the same numbers for other people of other feeds."""
    place = tmp_path / "other.sql"
    text = dump.read_text().replace("127.0.0.1", "localhost")
    for old, new in (("bob@example.com", "other@example.com"), ("new@example.org", "on@example.org")):
        text = text.replace(old, new)
    place.write_text(text)
    return place


def unsubscribed() -> set[str]:
    left = Subscription.objects.filter(status="unsubscribed")
    return set(left.values_list("destination__core", flat=True))


@pytest.mark.slow
def test_links_of_two_databases_work_each_with_its_salt_though_their_numbers_are_equal(
    dump: Path, other_dump: Path, secrets: Path, other_secrets: Path, strict: Client, settings: Any
) -> None:
    settings.UPSTREAM_SALT = ""
    run(dump, "--secrets", str(secrets))
    before = everything()
    dry = run(other_dump, "--secrets", str(other_secrets), "--dry-run")
    assert everything() == before
    facts = run(other_dump, "--secrets", str(other_secrets), "--queued", "keep")
    assert OTHER_SALT not in f"{dry}{facts}{everything()}"
    taken = everything()
    run(other_dump, "--secrets", str(other_secrets))
    run(dump, "--secrets", str(secrets))
    assert everything() == taken
    # Its queued messages have the numbers, too.
    names = Delivery.objects.filter(issue__title="Post 5").values_list("destination__core", flat=True)
    assert "other@example.com" in names
    assert "You’re unsubscribed" in strict.post(link(8, Suffix.REMOVE)).content.decode()
    assert unsubscribed() == {"bob@example.com"}
    assert "You’re unsubscribed" in strict.post(link(8, Suffix.REMOVE, salt=OTHER_SALT)).content.decode()
    assert unsubscribed() == {"bob@example.com", "other@example.com"}
    page = strict.post(link(14, Suffix.CONFIRM, salt=OTHER_SALT), follow=True).content.decode()
    assert "You’re subscribed" in page
    confirmed = Subscription.objects.filter(status="confirmed", subscribable__name__startswith="river")
    assert "on@example.org" in confirmed.values_list("destination__core", flat=True)
    assert "new@example.org" not in confirmed.values_list("destination__core", flat=True)


def test_a_person_who_left_one_database_can_not_act_for_somebody_of_the_other(
    dump: Path, other_dump: Path, secrets: Path, other_secrets: Path, strict: Client, settings: Any
) -> None:
    settings.UPSTREAM_SALT = ""
    dump.write_text("".join(line for line in dump.open() if not line.startswith("8\t{")))
    run(dump, "--secrets", str(secrets))
    run(other_dump, "--secrets", str(other_secrets))
    assert "Nothing left to do" in strict.post(link(8, Suffix.REMOVE)).content.decode()
    assert unsubscribed() == set()


def test_another_database_without_its_secrets_is_refused(
    dump: Path, other_dump: Path, secrets: Path, strict: Client
) -> None:
    run(dump)
    before = everything()
    with pytest.raises(CommandError, match="Another feedletter database was imported"):
        run(other_dump)
    assert everything() == before
    run(dump, "--secrets", str(secrets))
    assert UpstreamSalt.objects.get().place == 0
    assert "You’re unsubscribed" in strict.post(link(8, Suffix.REMOVE)).content.decode()
