"""API tokens: list, create and revoke them, by commands and the admin."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import QuerySet

from common.api.permissions import SCOPES, TOKEN_SCOPES
from common.cli.commands import shown_fields
from common.clock import utcnow
from common.refused import Refused
from common.resources import ADMIN, COMMAND, Argument, Done, Resource, verb
from common.text import pluralize
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import make_token, why_not


def asks_to_revoke(tokens: Sequence[ApiToken]) -> Sequence[str]:
    count = sum(token.revoked_at is None for token in tokens)
    return [f"{pluralize(count, 'token')} will no longer work. You can’t undo this."]


class ApiTokens(Resource[ApiToken]):
    noun = "token"
    plural = "api_tokens"
    list_help = "List API tokens, including revoked and expired ones, without their keys."
    empty = "There are no tokens yet. Create one: create_api_token shop --scope subscribers:write"

    def rows(self) -> "QuerySet[ApiToken]":
        return ApiToken.objects.select_related("made_by")

    def shown(self, row: ApiToken) -> Mapping[str, Any]:
        return {
            **shown_fields(row, "id name prefix"),
            "scopes": ", ".join(row.scopes),
            "good": not why_not(row, now=utcnow()),
            **shown_fields(row, "created_at last_used_at expires_at revoked_at"),
        }

    @verb("Create", command="create_api_token", on=(COMMAND,), detail=False)
    def create(
        self,
        *,
        name: Annotated[str, Argument("The program that uses it, such as shop.", is_first=True)],
        scopes: Annotated[
            Sequence[str],
            Argument(
                "A scope; may be given several times. Writing includes reading.",
                option="scope",
                values=tuple(TOKEN_SCOPES),
            ),
        ] = (),
        all_scopes: Annotated[bool, Argument("Allow everything that people can do.")] = False,
        days: Annotated[int | None, Argument("Default: the token is valid until it is revoked.")] = None,
        now: datetime,
    ) -> Mapping[str, Any]:
        """Create an API token. Its key is printed only once and not stored."""
        if days is not None and days < 1:
            # It would be valid until it is revoked.
            raise Refused("Give a whole number, 1 or more.", "days")
        expires_at = now + timedelta(days=days) if days else None
        token, key = make_token(
            name=name, scopes=SCOPES if all_scopes else scopes, now=now, expires_at=expires_at
        )
        return {**self.shown(token), "key": key}

    @verb(
        "Revoke",
        command="revoke_api_token",
        on=(COMMAND, ADMIN),
        fits=lambda row: row.revoked_at is None,
        asks=asks_to_revoke,
        is_harmful=True,
    )
    def revoke(self, token: ApiToken, *, now: datetime) -> Done:
        """Revoke an API token. This can’t be undone."""
        changed = bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now))
        words = "no longer works" if changed else "was revoked already"
        return Done(f"The token “{token}” {words}.", {"id": token.pk, "revoked": True, "changed": changed})


api_tokens = ApiTokens()
