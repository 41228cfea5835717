from datetime import timedelta
from typing import Any

from common.api.permissions import SCOPES
from common.cli.arguments import add_paging, argument, find, page, positive, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from feedletter_site.management.rows import token_row
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import make_token, revoke_tokens


class ListApiTokens(FeedletterCommand):
    help = "Lists API tokens, including revoked and expired ones, without their keys."
    empty = "There are no tokens yet. Create one: create_api_token shop --scope subscribers:write"
    arguments = (add_paging,)

    def run(self, **options: Any) -> Result:
        now = utcnow()
        rows = ApiToken.objects.select_related("made_by")
        return (token_row(row, now=now) for row in page(rows, options))


class CreateApiToken(FeedletterCommand):
    help = "Creates an API token. Its key is printed only once and not stored."
    option_names = {"name": "NAME", "scopes": "--scope"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="The program that uses it, such as shop."),
        argument(
            "--scope",
            action="append",
            choices=tuple(SCOPES),
            default=[],
            help="A scope; may be given several times. Writing includes reading.",
        ),
        argument("--all-scopes", action="store_true", help="Allow everything."),
        argument(
            "--days", type=positive, metavar="N", help="If left out, the token is valid until it is revoked."
        ),
    )

    def run(self, **options: Any) -> Result:
        now = utcnow()
        token, key = make_token(
            name=options["name"],
            scopes=SCOPES if options["all_scopes"] else options["scope"],
            now=now,
            expires_at=now + timedelta(days=options["days"]) if options["days"] else None,
        )
        return {**token_row(token, now=now), "key": key}


class RevokeApiToken(FeedletterCommand):
    help = "Revokes an API token. This can't be undone."
    arguments = (argument("id", type=whole, metavar="ID", help="The number that “list_api_tokens” shows."),)

    def run(self, **options: Any) -> Result:
        token = find(ApiToken.objects.all(), "token", "“list_api_tokens” lists them.", pk=options["id"])
        changed = bool(revoke_tokens(tokens=[token.pk], now=utcnow()))
        words = "no longer works" if changed else "was revoked already"
        return Printed(f"The token “{token}” {words}.", {"id": token.pk, "revoked": True, "changed": changed})
