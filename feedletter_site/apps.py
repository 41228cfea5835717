from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "feedletter_site"
    verbose_name = "Site"
