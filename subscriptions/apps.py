from django.apps import AppConfig


class SubscriptionsConfig(AppConfig):
    name = "subscriptions"
    verbose_name = "Newsletters"

    def ready(self) -> None:
        from subscriptions import panels_sign_up
        from subscriptions.panels import install
        from subscriptions.services.held_data import install as install_held_data

        install()
        panels_sign_up.install()
        install_held_data()
