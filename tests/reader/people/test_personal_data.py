"""A reader's export contains all that is stored about them."""

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
    Letters,
    MailAddress,
    MailSource,
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

# The export's key for each model, or the reason for omitting it.
TOLD = {
    Channel: "channels",
    Letters: "channels_by_email",
    FollowList: "",  # progress of the last file; the resulting follows are exported
    Follow: "follows",
    Mute: "muted",
    Star: "starred",
    TimelineEntry: "posts",
    Unread: "posts",
    Token: "clients",
    AppPassword: "app_passwords",
    Composition: "written",
    Mention: "mentions",
    MailAddress: "mail_addresses",
    MailSource: "mail_senders",
    Code: "",  # valid for minutes; the client that got it is exported
    Marking: "",  # data for *Undo*: keys of rows that are exported
    Invitation: "",  # its use is in the dates of `account`; its key is unknown
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
    assert {key for key in TOLD.values() if key} | {"account", "held_mail"} == keys
