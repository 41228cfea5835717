"""The addresses of those who read here."""

from django.urls import path

from reader.microsub.view import microsub

app_name = "reader"

# A POST is never redirected: both spellings answer.
urlpatterns = [
    path("microsub/<slug:slug>", microsub, name="microsub"),
    path("microsub/<slug:slug>/", microsub, name="microsub_slash"),
]
