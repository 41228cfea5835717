from django.apps import AppConfig
from django.core.checks import register


class DeliveryConfig(AppConfig):
    name = "delivery"
    verbose_name = "Delivery"

    def ready(self) -> None:
        from anymail.signals import tracking

        from common import lookups
        from delivery.channels import register_all
        from delivery.channels.email.checks import check_email
        from delivery.panels import install
        from delivery.services.checking import refuse_wrong_sender, refuse_wrong_template
        from delivery.services.webhook_events import on_tracking
        from subscriptions.services.defining import checks_of_later_apps

        lookups.register()
        register_all()
        register(check_email)
        tracking.connect(on_tracking, dispatch_uid="delivery")
        install()
        checks_of_later_apps.extend((refuse_wrong_template, refuse_wrong_sender))
