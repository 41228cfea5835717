"""A database made before a change of the migrations is refused in one sentence."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from feedletter_site.schema import too_old

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("ALTER TABLE feeds_feed DROP COLUMN title", "the column title of feeds_feed is"),
        ("ALTER TABLE subscriptions_suppression DROP COLUMN reason", "the column reason of subscriptions"),
        ("ALTER TABLE delivery_issue RENAME COLUMN placeholders TO holes", "the column placeholders of"),
        ("ALTER TABLE reader_timelineentry RENAME TO reader_place", "the table reader_timelineentry is"),
        (
            "ALTER TABLE chat_guildfeed DROP COLUMN every_minutes",
            "the column every_minutes of chat_guildfeed",
        ),
    ],
)
def test_an_older_database_is_refused(statement: str, missing: str) -> None:
    assert too_old(connection) == ""
    with connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(
        CommandError, match=f"before the first release: {missing}.* missing. It cannot be upgr"
    ):
        call_command("migrate", verbosity=0)
