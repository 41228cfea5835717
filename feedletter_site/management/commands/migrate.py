"""Django's migrate, which first looks whether this database can be upgraded at all."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, connections

from common.cli.commands import database_sentence, is_about_the_database
from feedletter_site.schema import refuse_too_old


class Command(migrate.Command):
    """Upgrades the database."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        # Caught here and not in `handle`, because the checks before it ask the database, too.
        try:
            return super().execute(*args, **options)
        except DatabaseError as error:
            if not is_about_the_database(error):
                raise
            raise CommandError(database_sentence(error)) from error

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_too_old(connections[options["database"]])
        super().handle(*args, **options)
