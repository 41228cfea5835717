from django.apps import AppConfig


class FeedsConfig(AppConfig):
    name = "feeds"
    verbose_name = "Feeds"

    def ready(self) -> None:
        from common.cli.registry import add_commands

        add_commands(
            "feeds.management",
            feeds="list_feeds show_feed preview_feed find_feeds add_feed alter_feed decide_feed poll",
            opml="import_opml export_opml",
            items="list_items include_item",
        )
