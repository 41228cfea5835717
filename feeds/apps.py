from django.apps import AppConfig


class FeedsConfig(AppConfig):
    name = "feeds"
    verbose_name = "Feeds"

    def ready(self) -> None:
        from common.cli.registry import add_commands, add_resources

        add_commands(
            "feeds.management",
            feeds="preview_feed find_feeds add_feed alter_feed decide_feed include_item poll",
            opml="import_opml export_opml",
        )
        add_resources("feeds.resources")
