import common.secrets
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ('feeds', '0001_initial'),
        ('subscriptions', '0001_initial'),
    ]
    operations = [
        migrations.CreateModel(
            name='BotSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('only_allowed', models.BooleanField(default=False, help_text="Others can add the bot, but it only works after you approve their server.", verbose_name="only servers that you approve")),
                ('feeds_per_guild', models.PositiveIntegerField(default=20, verbose_name="feeds per server")),
                ('feeds_in_all', models.PositiveIntegerField(default=5000, verbose_name="feeds in all servers")),
                ('posts_a_day', models.PositiveIntegerField(default=100, help_text='Approximate. Further posts wait until midnight.', verbose_name='posts per feed and day')),
                ('shortest_interval', models.PositiveIntegerField(db_default=10, default=10, help_text="In minutes. People can’t choose a shorter time for a feed.", validators=[django.core.validators.MinValueValidator(1)], verbose_name='shortest interval')),
                ('denied_hosts', models.TextField(blank=True, default='', help_text="One per line, such as ads.example. Subdomains are blocked too.", verbose_name="blocked hosts")),
            ],
            options={
                'verbose_name': 'Discord bot', 'verbose_name_plural': 'Discord bot',
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Guild',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, default='', max_length=100)),
                ('locale', models.CharField(blank=True, default='', max_length=10)),
                ('language', models.CharField(blank=True, default='', max_length=10)),
                ('zone', models.CharField(default='UTC', max_length=64)),
                ('log_channel', models.BigIntegerField(blank=True, null=True)),
                ('feed_limit', models.PositiveIntegerField(blank=True, help_text='Leave empty for the limit of all servers.', null=True, verbose_name='maximum number of feeds')),
                ('is_allowed', models.BooleanField(default=False, verbose_name='allowed')),
                ('banned_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='banned')),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='added')),
                ('removed_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='left')),
                ('why', models.TextField(blank=True, default='', editable=False)),
                ('next_number', models.PositiveIntegerField(default=1, editable=False)),
                ('asked_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'server',
                'ordering': ('name', 'pk'),
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='BotFeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('feed', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='bot_feed', to='feeds.feed')),
                ('is_operators', models.BooleanField(default=False)),
                ('unused_since', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'feed of servers', 'verbose_name_plural': 'feeds of servers',
                'ordering': ('pk',),
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='GuildFeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guild_feeds', to='chat.guild')),
                ('number', models.PositiveIntegerField()),
                ('subscribable', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='guild_feed', to='subscriptions.subscribable')),
                ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guild_feeds', to='feeds.feed')),
                ('channel_id', models.BigIntegerField()),
                ('added_by', models.BigIntegerField()),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('removed_at', models.DateTimeField(null=True)),
                ('interaction_id', models.BigIntegerField()),
                ('rests_until', models.DateTimeField(null=True)),
                ('first_posts', models.PositiveSmallIntegerField(default=0)),
                ('every_minutes', models.PositiveIntegerField(null=True)),
            ],
            options={
                'verbose_name': 'feed of a server', 'verbose_name_plural': 'feeds of servers',
                'ordering': ('guild', 'number'),
                'constraints': [models.UniqueConstraint(fields=('guild', 'number'), name='guild_feed_number'), models.UniqueConstraint(condition=models.Q(('removed_at', None)), fields=('guild', 'feed', 'channel_id'), name='guild_feed_once')],
                'indexes': [],
            },
        ),
        migrations.CreateModel(
            name='ServerAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='chat.guild')),
                ('guild_feed', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='chat.guildfeed')),
                ('trouble', models.CharField(max_length=10)),
                ('key', models.CharField(max_length=100, unique=True)),
                ('context', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('posted', 'posted'), ('failed', 'could not be posted')], default='waiting', max_length=7)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('next_try_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_error', models.TextField(blank=True, default='')),
                ('remote_id', models.CharField(blank=True, default='', max_length=50)),
                ('decision', models.CharField(blank=True, choices=[('newest', 'send the newest three'), ('all', 'send all'), ('skip', 'skip')], default='', max_length=6)),
                ('decided_at', models.DateTimeField(null=True)),
                ('applied_at', models.DateTimeField(null=True)),
                ('lease_token', models.UUIDField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'notice to a server', 'verbose_name_plural': 'notices to servers',
                'ordering': ('-created_at',),
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_try_at'], name='server_alert_due'), models.Index(condition=models.Q(('applied_at', None), ('trouble', 'held')), fields=['created_at'], name='server_alert_open')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Interaction',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('guild_id', models.BigIntegerField()),
                ('user_id', models.BigIntegerField()),
                ('act', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('done', 'done'), ('waiting', 'waiting')], default='done', max_length=7)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('request', models.JSONField(default=dict)),
                ('found', models.JSONField(default=dict)),
                ('answer', models.JSONField(null=True)),
                ('secrets', common.secrets.SecretsField(blank=True, default=dict, editable=False)),
                ('next_try_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_error', models.TextField(blank=True, default='')),
                ('lease_token', models.UUIDField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('created_at', 'pk'),
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_try_at'], name='interaction_due'), models.Index(fields=['created_at'], name='interaction_age')],
                'constraints': [],
            },
        ),
    ]
