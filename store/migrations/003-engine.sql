-- Promises ------------------------------------------------------------------------------------------------------------------------

-- priority: 0 = as it happens, 1 = what was asked for in bulk (replays); smaller first. destination: number of the integration that the
-- effect goes to, so that one that hangs does not take all slots.
alter table due add column priority smallint not null default 0, add column destination int;
drop index due_by_time;
create index due_by_time on due (kind, priority, environment, coalesce(destination, 0), due_at, id);
-- Environments stay; looking each promise's up once more took half of the time of making a run (50 ms of 113 for 1,000).
alter table due drop constraint due_environment_fkey;
create index due_by_environment on due (environment, due_at, kind, id);

-- How far each consumer of the log has come. Rows are made for all partitions at once, when the environment's first automation or
-- integration needs them; `consumed` spares everybody else the notice.
create table log_consumers (
  consumer text not null check (consumer in ('automations', 'integrations')),
  environment int not null references environments,
  partition smallint not null,
  next_offset bigint not null,
  primary key (consumer, environment, partition)
) with (fillfactor = 20);
alter table environments add column consumed boolean not null default false;

-- Events that a consumer could not handle: kept here, counted, replayable; the partition goes on.
create table set_aside_events (
  consumer text not null,
  environment int not null references environments,
  partition smallint not null,
  log_offset bigint not null,
  event_id text collate "C" not null,
  error text not null,
  set_aside_at timestamptz not null default clock_timestamp(),
  replayed_at timestamptz,
  primary key (consumer, environment, partition, log_offset)
);

-- Integrations --------------------------------------------------------------------------------------------------------------------

create table integrations (
  environment int not null references environments,
  id text collate "C" not null,
  number int generated always as identity unique,
  slug text not null,
  title text not null,
  target_platform text not null,
  active smallint not null default 0 check (active in (0, 1, 2)),
  -- Since when open deliveries are held; null while active.
  held_since timestamptz,
  -- In error: whether the oldest open delivery is tried every five minutes (not after a 410), and the one that is being tried.
  is_probed boolean not null default false,
  probing bigint,
  -- Since the last activation: open deliveries up to this number are due again; the rest follows (kind 'integration-release').
  released_to bigint,
  -- Log positions at the first activation, per partition; null before.
  from_offsets bigint[],
  settings jsonb not null default '{}',
  -- name -> AES-256-GCM under APP_SECRET, in base64
  secrets jsonb not null default '{}',
  -- The secret before the last change, sealed, good for 24 h of real time.
  former_signing_secret text,
  signing_secret_changed_at timestamptz,
  -- Real times of the last ten tests, for ten a minute.
  tested_at timestamptz[] not null default '{}',
  -- null = the whole catalogue, no custom events.
  events jsonb,
  event_mapping jsonb not null default '{}',
  revenue text not null default 'price',
  configured_at timestamptz,
  last_delivery_at timestamptz,
  last_error_at timestamptz,
  last_error_message text,
  -- Failed attempts since the last success; `rejected` does not count towards the error state, but here.
  delivery_error_count int not null default 0,
  failures_in_row int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (environment, id)
);
create index integrations_by_creation on integrations (environment, created_at, id) where deleted_at is null;

-- Of the open deliveries of one integration and user (source event) one alone has a `due` row (kind 'delivery', id = number): the first
-- in the log; each that ends promises the next. Whoever adds or ends one holds the lane's row.
create table ordering_keys (
  environment int not null,
  integration int not null,
  user_id text collate "C" not null,
  primary key (environment, integration, user_id)
) with (fillfactor = 60);

