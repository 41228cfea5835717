from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SubscriptionsConfig(AppConfig):
    name = "subscriptions"
    verbose_name = "Newsletters"

    def ready(self) -> None:
        from common.cli.registry import add_commands, add_resources
        from common.ports.panels import install_later
        from common.ports.personal_data import sources
        from common.ports.registries import counters, later, shown_by
        from subscriptions.privacy.personal_data import SOURCES
        from subscriptions.subscribers import counts
        from subscriptions.subscribers.counts import ensure_index

        counters[counts.KIND] = counts.count_readers
        counters[counts.LANGUAGES] = counts.count_languages
        install_later("subscriptions.panels")
        sources.extend(SOURCES)
        # Commands warn as well, and load no admin pages.
        shown_by.append(later("subscriptions.newsletters.define", "open_newsletters"))
        post_migrate.connect(ensure_index, sender=self)

        add_commands(
            "subscriptions.management",
            newsletters="define_subscribable alter_subscribable set_extra_params assign set_site",
            post_rules="add_rule try_rules",
            subscribers="subscribe confirm_subscription unsubscribe export_subscribers",
            lists="import_subscribers undo_import import_suppressions",
        )
        add_resources("subscriptions.resources.newsletters", "subscriptions.resources.subscribers")
