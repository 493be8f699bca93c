-- Projects, their two environments and their keys -------------------------------------------------------------------------------

create table projects (
  id int generated always as identity primary key,
  name text not null,
  raw_data boolean not null default true,
  created_at timestamptz not null default clock_timestamp()
);

create table environments (
  id int generated always as identity primary key,
  project int not null references projects,
  kind text not null check (kind in ('production', 'sandbox')),
  -- The sandbox's test clock: how far its now is ahead of real time.
  clock_offset interval not null default '0',
  unique (project, kind)
);

-- now of an environment; volatile on purpose: two calls in one transaction may differ.
create function environment_now(environment int) returns timestamptz language sql volatile as
$$ select clock_timestamp() + clock_offset from environments where id = environment $$;

create table keys (
  id int generated always as identity primary key,
  project int not null references projects,
  kind text not null check (kind in ('secret', 'project', 'api')),
  hash bytea not null unique,
  -- AES-256-GCM under APP_SECRET: project settings show the keys again.
  sealed bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Set by a rotation: the old key works until then.
  expires_at timestamptz
);
create index keys_by_project on keys (project);

-- Users ---------------------------------------------------------------------------------------------------------------------------

-- The properties as the export shows them: keys in code point order (jsonb itself orders by length first).
create function sorted_properties(properties jsonb) returns text language sql immutable parallel safe as
$$ select '{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ',' order by key collate "C"), '') || '}' from jsonb_each(properties) $$;

create table users (
  environment int not null references environments,
  id text collate "C" not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- One column on the user, not a table: a user has at most one identity and an identity one user, by construction.
  identity_id text collate "C",
  properties jsonb not null default '{}',
  properties_sorted text not null generated always as (sorted_properties(properties)) stored,
  -- Last known values, as of the newest event seen (known_at).
  platform text,
  device_id text,
  device_model text,
  advertiser_id text,
  os_version text,
  locale text,
  country text,
  app_version text,
  sdk_version text,
  known_at timestamptz,
  -- First known values, as of the oldest event that had any (attributed_at).
  media_source text,
  campaign text,
  ad_set text,
  ad text,
  attributed_at timestamptz,
  primary key (environment, id)
) with (fillfactor = 80);
create unique index users_by_identity on users (environment, identity_id) where identity_id is not null;
create index users_by_creation on users (environment, created_at, id);

-- The log -------------------------------------------------------------------------------------------------------------------------

-- The next offset of each partition. All 64 rows are made with the environment: a row made on first use, inside the inserting
-- transaction, would be invisible to a window being cut at that moment, and its events would belong to no window.
create table log_positions (
  environment int not null references environments,
  partition smallint not null,
  next_offset bigint not null default 0,
  last_received_at timestamptz not null default '1970-01-01T00:00:00Z',
  primary key (environment, partition)
) with (fillfactor = 20);

create table events (
  environment int not null,
  partition smallint not null,
  log_offset bigint not null,
  id text collate "C" not null,
  event_id text collate "C" not null,
  name text not null,
  user_id text collate "C",
  happened_at timestamptz not null,
  received_at timestamptz not null,
  -- false: a backfill that starts nothing.
  triggers boolean not null default true,
  platform text,
  product_id text,
  old_product_id text,
  new_product_id text,
  subscription_group text,
  screen_id text,
  transaction_id text,
  original_transaction_id text,
  transaction_date timestamptz,
  transaction_expires_at timestamptz,
  grace_period_expires_at timestamptz,
  price numeric,
  currency text,
  proceeds numeric,
  price_usd numeric,
  proceeds_usd numeric,
  device_id text,
  device_model text,
  advertiser_id text,
  os_version text,
  locale text,
  country text,
  ip text,
  app_id text,
  app_name text,
  app_version text,
  sdk_version text,
  media_source text,
  campaign text,
  ad_set text,
  ad text,
  properties jsonb,
  -- (platform, transaction id) of the events that a store transaction may cause once only.
  transaction_key text collate "C",
  primary key (environment, partition, log_offset)
);
create unique index events_by_event_id on events (environment, event_id);
create unique index events_by_transaction on events (environment, transaction_key) where transaction_key is not null;
create index events_by_time on events (environment, happened_at, id) include (name, user_id);
create index events_by_receipt on events (environment, received_at, partition, log_offset);
create index events_by_user on events (environment, user_id, happened_at) where user_id is not null;
-- A list skips rows by index alone as long as the visibility map is fresh; the default waits for 20 % of the table to change.
alter table events set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- The first offset of a partition whose received_at is not before `edge`. received_at never falls within a partition, so this is a
-- binary search on the primary key; offsets freed by erased customers are stepped over.
create function offset_at(env int, part smallint, edge timestamptz) returns bigint language plpgsql stable as
$$
declare
  low bigint := 0;
  high bigint;
  middle bigint;
  found_offset bigint;
  found_at timestamptz;
