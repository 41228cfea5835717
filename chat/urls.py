from django.urls import path

from chat import views

app_name = "chat"

urlpatterns = [
    path("discord/interactions/", views.interactions, name="interactions"),
    path("discord/events/", views.events, name="events"),
]
