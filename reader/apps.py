from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = "Reading"

    @property
    def is_on(self) -> bool:
        return bool(settings.READER != "off")

    def ready(self) -> None:
        from common.cli.registry import add_commands, add_resources
        from common.ports import registries, ways
        from common.ports.registries import later
        from reader.entries.search_index import ensure_index
        from reader.entries.take import copy_posts, take_page
        from reader.micropub.compositions import doubt_unsent

        # Rows stay while the app is off, so restores and migrations include them.
        registries.holds.append(doubt_unsent)
        post_migrate.connect(ensure_index, sender=self)
        # While the app is off, it is empty.
        registries.own_documents.append(later("reader.people.letters", "own_document"))
        if self.is_on:
            registries.audiences.append(copy_posts)
            registries.own_documents.append(later("reader.people.picks", "own_document"))
            registries.own_documents.append(later("reader.inbox.take", "own_document"))
            registries.page_takers.append(take_page)
            registries.mail_takers.append(later("reader.inbox.take", "take_mail"))
            registries.mail_recipients.append(later("reader.inbox.take", "knows_recipient"))
            ways.sources.append(later("reader.pages.feeds", "reader_way"))
            add_commands(
                "reader.management",
                readers="add_reader app_password reader_token",
                follows=(
                    "list_follows follow unfollow place alter_channel list_entries "
                    "import_follows export_follows"
                ),
            )
            add_resources("reader.resources")
