from django.apps import AppConfig


class SubscriptionsConfig(AppConfig):
    name = "subscriptions"
    verbose_name = "Newsletters"

    def ready(self) -> None:
        from common.ports.figures import counters
        from common.ports.panels import install_later
        from common.ports.personal_data import sources
        from common.ports.registries import shown_by
        from subscriptions.newsletters.define import open_newsletters
        from subscriptions.privacy.personal_data import SOURCES
        from subscriptions.subscribers import counts

        counters[counts.KIND] = counts.count_readers
        counters[counts.LANGUAGES] = counts.count_languages
        install_later("subscriptions.panels")
        install_later("subscriptions.panels_sign_up")
        sources.extend(SOURCES)
        # Commands warn as well, and load no admin pages.
        shown_by.append(open_newsletters)
