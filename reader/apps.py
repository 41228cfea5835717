from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = "Reading"

    def ready(self) -> None:
        from common.ports.registries import audiences, holds
        from reader.entries.search_index import ensure_index
        from reader.entries.take import take
        from reader.micropub.compositions import doubt_unsent

        audiences.append(take)
        holds.append(doubt_unsent)
        post_migrate.connect(ensure_index, sender=self)
