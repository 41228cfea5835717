from django.urls import path

from feeds.views.websub import websub

app_name = "feeds"

urlpatterns = [path("websub/<str:token>/", websub, name="websub")]
