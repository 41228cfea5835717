from django.apps import AppConfig


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = "Reading"

    def ready(self) -> None:
        from feeds.polling.audience import join_audience
        from reader.entries.take import Readers

        join_audience(Readers())