create table deliveries (
  number bigint generated always as identity primary key,
  environment int not null,
  id text collate "C" not null,
  integration int not null,
  source text not null check (source in ('event', 'automation')),
  -- The event and its place in the log.
  event_id text collate "C" not null,
  event_name text not null,
  user_id text collate "C",
  partition smallint not null,
  log_offset bigint not null,
  -- Of an automation's: {id, version, run_id, step_id}.
  automation jsonb,
  run_id text collate "C",
  step_id text collate "C",
  -- Open: pending, retrying. `held` is not stored: it is an open one whose integration is not active.
  status text not null default 'pending' check (status in ('pending', 'retrying', 'delivered', 'failed')),
  reason text,
  -- 1: sent again on request; goes after what happens just now.
  priority smallint not null default 0,
  -- Attempts in all; of the present round (a replay begins anew).
  attempt_count int not null default 0,
  round_attempts int not null default 0,
  attempts jsonb not null default '[]',
  next_attempt_at timestamptz,
  delivered_at timestamptz,
  ended_at timestamptz,
  created_at timestamptz not null
) with (fillfactor = 80);
create unique index deliveries_by_id on deliveries (environment, id);
create unique index deliveries_once_per_event on deliveries (integration, event_id) where source = 'event';
create unique index deliveries_once_per_step on deliveries (environment, run_id, step_id) where source = 'automation';
create index deliveries_by_creation on deliveries (environment, integration, created_at, id);
create index deliveries_by_time on deliveries (environment, created_at);
create index deliveries_open on deliveries (integration, number) where status in ('pending', 'retrying');
create index deliveries_open_of_user on deliveries (integration, user_id, log_offset) where status in ('pending', 'retrying') and source = 'event';
create index deliveries_of_user on deliveries (environment, user_id) where user_id is not null;
create index deliveries_by_end on deliveries (environment, ended_at) where ended_at is not null;

-- Automations ---------------------------------------------------------------------------------------------------------------------

create table automations (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  caption text not null,
  status text not null check (status in ('active', 'inactive', 'paused')),
  version int not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index automations_by_creation on automations (environment, created_at, id);

-- What runs are pinned to; stays when its automation is deleted.
create table automation_versions (
  environment int not null,
  automation_id text collate "C" not null,
  version int not null,
  data jsonb not null,
  primary key (environment, automation_id, version)
);

-- Which events start it (slugs), and from which place of each partition on.
create table automation_initiators (
  environment int not null,
  automation_id text collate "C" not null,
  event_name text not null,
  from_offsets bigint[] not null,
  primary key (environment, automation_id, event_name)
);
create index automation_initiators_by_event on automation_initiators (environment, event_name);

-- `due` rows: kind 'automation-run', id = number.
create table automation_runs (
  number bigint generated always as identity primary key,
  environment int not null,
  id text collate "C" not null,
  automation_id text collate "C" not null,
  version int not null,
  user_id text collate "C",
  event_id text collate "C" not null,
  event_name text not null,
  happened_at timestamptz not null,
  received_at timestamptz not null,
  partition smallint not null,
  log_offset bigint not null,
  -- The last event that it met: its trigger's place, or that of the event that ended a wait. (Waits that ended by time stand in the
  -- timeline: what is waited for after them was received from their deadline on.)
  position bigint not null,
  -- Written when the run comes to rest: while a worker has it for the first time it says pending (its `due` row knows better).
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'skipped')),
  reason text,
  current_step text,
  -- The next thing due, as promised; the `due` row may be later (paused).
  due_at timestamptz,
  replay_of text collate "C",
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz
) with (fillfactor = 50);
-- None of these has a column that changes while a run goes, and a page has room for as many rows again: each change of a run then stays
-- on its page and touches no index (ending 250 runs takes 5 ms instead of 22, a tenth of the log). The open ones are found by their
-- `due` rows, those that are no longer kept by their creation.
create unique index automation_runs_by_id on automation_runs (environment, id);
create unique index automation_runs_once on automation_runs (environment, automation_id, event_id) where replay_of is null;
create index automation_runs_by_creation on automation_runs (environment, automation_id, created_at, id);
create index automation_runs_by_time on automation_runs (environment, created_at);
create index automation_runs_of_user on automation_runs (environment, user_id, automation_id, received_at) where user_id is not null;

create table automation_steps (
  run bigint not null,
  -- Order of begin, from 0; checked against step_id on replay.
  n smallint not null,
  step_id text not null,
  type text not null,
  status text not null check (status in ('running', 'waiting', 'succeeded', 'failed', 'skipped', 'cancelled')),
  reason text,
  started_at timestamptz not null,
  finished_at timestamptz,
  due_at timestamptz,
  reused boolean not null default false,
  result jsonb,
  attempts jsonb not null default '[]',
  primary key (run, n)
) with (fillfactor = 80);

-- A run that waits for an event of its user. The consumer of the log writes event_id and wakes the run.
create table event_waits (
  run bigint primary key,
  environment int not null,
  user_id text collate "C" not null,
  event_name text not null,
  -- Only events after this place, received from `since` (null: whenever) until before the deadline.
  after_offset bigint not null,
  since timestamptz,
  deadline timestamptz not null,
  event_id text collate "C",
  event_offset bigint
);
create index event_waits_of_user on event_waits (environment, user_id, event_name) where event_id is null;

