"""What a reader takes along is all that is kept about them."""

from django.apps import apps
from django.db.models import ForeignKey

from reader.models import (
    AppPassword,
    Channel,
    Code,
    Composition,
    Follow,
    FollowList,
    Invitation,
    Marking,
    Mention,
    Mute,
    Reader,
    Star,
    TimelineEntry,
    Token,
    Unread,
)
from reader.people.personal_data import SOURCES

# Under which key each is told, or why it is not.
TOLD = {
    Channel: "channels",
    FollowList: "",  # what became of the last file: what is followed by it is told
    Follow: "follows",
    Mute: "muted",
    Star: "starred",
    TimelineEntry: "posts",
    Unread: "posts",
    Token: "clients",
    AppPassword: "app_passwords",
    Composition: "written",
    Mention: "mentions",
    Code: "",  # for minutes; the client that it was given to is told
    Marking: "",  # what *Undo* needs: keys of rows that are told
    Invitation: "",  # by whom they were let in is told by `account`'s dates; its key is unknown
}


def test_every_table_with_a_row_about_a_reader_is_told_or_named_here() -> None:
    theirs = {
        model
        for model in apps.get_app_config("reader").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey) and field.related_model in (Reader, Channel)
    }
    assert theirs == TOLD.keys()
    keys = {source.key for source in SOURCES}
    assert {key for key in TOLD.values() if key} | {"account"} == keys
