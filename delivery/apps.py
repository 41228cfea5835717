from django.apps import AppConfig
from django.core.checks import register


class DeliveryConfig(AppConfig):
    name = "delivery"
    verbose_name = "Delivery"

    def ready(self) -> None:
        from anymail.signals import tracking

        from common import events, lookups
        from delivery.channels import register_all
        from delivery.channels.email.checks import check_email
        from delivery.panels import install
        from delivery.services.checking import refuse_wrong_sender, refuse_wrong_template
        from delivery.services.held_data import install as install_held_data
        from delivery.services.needed_addresses import needed
        from delivery.services.noting_events import note
        from delivery.services.webhook_events import on_tracking
        from delivery.views.showing import install as install_looks
        from subscriptions.services.defining import checks_of_later_apps
        from subscriptions.services.expiring import kept_by

        lookups.register()
        register_all()
        register(check_email)
        tracking.connect(on_tracking, dispatch_uid="delivery")
        events.listen(note)
        install()
        install_held_data()
        install_looks()
        checks_of_later_apps.extend((refuse_wrong_template, refuse_wrong_sender))
        kept_by.append(needed)
