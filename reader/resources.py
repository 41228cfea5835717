"""People who use the reader, and invitations: by commands and the admin."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Count, QuerySet

from common.cli.commands import shown_fields
from common.refused import Refused
from common.resources import ADMIN, COMMAND, Argument, Done, Resource, verb
from common.text import pluralize
from reader.models import Invitation, Reader
from reader.people.invitations import revoke_invitations
from reader.people.readers import drop_reader, set_max_feeds


class Readers(Resource[Reader]):
    noun = "reader"
    key, metavar = "slug", "NAME"
    key_help = "The reader."
    list_help = "List the people who use the reader."
    empty = "Nobody uses the reader yet. Add someone: add_reader NAME"

    def rows(self) -> "QuerySet[Reader]":
        counts = {
            "channel_count": Count("channels", distinct=True),
            "follow_count": Count("channels__follows"),
        }
        return Reader.objects.select_related("user").annotate(**counts)

    def shown(self, row: Any) -> Mapping[str, Any]:
        return {
            "name": row.slug,
            "user": row.user.get_username(),
            "channels": row.channel_count,
            "follows": row.follow_count,
            **shown_fields(row, "max_feeds made_at last_seen_at leaving_at"),
        }

    @verb("Change", on=(COMMAND,))
    def alter(
        self,
        reader: Reader,
        *,
        max_feeds: Annotated[int, Argument("Maximum number of feeds. 0 uses READER_MAX_FEEDS.")],
    ) -> Done:
        """Change someone’s limits."""
        set_max_feeds(reader=reader, max_feeds=max_feeds or None)
        facts = {"name": reader.slug, "max_feeds": reader.max_feeds}
        return Done(facts, facts)

    @verb("Delete", on=(COMMAND,))
    def drop(
        self,
        reader: Reader,
        *,
        yes: Annotated[bool, Argument("This can’t be undone.")] = False,
        now: datetime,
    ) -> Done:
        """Delete someone’s channels, followed feeds, marks and keys. Feeds that others follow are kept."""
        if not yes:
            raise Refused(f"This permanently deletes all data of {reader}. Run it again with --yes.")
        name = reader.slug
        drop_reader(reader=reader, now=now)
        return Done(f"{name} was erased.", {"name": name})


def asks_to_revoke(invitations: Sequence[Invitation]) -> list[str]:
    count = sum(row.used_at is None and row.revoked_at is None for row in invitations)
    return [
        f"Revoked {pluralize(count, 'invitation')} can’t be used any more. People who joined keep access."
    ]


class Invitations(Resource[Invitation]):
    noun = "invitation"
    list_help = "List the invitations to the reader."
    empty = "No invitations yet. Invite someone: add_reader NAME --invite"

    def rows(self) -> "QuerySet[Invitation]":
        return Invitation.objects.select_related("reader")

    def shown(self, row: Invitation) -> Mapping[str, Any]:
        return {
            **shown_fields(row, "id name made_at expires_at used_at"),
            "reader": row.reader.slug if row.reader else None,
            "revoked_at": row.revoked_at,
        }

    @verb(
        "Take back",
        on=(COMMAND, ADMIN),
        fits=lambda row: row.revoked_at is None and row.used_at is None,
        asks=asks_to_revoke,
        is_harmful=True,
    )
    def revoke(self, invitation: Invitation, *, now: datetime) -> str:
        """Revoke an invitation, so that its link no longer works."""
        if not revoke_invitations(invitations=[invitation.pk], now=now):
            raise Refused(f"The invitation for {invitation} was already used or revoked.")
        return f"The invitation for {invitation} no longer works."


readers, invitations = Readers(), Invitations()
