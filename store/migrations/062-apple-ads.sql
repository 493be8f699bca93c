-- Apple Ads: what campaigns cost, as Apple reports it, and the changes of campaigns that were sent to Apple. All times are real.

-- One row for each integration `searchads` that was read at least once.
create table apple_ads_connections (
  integration int primary key references integrations (number) on delete cascade,
  -- [{id, name, currency, time_zone, roles}]; null: Apple has not named them yet.
  orgs jsonb,
  checked_at timestamptz,
  synced_at timestamptz,
  -- Since the last success: why reading failed last. kind: credentials, permission, unavailable.
  error_kind text,
  error text,
  failed_at timestamptz
);

-- The UTC days that were read as a whole. A day without spend has no row of spend, so without this table it would look like an unknown one.
create table apple_ads_days (
  integration int not null references integrations (number) on delete cascade,
  date date not null,
  read_at timestamptz not null,
  primary key (integration, date)
);

-- level: 0 campaign, 1 ad group, 2 keyword. `id` is Apple's. Rows stay when Apple has removed the entity.
create table apple_ads_entities (
  integration int not null references integrations (number) on delete cascade,
  level smallint not null check (level in (0, 1, 2)),
  id text collate "C" not null,
  campaign_id text collate "C" not null,
  ad_group_id text collate "C",
  org_id text collate "C" not null,
  name text not null,
  match_type text,
  status text,
  delivery text,
  primary key (integration, level, id)
);

-- Each level has its own rows, as Apple reports it: the spend of Search Match belongs to an ad group and to no keyword.
create table apple_ads_spend (
  integration int not null references integrations (number) on delete cascade,
  level smallint not null,
  campaign_id text collate "C" not null,
  date date not null,
  country text collate "C" not null,
  id text collate "C" not null,
  currency text not null,
  spend numeric not null,
  impressions bigint not null,
  taps bigint not null,
  installs bigint not null,
  primary key (integration, level, campaign_id, date, id, country)
);
create index apple_ads_spend_by_date on apple_ads_spend (integration, level, date);

-- Rolling limits: the real times of the last uses, oldest first. The row is locked, so that no two uses take the same place.
create table apple_ads_uses (
  project int not null references projects,
  kind text not null,
  times timestamptz[] not null default '{}',
  primary key (project, kind)
);

-- Changes that were asked for, by idempotency key. A row is written before anything is sent to Apple.
create table apple_ads_updates (
  environment int not null references environments,
  key text collate "C" not null,
  request_hash bytea not null,
  entity_type text not null,
  entity_id text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Until then a process may be at work on it.
  claimed_until timestamptz,
  -- What was sent; null: nothing was.
  sent_at timestamptz,
  before text,
  -- null: the outcome is unknown, or nothing was sent.
  settled_at timestamptz,
  answer jsonb,
  primary key (environment, key)
);
create index apple_ads_updates_by_age on apple_ads_updates (created_at);
create index apple_ads_updates_of_entity on apple_ads_updates (environment, entity_type, entity_id);

-- Integrations that exist already are read as new ones are. The runs are on real time.
with configured as (
  select i.number, production.id as environment
  from integrations i join environments e on e.id = i.environment
    join environments production on production.project = e.project and production.kind = 'production'
  where i.slug = 'searchads' and i.deleted_at is null and i.configured_at is not null
), made as (
  insert into runs (environment, workflow, version, subject, created_at)
  select environment, 'apple_ads', 1, number::text, clock_timestamp() from configured returning id, job_kind, environment
)
insert into due (kind, id, environment, due_at) select job_kind, id, environment, clock_timestamp() from made;
