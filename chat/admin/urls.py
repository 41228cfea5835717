from django.contrib import admin
from django.urls import path

from chat.admin.set_up import discord_set_up

urlpatterns = [path("", admin.site.admin_view(discord_set_up), name="discord_set_up")]
