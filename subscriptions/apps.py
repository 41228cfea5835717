from django.apps import AppConfig


class SubscriptionsConfig(AppConfig):
    name = "subscriptions"
    verbose_name = "Newsletters"

    def ready(self) -> None:
        from subscriptions.panels import install

        install()
