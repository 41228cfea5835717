from feedletter_site.celery import app as celery_app
from feedletter_site.refusal import tell_in_a_sentence

__all__ = ["celery_app"]

tell_in_a_sentence()
