from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = "Reading"

    def ready(self) -> None:
        from common.cli.registry import add_commands
        from common.ports.restores import hold_by
        from feeds.polling.audience import join_audience
        from reader.entries.search_index import ensure_index
        from reader.entries.take import Readers
        from reader.micropub.compositions import doubt_unsent

        join_audience(Readers())
        hold_by(doubt_unsent)
        post_migrate.connect(ensure_index, sender=self)

        add_commands(
            "reader.management",
            readers=(
                "list_readers add_reader alter_reader drop_reader list_invitations "
                "revoke_invitation app_password reader_token"
            ),
            follows=(
                "list_follows follow unfollow place alter_channel list_entries import_follows export_follows"
            ),
        )
