-- What an operator decides per project about the stores.
alter table projects
  add column sandbox_access text not null default 'grant' check (sandbox_access in ('grant', 'refuse')),
  add column refund_preference text not null default 'none' check (refund_preference in ('none', 'decline', 'grant_full'));

-- A lane: one lineage as the notifications of a store name it. Its job (kind store_lane, id of the row) stands under the production environment
-- of the project, whose clock is real time: the test clock of a sandbox does not move what is said by a store.
create table store_lanes (
  id bigint generated always as identity primary key,
  project int not null references projects,
  platform text not null check (platform in ('apple', 'google', 'stripe', 'paddle')),
  name text collate "C" not null,
  -- null: notifications do not tell the environment (Google), and the lane serves both.
  environment int references environments,
  -- When the store answered about the lane last.
  asked_at timestamptz,
  -- When the store is asked without a notification; null: never again.
  next_check_at timestamptz,
  -- Turns in a row that the store answered with a failure or not at all, since when, and with what.
  attempts int not null default 0,
  failing_since timestamptz,
  reason text
);
-- A purchase token may be longer than an entry of an index.
create unique index store_lanes_by_name on store_lanes (project, platform, md5(name), coalesce(environment, 0));
create index store_lanes_checked on store_lanes (id) where next_check_at is not null;

create table store_inbox (
  id bigint generated always as identity primary key,
  project int not null references projects,
  platform text not null check (platform in ('apple', 'google', 'stripe', 'paddle')),
  -- null: only the answer of the store tells it, and it has not been asked yet.
  environment int references environments,
  lane bigint not null references store_lanes,
  notification_id text collate "C" not null,
  type text not null,
  subtype text,
  -- Store time in milliseconds.
  stated_at bigint not null,
  received_at timestamptz not null default clock_timestamp(),
  -- As it arrived. The signature that it carries, or that came with it, has been verified.
  body bytea not null,
  content_type text,
  source text not null check (source in ('push', 'sweep', 'import')),
  state text not null default 'pending' check (state in ('pending', 'done', 'ignored', 'set_aside')),
  -- How often it could not be read or applied. Such a row is tried alone, from `next_attempt_at` on.
  attempts int not null default 0,
  next_attempt_at timestamptz,
  reason text
);
create unique index store_inbox_by_notification on store_inbox (project, platform, notification_id);
create index store_inbox_pending on store_inbox (lane, stated_at, id) where state = 'pending';
create index store_inbox_by_lane on store_inbox (lane);
create index store_inbox_finished on store_inbox (received_at) where state in ('done', 'ignored');
create index store_inbox_waiting on store_inbox (project, platform, received_at) where state = 'pending';
create index store_inbox_set_aside on store_inbox (platform) where state = 'set_aside';
create index store_inbox_pushes on store_inbox (project, platform, environment, received_at) where source = 'push';
create index store_inbox_swept on store_inbox (project, platform, received_at) where source = 'sweep';

-- Requests to the API of a store that all processes together may still send: a bucket that fills with time. `family`: a part of an API with a
-- quota of its own. Project 0: the quota is that of the installation.
create table store_budgets (
  project int not null,
  platform text not null,
  environment int not null,
  family text not null,
  tokens float8 not null,
  filled_at timestamptz not null,
  -- The store has refused a request until then.
  rests_until timestamptz,
  primary key (project, platform, environment, family)
) with (fillfactor = 50);

-- What an operator should look at, until it has passed. `about`: a name of the store's, empty where there is none. Environment 0: both.
create table store_alerts (
  project int not null references projects,
  platform text not null,
  environment int not null,
  alert text not null,
  about text not null,
  first_at timestamptz not null default clock_timestamp(),
  last_at timestamptz not null default clock_timestamp(),
  primary key (project, platform, environment, alert, about)
);

-- Purchases of Google Play that have an owner and that Google wants acknowledged: one row for each purchase token.
create table store_acknowledgements (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  lineage bigint not null references lineages on delete cascade,
  token text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  done_at timestamptz
);
create unique index store_acknowledgements_by_token on store_acknowledgements (environment, md5(token));
create index store_acknowledgements_by_lineage on store_acknowledgements (lineage);
create index store_acknowledgements_open on store_acknowledgements (created_at) where done_at is null;

-- How far the sweeps have come: what a store said up to `swept_until` and no push brought has been asked for. A store with one address for both
-- environments (Google) has one row, under production.
create table store_sweeps (
  id int generated always as identity primary key,
  project int not null references projects,
  platform text not null check (platform in ('apple', 'google', 'stripe', 'paddle')),
  environment int not null references environments,
  -- The store was first found connected.
  created_at timestamptz not null default clock_timestamp(),
  swept_until timestamptz not null,
  -- By sweeps that looked for everything and not only for what the store could not deliver (Apple).
  whole_until timestamptz not null,
  succeeded_at timestamptz,
  -- When it is to be tried again; failures in a row, and the last one.
  next_at timestamptz not null,
  attempts int not null default 0,
  failure text,
  unique (project, platform, environment)
);
create index store_sweeps_due on store_sweeps (next_at);

-- How far a backfill has come; a repeat goes on from there. `phase`: what it does now, `cursor`: after what.
create table store_backfills (
  project int not null references projects,
  platform text not null check (platform in ('apple', 'google', 'stripe', 'paddle')),
  environment int not null references environments,
  -- How far back it looks; null: as far as the store tells.
  from_at timestamptz,
  phase text not null check (phase in ('lineages', 'listed', 'swept', 'done')),
  cursor text,
  lanes int not null default 0,
  notifications int not null default 0,
  began_at timestamptz not null default clock_timestamp(),
  primary key (project, platform, environment)
);

-- The last test notification of a store that arrived. Nothing else is recorded of it. Environment 0: it does not tell which.
create table store_tests (
  project int not null references projects,
  platform text not null,
  environment int not null,
  arrived_at timestamptz not null default clock_timestamp(),
  primary key (project, platform, environment)
);
