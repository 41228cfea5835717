"""Django's migrate with a check whether this release can use the database."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, connections
from django.db.migrations.exceptions import MigrationSchemaMissing

from common.cli.commands import database_sentence, is_about_the_database
from common.postgresql.turns import alone
from feedletter_site.checks import unfit


class Command(migrate.Command):
    """Upgrades the database."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        # Not in `handle`, because checks before it use the database, too.
        try:
            return super().execute(*args, **options)
        except MigrationSchemaMissing as error:
            raise CommandError(database_sentence(error.__cause__ or error)) from error
        except DatabaseError as error:
            if not is_about_the_database(error):
                raise
            raise CommandError(database_sentence(error)) from error

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with alone(
            connection, waiting=lambda: self.stderr.write("Another “migrate” is running. Waiting for it.")
        ):
            if reason := unfit(connection):
                raise CommandError(reason)
            super().handle(*args, **options)
