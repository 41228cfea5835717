from django.apps import AppConfig


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = "Reading"

    def ready(self) -> None:
        from common.ports.restores import hold_by
        from feeds.polling.audience import join_audience
        from reader.entries.take import Readers
        from reader.micropub.compositions import doubt_unsent

        join_audience(Readers())
        hold_by(doubt_unsent)