-- Started runs that are no longer kept, for `frequency` per lifetime.
create table forgotten_runs (
  environment int not null,
  automation_id text collate "C" not null,
  user_id text collate "C" not null,
  started int not null,
  primary key (environment, automation_id, user_id)
);
create index forgotten_runs_of_user on forgotten_runs (environment, user_id);

create table pending_screens (
  environment int not null,
  id text collate "C" not null,
  user_id text collate "C" not null,
  screen_id text collate "C" not null,
  automation_id text collate "C" not null,
  run_id text collate "C" not null,
  step_id text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  shown_at timestamptz,
  primary key (environment, id)
);
create unique index pending_screens_once_per_step on pending_screens (environment, run_id, step_id);
create index pending_screens_by_end on pending_screens (environment, expires_at);
create index pending_screens_of_user on pending_screens (environment, user_id, created_at);

create table pushes (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  title text not null,
  body text not null,
  image_url text,
  deep_link text,
  data jsonb not null,
  integration_id text collate "C",
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index pushes_by_creation on pushes (environment, created_at, id);

-- Scheduled reports ---------------------------------------------------------------------------------------------------------------

-- `due` rows: kind 'report-slot', id = number, due_at = next_slot.
create table scheduled_reports (
  environment int not null references environments,
  id text collate "C" not null,
  number bigint generated always as identity unique,
  report_name text not null,
  send_at text not null,
  included_range_days int not null,
  status text not null check (status in ('draft', 'active')),
  -- [{type, id, label}]
  destinations jsonb not null,
  timezone text not null,
  cadence text not null,
  weekday text,
  day_of_month int,
  missed text not null,
  on_dst_gap text not null,
  on_dst_overlap text not null,
  format text not null,
  -- null while draft.
  next_slot timestamptz,
  -- The last slot taken, or the activation when that was later: the next slot lies after it.
  last_slot timestamptz,
  runs int not null default 0,
  -- Real time, for one test a minute.
  tested_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (environment, id)
);
create index scheduled_reports_by_creation on scheduled_reports (environment, created_at, id) where deleted_at is null;

-- A run of the workflow 'scheduled-report', subject = id.
create table report_runs (
  environment int not null,
  id text collate "C" not null,
  report_id text collate "C" not null,
  kind text not null check (kind in ('scheduled', 'test')),
  slot timestamptz,
  window_from timestamptz,
  window_to timestamptz,
  status text not null default 'pending' check (status in ('pending', 'running', 'finished')),
  outcome text check (outcome in ('delivered', 'empty', 'withheld', 'failed', 'skipped')),
  reason text,
  late_by_seconds int not null default 0,
  export_id text collate "C",
  rows bigint,
  resends int not null default 0,
  destinations jsonb not null default '[]',
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (environment, id)
);
create unique index report_runs_once_per_slot on report_runs (environment, report_id, slot) where kind = 'scheduled';
create index report_runs_by_creation on report_runs (environment, report_id, created_at, id);
create index report_runs_by_slot on report_runs (environment, slot) where kind = 'scheduled';
create index report_runs_by_end on report_runs (environment, finished_at) where finished_at is not null;

-- An export that a report's slot made is not a promise of its own.
alter table exports add column report_run text collate "C";

-- Ledger --------------------------------------------------------------------------------------------------------------------------

-- What was kept of promises whose rows are gone (retention, erasure): whole seconds, as the ledger's window has them.
create table ledger_history (
  environment int not null references environments,
  kind text not null check (kind in ('report_slots', 'automation_runs', 'deliveries', 'exports')),
  due_at timestamptz not null,
  outcome text not null,
  reason text not null default '',
  count int not null,
  primary key (environment, kind, due_at, outcome, reason)
);

-- Promises that nothing would ever have moved: found and mended. One row, written by the worker that watches.
create table watchdog (
  one boolean primary key default true check (one),
  looked_at timestamptz not null,
  -- Found at the last look, and mended since the beginning.
  orphans int not null,
  repaired bigint not null
);
create index runs_unfinished on runs (id) where finished_at is null;
create index report_runs_unfinished on report_runs (environment, id) where status <> 'finished';
