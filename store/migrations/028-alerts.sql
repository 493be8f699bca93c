-- Where a project is told what is wrong.
create table notification_channels (
  environment int not null references environments,
  id text collate "C" not null,
  title text not null,
  type text not null check (type in ('email', 'slack', 'webhook')),
  -- null: all kinds of alerts.
  kinds text[],
  settings jsonb not null default '{}',
  -- name -> AES-256-GCM under APP_SECRET, in base64
  secrets jsonb not null default '{}',
  -- The secret before the last change, sealed. It is valid for 24 h of real time.
  former_signing_secret text,
  signing_secret_changed_at timestamptz,
  -- Real times of the last ten tests: the limit is ten a minute.
  tested_at timestamptz[] not null default '{}',
  last_sent_at timestamptz,
  last_error_at timestamptz,
  last_error_message text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index notification_channels_by_creation on notification_channels (environment, created_at, id);

-- Something that is wrong, or was. `holder` and `about`: with what, by names that the kind gives a meaning.
create table alerts (
  environment int not null references environments,
  id text collate "C" not null,
  kind text not null,
  holder text collate "C" not null,
  about text not null,
  -- The name of the holder at that time; null where it has none.
  title text,
  count int not null,
  detail text,
  -- When it happened last; a state happens once.
  last_at timestamptz not null,
  -- When the channels were last told that it is so, and what `last_at` was then. null: nobody was told yet.
  told_at timestamptz,
  told_last_at timestamptz,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (environment, id)
);
create unique index alerts_open on alerts (environment, kind, holder, about) where ended_at is null;
create index alerts_told on alerts (environment, kind, holder, about, told_at) where told_at is not null;
create index alerts_by_creation on alerts (environment, created_at, id);
create index alerts_ended on alerts (environment, ended_at) where ended_at is not null;

-- What a channel is told. A run of the workflow 'alert-message', subject = number.
create table alert_messages (
  number bigint generated always as identity primary key,
  environment int not null,
  alert_id text collate "C" not null,
  channel_id text collate "C" not null,
  phase text not null check (phase in ('began', 'continues', 'ended')),
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts int not null default 0,
  error text,
  created_at timestamptz not null,
  finished_at timestamptz,
  foreign key (environment, alert_id) references alerts on delete cascade,
  foreign key (environment, channel_id) references notification_channels on delete cascade
);
create index alert_messages_of_alert on alert_messages (environment, alert_id, number);
create index alert_messages_of_channel on alert_messages (environment, channel_id);

-- What the alerts look for.
create index deliveries_given_up on deliveries (environment, integration, ended_at) where status = 'failed' and reason in ('exhausted', 'expired');
alter table exports add column failed_at timestamptz;
create index exports_failed on exports (environment, failed_at) where failed_at is not null and report_run is null;
