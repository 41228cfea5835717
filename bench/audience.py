"""Newsletters with subscribers, and issues for them."""

import secrets

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from channels import channel
from channels.letter import Recipient
from channels.placeholders import Placeholders
from delivery.issues.publish import publish
from delivery.letters.build import issue_letter
from delivery.models import Delivery, Issue, Lane
from subscriptions.links import manage_url, unsubscribe_url
from subscriptions.models import Destination, Subscribable, Subscription

CONNECTIONS = 100
DOMAINS = 20
SENTENCE = "The quick brown fox jumps over the lazy dog, and tells about it at some length."
# Makes a letter of 4.5 KB.
PARAGRAPHS = 17
TOKEN = {"postgresql": "md5(random()::text)", "sqlite": "lower(hex(randomblob(16)))"}


def newsletter(name: str, *, readers: int, domain: str = "example.org") -> Subscribable:
    """Create a newsletter with its own subscribers, and vacuum."""
    made = rows_of(name, readers=readers, domain=domain)
    vacuum(Destination, Subscription)
    return made


def rows_of(name: str, *, readers: int, domain: str = "example.org") -> Subscribable:
    made = Subscribable.objects.create(
        name=name, title=f"The {name} letter", from_email=f"Bench <b@{domain}>"
    )
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH RECURSIVE numbers(number) AS (
                SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < %s
            ),
            made(address) AS (
                SELECT %s || number || '@mail' || (number %% {DOMAINS}) || '.example' FROM numbers
            )
            INSERT INTO {Destination._meta.db_table}
                (kind, core, label, config, secrets, added_at, disabled_reason)
            SELECT 'email', address, address, '{{}}', '', %s, '' FROM made
            """,
            [readers, f"{name}-reader", now],
        )
        cursor.execute(
            f"""
            INSERT INTO {Subscription._meta.db_table}
                (subscribable_id, destination_id, display_name, asked_name, status, language, added_at,
                confirmed_at, token, confirm_nonce)
            SELECT %s, id, 'Reader ' || id, '', 'confirmed', '', %s, %s, {TOKEN[connection.vendor]}, ''
            FROM {Destination._meta.db_table} WHERE core LIKE %s ORDER BY id
            """,
            [made.pk, now, now, f"{name}-reader%"],
        )
    return made


def lane(*, connections: int = CONNECTIONS) -> Lane:
    made, _ = Lane.objects.update_or_create(
        kind="email", account="default", defaults={"concurrency": connections}
    )
    return made


def issue(newsletter: Subscribable, number: int) -> Issue:
    """Personalise both parts."""
    placeholders = Placeholders({})
    greeting = f"Good morning, {placeholders.token('toNicknameOrEmail')}"
    leave, manage = placeholders.token("removeLink"), placeholders.token("manageLink")
    paragraphs, lines = f"<p>{SENTENCE}</p>\n" * PARAGRAPHS, f"{SENTENCE}\n" * PARAGRAPHS
    return Issue.objects.create(
        subscribable=newsletter,
        within_type_id=str(number),
        token=secrets.token_hex(12),
        title=f"Letter {number}",
        subject=f"Letter {number}",
        html=f'<!doctype html>\n<html lang="en"><body>\n<h1>{greeting}</h1>\n{paragraphs}'
        f'<p><a href="{manage}">Manage</a> · <a href="{leave}">Unsubscribe</a></p>\n</body></html>\n',
        text=f"{greeting}\n\n{lines}\nManage: {manage}\nUnsubscribe: {leave}\n",
        placeholders=placeholders.used,
    )


def publish_settled(issue: Issue) -> int:
    """Publish, vacuum and checkpoint. Returns how many.

    A new database has no WAL segments to reuse, and creating one takes 60 ms.
    """
    count = publish(issue_id=issue.pk, now=timezone.now())
    vacuum(Delivery)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("CHECKPOINT")
    return count


def vacuum(*models: type[Model]) -> None:
    verb = "VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"{verb} {model._meta.db_table}")


def letter_size(issue: Issue) -> int:
    reader = Subscription.objects.select_related("destination").filter(subscribable=issue.subscribable)[0]
    someone = Recipient(
        delivery_id=1_000_000,
        core=reader.destination.core,
        label=reader.destination.label,
        name=reader.display_name,
        unsubscribe_url=unsubscribe_url(reader),
        manage_url=manage_url(reader),
    )
    return len(channel("email").compose(issue_letter(issue), someone).data)
