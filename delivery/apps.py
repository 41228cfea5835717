from django.apps import AppConfig
from django.core.checks import register


class DeliveryConfig(AppConfig):
    name = "delivery"
    verbose_name = "Delivery"

    def ready(self) -> None:
        from anymail.signals import tracking

        from channels import register_all
        from common.checks import OWN_CHECKS
        from common.db import lookups
        from common.ports.events import happened
        from common.ports.figures import add_figures
        from common.ports.panels import install_later
        from common.ports.site_mail import install_site_mail
        from delivery.bounces import list_growth
        from delivery.bounces.esp_events import on_tracking
        from delivery.bridges.corrections import refuse_changed_digests
        from delivery.checks import check_email
        from delivery.customisation import refuse_wrong_sender, refuse_wrong_template
        from delivery.issues import progress
        from delivery.letters.site_mail import SiteMailByLane
        from delivery.privacy.personal_data import install as install_held_data
        from delivery.privacy.personal_data import needed
        from delivery.views.preview import install as install_looks
        from delivery.webhooks.outbox import enqueue
        from subscriptions.newsletters.define import checks_of_later_apps
        from subscriptions.subscribers.expire import kept_by

        lookups.register()
        register_all()
        register(check_email, OWN_CHECKS)
        tracking.connect(on_tracking, dispatch_uid="delivery")
        happened.connect(enqueue, dispatch_uid="webhooks")
        install_later("delivery.panels")
        add_figures(list_growth.GROWTH, list_growth.count_growth)
        add_figures(progress.ISSUE_FIGURE, progress.count_large_issues)
        install_held_data()
        install_looks()
        checks_of_later_apps.extend((refuse_wrong_template, refuse_wrong_sender, refuse_changed_digests))
        kept_by.append(needed)
        install_site_mail(SiteMailByLane())
