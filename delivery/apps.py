from django.apps import AppConfig
from django.core.checks import register


class DeliveryConfig(AppConfig):
    name = "delivery"
    verbose_name = "Delivery"

    def ready(self) -> None:
        from delivery.channels import register_all
        from delivery.channels.email.checks import check_email
        from delivery.panels import install
        from delivery.services.templates import refuse_wrong_template
        from subscriptions.services.defining import template_checks

        register_all()
        register(check_email)
        install()
        template_checks.append(refuse_wrong_template)