begin
  select next_offset into high from log_positions where environment = env and partition = part;
  while low < high loop
    middle := (low + high) / 2;
    select log_offset, received_at into found_offset, found_at from events
      where environment = env and partition = part and log_offset >= middle and log_offset < high order by log_offset limit 1;
    if found_offset is null or found_at >= edge then
      high := middle;
    else
      low := found_offset + 1;
    end if;
  end loop;
  return low;
end
$$;

-- Promises ------------------------------------------------------------------------------------------------------------------------

-- One run of a workflow about one subject (an export, …).
create table runs (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  workflow text not null,
  version int not null,
  subject text not null,
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
  reason text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz
);
create index runs_by_subject on runs (environment, subject);
create index runs_by_end on runs (finished_at) where finished_at is not null;

create table steps (
  run bigint not null references runs on delete cascade,
  n int not null,
  name text not null,
  status text not null check (status in ('running', 'waiting', 'succeeded', 'failed')),
  started_at timestamptz not null,
  finished_at timestamptz,
  due_at timestamptz,
  result jsonb,
  attempts jsonb not null default '[]',
  primary key (run, n)
);

-- Whatever can be claimed, and nothing else about it: claims and records touch this narrow row only.
create table due (
  kind text not null,
  id bigint not null,
  environment int not null references environments,
  due_at timestamptz not null,
  -- Real time: a ring is out until then; a worker holds the row until then.
  batched_until timestamptz,
  lease_until timestamptz,
  fence int not null default 0,
  primary key (kind, id)
) with (fillfactor = 40);
create index due_by_time on due (kind, environment, due_at, id);

-- Exports -------------------------------------------------------------------------------------------------------------------------

create table exports (
  environment int not null references environments,
  id text collate "C" not null,
  status text not null default 'new' check (status in ('new', 'processing', 'done', 'failed')),
  type text not null,
  format text not null,
  compression text not null,
  platform text,
  segment_id text,
  from_timestamp timestamptz not null,
  to_timestamp timestamptz not null,
  -- The window as it was cut when the export was accepted.
  window_from timestamptz not null,
  window_to timestamptz not null,
  from_offsets bigint[] not null,
  to_offsets bigint[] not null,
  rows_written bigint not null default 0,
  bytes bigint,
  sha256 text,
  -- [{name, rows, bytes}]: the file is these parts one after the other.
  parts jsonb,
  error jsonb,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (environment, id)
);
create index exports_by_creation on exports (environment, created_at, id);
create unique index exports_by_id on exports (id);

-- Idempotency ---------------------------------------------------------------------------------------------------------------------

create table idempotent_answers (
  environment int not null references environments,
  operation text not null,
  key text collate "C" not null,
  request_hash bytea not null,
  status int not null,
  location text,
  body text,
  -- Real time: kept for 24 h from the first use.
  created_at timestamptz not null default clock_timestamp(),
  primary key (environment, operation, key)
);
create index idempotent_answers_by_age on idempotent_answers (created_at);
