"""The tables of this app for a new database, as the migrations to 0009 make them: one step in place of 9."""

import common.secrets
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from common.db.squashed import SquashedMigration


class Migration(SquashedMigration):

    replaces = [
        ('reader', '0001_initial'),
        ('reader', '0002_stars_and_markings'),
        ('reader', '0003_a_site_of_ones_own'),
        ('reader', '0004_clients_by_indieauth'),
        ('reader', '0005_mentions_and_writing'),
        ('reader', '0006_invitations_and_leaving'),
        ('reader', '0007_app_passwords_and_when_posts_came'),
        ('reader', '0008_follow_names_and_lists'),
        ('reader', '0009_channel_layouts_and_filters'),
    ]

    initial = True

    dependencies = [
        ('feeds', '0009_read_by_people'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hash', models.CharField(max_length=64)),
                ('jf2', models.JSONField(null=True)),
                ('text', models.TextField(default='')),
                ('link_hash', models.CharField(default='', max_length=32)),
                ('author_key', models.CharField(default='', max_length=32)),
                ('kind', models.CharField(max_length=10)),
                ('published', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField()),
                ('sort_at', models.DateTimeField(null=True)),
                ('starts_read', models.BooleanField(default=False)),
                ('withdrawn_at', models.DateTimeField(null=True)),
                ('placed_at', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('feed', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reader_entries', to='feeds.feed')),
                ('item', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reader_entry', to='feeds.item')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at', 'id'], name='entry_due'), models.Index(condition=models.Q(('link_hash', ''), _negated=True), fields=['link_hash'], name='entry_link'), models.Index(condition=models.Q(('author_key', ''), _negated=True), fields=['author_key'], name='entry_author'), models.Index(condition=models.Q(('jf2__isnull', False)), fields=['seen_at'], name='entry_whole')],
            },
        ),
        migrations.CreateModel(
            name='Reader',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=40, unique=True)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='reader', to=settings.AUTH_USER_MODEL)),
                ('endpoints', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ('me', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('micropub', common.secrets.SecretsField(blank=True, db_default='', default=dict, editable=False)),
                ('verified_at', models.DateTimeField(blank=True, null=True)),
                ('last_seen_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='last seen')),
                ('leaving_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='leaving since')),
                ('max_feeds', models.PositiveIntegerField(blank=True, help_text='How many feeds they may follow. Empty: as many as READER_MAX_FEEDS says.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='feeds at most')),
            ],
            options={
                'ordering': ('slug',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('me', ''), _negated=True), fields=('me',), name='reader_me')],
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(max_length=24)),
                ('name', models.CharField(max_length=100)),
                ('position', models.IntegerField(default=0)),
                ('is_notifications', models.BooleanField(db_default=False, default=False)),
                ('unread_mode', models.CharField(choices=[('count', 'how many posts are unread'), ('flag', 'whether a post is unread'), ('off', 'nothing')], default='count', max_length=5)),
                ('keep_days', models.PositiveIntegerField(blank=True, null=True)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='reader.reader')),
                ('is_published', models.BooleanField(db_default=False, default=False)),
                ('ask_below', models.BigIntegerField(null=True)),
                ('filters', models.JSONField(null=True)),
                ('filters_trouble', models.TextField(db_default='', default='')),
                ('in_deck', models.BooleanField(db_default=True, default=True)),
                ('layout', models.CharField(choices=[('list', 'one below the other'), ('cards', 'cards'), ('gallery', 'pictures')], db_default='list', default='list', max_length=7)),
            ],
            options={
                'ordering': ('reader', '-is_notifications', 'position', 'pk'),
                'indexes': [models.Index(condition=models.Q(('ask_below__isnull', False)), fields=['id'], name='channel_to_ask')],
                'constraints': [models.UniqueConstraint(fields=('reader', 'uid'), name='channel_uid'), models.UniqueConstraint(fields=('reader', 'name'), name='channel_name')],
            },
        ),
        migrations.CreateModel(
            name='Place',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('hidden', models.PositiveSmallIntegerField(choices=[(0, 'Seen'), (1, 'Muted'), (2, 'Removed'), (3, 'Duplicate'), (4, 'Withdrawn'), (5, 'Filtered')], default=0)),
                ('was_unread', models.BooleanField(default=False)),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='places', to='reader.channel')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='reader.entry')),
                ('feed', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='places', to='feeds.feed')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='places', to='reader.reader')),
                ('came_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('hidden', 0)), fields=['channel', '-at', '-id'], name='place_in_channel'), models.Index(condition=models.Q(('hidden', 0)), fields=['channel', 'feed', '-at', '-id'], name='place_of_feed'), models.Index(condition=models.Q(('hidden', 0)), fields=['reader', '-at', '-id'], name='place_of_reader'), models.Index(condition=models.Q(('hidden', 0)), fields=['reader', '-came_at', '-id'], name='place_as_it_came')],
                'constraints': [models.UniqueConstraint(fields=('channel', 'entry'), name='place_once')],
            },
        ),
        migrations.CreateModel(
            name='Follow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='follows', to='reader.channel')),
                ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='follows', to='feeds.feed')),
                ('name', models.CharField(blank=True, db_default='', default='', max_length=200)),
            ],
            options={
                'ordering': ('pk',),
                'constraints': [models.UniqueConstraint(fields=('channel', 'feed'), name='follow_once')],
            },
        ),
        migrations.CreateModel(
            name='Unread',
            fields=[
                ('place', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='unread', serialize=False, to='reader.place')),
                ('at', models.DateTimeField()),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reader.channel')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reader.reader')),
            ],
            options={
                'indexes': [models.Index(fields=['channel', '-at', '-place'], name='unread_in_channel'), models.Index(fields=['reader', '-at', '-place'], name='unread_of_reader')],
            },
        ),
        migrations.CreateModel(
            name='Mute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_block', models.BooleanField(default=False)),
                ('key', models.CharField(max_length=32)),
                ('url', models.TextField()),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('channel', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mutes', to='reader.channel')),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mutes', to='reader.reader')),
            ],
            options={
                'ordering': ('pk',),
                'indexes': [models.Index(fields=['key'], name='mute_author')],
                'constraints': [models.UniqueConstraint(fields=('channel', 'is_block', 'key'), name='mute_once'), models.UniqueConstraint(condition=models.Q(('channel', None)), fields=('reader', 'is_block', 'key'), name='mute_once_in_all')],
            },
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(help_text='What uses it.', max_length=200)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('source_as_object', models.BooleanField(db_default=False, default=False)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='last used')),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='reader.reader')),
                ('client_id', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('refresh_digest', models.CharField(db_default='', default='', editable=False, max_length=64)),
                ('spent_digest', models.CharField(db_default='', default='', editable=False, max_length=64)),
            ],
            options={
                'ordering': ('-made_at', '-pk'),
                'indexes': [models.Index(condition=models.Q(('spent_digest', ''), _negated=True), fields=['spent_digest'], name='token_spent')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('refresh_digest', ''), _negated=True), fields=('refresh_digest',), name='token_refresh')],
            },
        ),
        migrations.CreateModel(
            name='Marking',
            fields=[
                ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='marking', serialize=False, to='reader.reader')),
                ('name', models.CharField(max_length=16)),
                ('places', models.BinaryField()),
                ('count', models.PositiveIntegerField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Star',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stars', to='reader.entry')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='stars', to='reader.reader')),
            ],
            options={
                'indexes': [models.Index(fields=['reader', '-at', '-id'], name='star_of_reader')],
                'constraints': [models.UniqueConstraint(fields=('reader', 'entry'), name='star_once')],
            },
        ),
        migrations.CreateModel(
            name='Code',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('client', models.CharField(max_length=200)),
                ('client_id', models.CharField(max_length=500)),
                ('redirect_uri', models.TextField()),
                ('challenge', models.CharField(max_length=64)),
                ('scopes', models.JSONField(default=list)),
                ('made_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='codes', to='reader.reader')),
                ('token', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='code', to='reader.token')),
            ],
            options={
                'indexes': [models.Index(fields=['made_at'], name='code_made')],
            },
        ),
        migrations.CreateModel(
            name='Composition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=80)),
                ('said', models.JSONField()),
                ('state', models.CharField(choices=[('kept', 'kept'), ('waiting', 'waiting'), ('sending', 'sending'), ('unsure', 'unsure'), ('posted', 'posted'), ('refused', 'refused')], default='kept', max_length=7)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('due_at', models.DateTimeField(null=True)),
                ('asked_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('location', models.TextField(default='')),
                ('problem', models.TextField(default='')),
                ('lease_token', models.UUIDField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('entry', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='compositions', to='reader.entry')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='compositions', to='reader.reader')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='composition_due'), models.Index(fields=['reader', '-made_at', '-id'], name='composition_newest')],
                'constraints': [models.UniqueConstraint(fields=('reader', 'key'), name='composition_once')],
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.TextField()),
                ('target', models.TextField()),
                ('pair', models.CharField(max_length=64)),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('problem', models.TextField(default='')),
                ('lease_token', models.UUIDField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('entry', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='mention', to='reader.entry')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='reader.reader')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='mention_due'), models.Index(condition=models.Q(('entry', None)), fields=['checked_at'], name='mention_refused')],
                'constraints': [models.UniqueConstraint(fields=('reader', 'pair'), name='mention_once')],
            },
        ),
        migrations.CreateModel(
            name='Photo',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=100)),
                ('media_type', models.CharField(max_length=20)),
                ('alt', models.CharField(blank=True, default='', max_length=2000)),
                ('data', models.BinaryField(default=b'')),
                ('url', models.TextField(default='')),
                ('composition', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='photos', to='reader.composition')),
            ],
            options={
                'ordering': ('position', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Such as ada: the name that is offered to them.', max_length=40, verbose_name='for')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('max_feeds', models.PositiveIntegerField(blank=True, help_text='How many feeds they may follow. Empty: as many as READER_MAX_FEEDS says.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='feeds at most')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='used')),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('reader', models.OneToOneField(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='invitation', to='reader.reader')),
            ],
            options={
                'ordering': ('-made_at', '-pk'),
            },
        ),
        migrations.CreateModel(
            name='AppPassword',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app', models.CharField(help_text='What uses it.', max_length=100)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='last used')),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
                ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='app_passwords', to='reader.reader')),
            ],
            options={
                'ordering': ('-made_at', '-pk'),
                'constraints': [models.UniqueConstraint(fields=('reader', 'digest'), name='app_password_digest')],
            },
        ),
        migrations.CreateModel(
            name='FollowList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_broken', models.BooleanField(default=False)),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(null=True)),
                ('lease_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='follow_list', to='reader.reader')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at', None)), fields=['id'], name='follow_list_open')],
            },
        ),
        migrations.CreateModel(
            name='FollowLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('url', models.TextField()),
                ('name', models.CharField(max_length=200)),
                ('channel', models.CharField(max_length=100)),
                ('outcome', models.CharField(choices=[('waiting', 'waits'), ('followed', 'followed'), ('known', 'followed already'), ('refused', 'refused')], default='waiting', max_length=8)),
                ('reason', models.TextField(default='')),
                ('follow_list', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='reader.followlist')),
            ],
            options={
                'ordering': ('pk',),
                'indexes': [models.Index(fields=['follow_list', 'outcome', 'id'], name='follow_line_outcome')],
            },
        ),
    ]
