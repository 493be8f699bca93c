-- The schema of Perennial, by resource. Times are environment time, unless a comment says real time.

-- Projects ------------------------------------------------------------------------------------------------------------------------

create table projects (
  id int generated always as identity primary key,
  name text not null,
  raw_data boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  transfer_policy text not null default 'keep' check (transfer_policy in ('keep', 'transfer', 'share')),
  proxy_url text,
  rtdn_proxy_url text
);

create table environments (
  id int generated always as identity primary key,
  project int not null references projects,
  kind text not null check (kind in ('production', 'sandbox')),
  -- The test clock of a sandbox: how far its time is ahead of real time.
  clock_offset interval not null default '0',
  created_at timestamptz not null default clock_timestamp(),
  -- Whether the environment has rows in log_consumers. A writer of events marks and announces the log of such an environment only.
  consumed boolean not null default false,
  unique (project, kind)
);

-- The time of an environment. It is volatile on purpose: two calls in one transaction may differ.
-- Nearly every statement that records something calls the function, which reads one row by its key. Planning that read at each call took
-- three quarters of the call's time: a generic plan.
create function environment_now(environment int) returns timestamptz language sql volatile set plan_cache_mode = force_generic_plan as
$$ select clock_timestamp() + clock_offset from environments where id = environment $$;

create table keys (
  id int generated always as identity primary key,
  project int not null references projects,
  kind text not null check (kind in ('secret', 'project', 'api')),
  hash bytea not null unique,
  -- AES-256-GCM under APP_SECRET: the project settings show the keys again.
  sealed bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  -- A rotation sets this time: the old key works until then.
  expires_at timestamptz
);
create index keys_by_project on keys (project);

create table store_configs (
  project int not null references projects,
  platform text not null check (platform in ('apple', 'google', 'stripe', 'paddle')),
  enabled boolean not null,
  fields jsonb not null default '{}',
  -- name -> AES-256-GCM under APP_SECRET, in base64
  secrets jsonb not null default '{}',
  updated_at timestamptz not null,
  primary key (project, platform)
);

create table audit_log (
  project int not null references projects,
  -- null: the entry is about the project itself, and both environments list it.
  environment int references environments,
  id text collate "C" not null primary key,
  created_at timestamptz not null,
  actor_kind text not null,
  actor_id text,
  operation text not null,
  resource text not null,
  resource_id text,
  -- The user whom the entry is about, if any: an erasure finds the entries of a user by this column.
  user_id text collate "C",
  request_id text,
  before jsonb,
  after jsonb,
  reason text
);
create index audit_log_by_time on audit_log (environment, created_at, id) include (resource, operation, actor_kind) where environment is not null;
create index audit_log_by_resource on audit_log (environment, resource_id, created_at, id) include (resource, operation, actor_kind)
  where environment is not null;
create index audit_log_of_project on audit_log (project, created_at, id) include (resource, operation, actor_kind, resource_id)
  where environment is null;
create index audit_log_of_user on audit_log (environment, user_id) where user_id is not null;

-- Idempotency ---------------------------------------------------------------------------------------------------------------------

create table idempotent_answers (
  environment int not null references environments,
  operation text not null,
  key text collate "C" not null,
  request_hash bytea not null,
  status int not null,
  location text,
  body text,
  -- Real time: an answer is kept for 24 h from the first use of its key.
  created_at timestamptz not null default clock_timestamp(),
  -- The user whom the answer is about: an erasure of the user deletes the answer.
  user_id text collate "C",
  primary key (environment, operation, key)
);
create index idempotent_answers_by_age on idempotent_answers (created_at);
create index idempotent_answers_of_user on idempotent_answers (environment, user_id) where user_id is not null;

-- Users and customers -------------------------------------------------------------------------------------------------------------

-- The properties as an export writes them: keys in code point order (jsonb orders its keys by length first).
create function sorted_properties(properties jsonb) returns text language sql immutable parallel safe as
$$ select '{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ',' order by key collate "C"), '') || '}' from jsonb_each(properties) $$;

create table users (
  environment int not null references environments,
  id text collate "C" not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- A column of the user and not a table: a user has at most one identity, and an identity has one user, by construction.
  identity_id text collate "C",
  properties jsonb not null default '{}',
  properties_sorted text not null generated always as (sorted_properties(properties)) stored,
  -- Last known values, as of the newest event of the user (known_at).
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
  -- The columns by which customers are sorted and filtered. Each fact of the user refreshes them; a job refreshes them where time alone
  -- changes them.
  status text not null default 'none',
  first_transaction_at timestamptz,
  last_payment_at timestamptz,
  payments_count int not null default 0,
  -- The number of payments with a known rate.
  converted_payments int not null default 0,
  purchase_currency text collate "C",
  purchase_product_id text collate "C",
  gross_payments_usd numeric not null default 0,
  net_payments_usd numeric not null default 0,
  primary key (environment, id)
) with (fillfactor = 80);
create unique index users_by_identity on users (environment, identity_id) where identity_id is not null;
create index users_by_creation on users (environment, created_at, id);
create index users_by_status on users (environment, status collate "C", id);
-- A list of customers sorts by the second of their creation, an export by the exact time.
create index users_by_since on users (environment, date_trunc('second', created_at at time zone 'UTC'), id);
create index users_by_status_and_since on users (environment, status, date_trunc('second', created_at at time zone 'UTC'), id)
  where status <> 'none';
create index users_by_net_payments on users (environment, net_payments_usd, id) where net_payments_usd <> 0;
create index users_without_net_payments on users (environment, id) where net_payments_usd = 0;
create index users_by_payments_count on users (environment, payments_count, id) where payments_count > 0;
create index users_by_last_payment on users (environment, last_payment_at, id) where payments_count > 0;
create index users_by_purchase_currency on users (environment, purchase_currency, id) where payments_count > 0;
create index users_by_purchase_product on users (environment, purchase_product_id, id) where payments_count > 0;
create index users_without_payment on users (environment, id) where payments_count = 0;
-- Search by a prefix, in upper or lower case.
create index users_by_lower_id on users (environment, lower(id) collate "C");
create index users_by_lower_identity on users (environment, lower(identity_id) collate "C") where identity_id is not null;
create index users_by_custom_id on users (environment, lower(properties ->> '_q_custom_user_id') collate "C")
  where properties ? '_q_custom_user_id';
create index users_by_email on users (environment, lower(properties ->> '_q_email') collate "C") where properties ? '_q_email';
create index users_by_name on users (environment, lower(properties ->> '_q_name') collate "C") where properties ? '_q_name';

-- The log -------------------------------------------------------------------------------------------------------------------------

-- The next offset of each partition. All 64 rows are inserted with the environment. If an inserting transaction made the row of a
-- partition on first use, a window that is cut at that moment would not see the row, and the events would belong to no window.
create table log_positions (
  environment int not null references environments,
  partition smallint not null,
  next_offset bigint not null default 0,
  last_received_at timestamptz not null default '1970-01-01T00:00:00Z',
  primary key (environment, partition)
) with (fillfactor = 20);

-- A list skips rows by index alone as long as the visibility map is fresh. The default settings of autovacuum wait for 20 % of the table
-- to change.
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
  -- false: a backfill, which starts no automation and no delivery.
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
  -- (platform, transaction id), for the events that a store transaction may cause only once.
  transaction_key text collate "C",
  -- The purchase that emitted the event. null: the event was posted.
  purchase bigint,
  primary key (environment, partition, log_offset)
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index events_by_event_id on events (environment, event_id);
create unique index events_by_transaction on events (environment, transaction_key) where transaction_key is not null;
create index events_by_time on events (environment, happened_at, id) include (name, user_id);
create index events_by_receipt on events (environment, received_at, partition, log_offset);
create index events_by_user on events (environment, user_id, happened_at) where user_id is not null;
-- The posted events from which customers and segments are folded, beside the purchases.
create index events_posted_facts on events (environment, user_id, happened_at) where purchase is null and user_id is not null and name in (
  'trial_started', 'trial_converted', 'trial_canceled', 'trial_billing_retry_entered', 'trial_expired', 'subscription_started',
  'subscription_renewed', 'subscription_canceled', 'subscription_billing_retry_entered', 'subscription_expired', 'subscription_refunded',
  'in_app_purchase', 'in_app_refunded', 'refund_reversed');

-- The first offset of a partition whose received_at is not before `edge`. received_at never decreases within a partition, so this is a
-- binary search in the primary key; the search steps over the offsets of events that an erasure deleted.
-- The two most frequent cases take one look each: no event was received after the edge, or none before it.
-- The statements are planned once, for the primary key. Planning at each look took nine tenths of the time of a cut (128 edges, some 500
-- looks).
create function offset_at(env int, part smallint, edge timestamptz) returns bigint language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as
$$
declare
  low bigint;
  high bigint;
  middle bigint;
  found_offset bigint;
  found_at timestamptz;
begin
  select log_offset, received_at into found_offset, found_at from events
    where environment = env and partition = part order by log_offset desc limit 1;
  if found_offset is null then
    return 0;
  elsif found_at < edge then
    return found_offset + 1;
  end if;
  high := found_offset;
  select log_offset, received_at into found_offset, found_at from events
    where environment = env and partition = part order by log_offset limit 1;
  if found_at >= edge then
    return 0;
  end if;
  low := found_offset + 1;
  -- Every event before `low` was received before the edge. No event at `high` or after it was.
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

-- The next offset of each consumer of the log. The rows of all partitions are inserted together, when the first automation or integration
-- of the environment needs them.
create table log_consumers (
  consumer text not null check (consumer in ('automations', 'integrations')),
  environment int not null references environments,
  partition smallint not null,
  next_offset bigint not null,
  primary key (environment, consumer, partition)
) with (fillfactor = 20);

-- Environments with consumers whose log may have unread events, each at least once: what a regular look of a worker reads, so that idle
-- environments cost nothing. Why none is missing: domain/log/unread.ts. Rows come and go: vacuum before a scan of the index has many dead
-- entries to pass.
create table unread_logs (
  environment int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index unread_logs_by_environment on unread_logs (environment);

-- Events that a consumer could not handle. They are kept here, counted, and can be replayed; the consumer goes on with the partition.
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

-- Jobs ----------------------------------------------------------------------------------------------------------------------------

-- One row for each job that is not finished, and nothing else about the job: claims and records update this narrow row only.
-- No foreign key to environments, which are never deleted: looking up the environment of each job once more took half of the time of
-- inserting a run (50 ms of 113 for 1,000).
create table due (
  kind text not null,
  id bigint not null,
  environment int not null,
  due_at timestamptz not null,
  -- Real time: the job is in a batch, and a worker may take the batch until then.
  batched_until timestamptz,
  -- Real time: until then the job is in a batch or belongs to a worker.
  lease_until timestamptz,
  fence int not null default 0,
  -- 0: a job that follows from an event as it happens. 1: a job of a bulk request (a replay). The smaller number goes first.
  priority smallint not null default 0,
  -- The number of the integration that receives the effect: an integration that hangs must not take all capacity.
  destination int,
  primary key (kind, id)
-- Autovacuum comes by the number of dead rows, whatever the size of the table, and does not pause: jobs end by the thousand each second, and
-- a sweep visits the index entry of each until it is removed.
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
-- This index also finds the jobs of an environment, kind by kind: an index for that would be one more to write with each job.
create index due_by_time on due (kind, priority, environment, coalesce(destination, 0), due_at, id);

-- A batch: due jobs of one kind and priority. The sweep leases them for the worker that takes the batch first, until `until`. Taking a
-- batch deletes one row, whatever the number of its jobs. A crash of the server empties the table (unlogged), and the leases of the jobs
-- expire.
create unlogged table batches (
  number bigint generated always as identity primary key,
  kind text not null,
  priority smallint not null,
  until timestamptz not null,
  ids bigint[] not null,
  fences int[] not null,
  -- One element for each job. Destination 0: none.
  environments int[] not null,
  destinations int[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- A sandbox whose clock is being advanced: its jobs take turns, one at a time. No other job of the environment is claimed until `until` (real
-- time), which the advance extends; a crash ends the advance, and the row.
create unlogged table clock_turns (
  environment int primary key,
  -- The job whose turn it is; null: nobody's.
  kind text,
  id bigint,
  until timestamptz not null
);

-- One row, which the watchdog writes: the orphans (unfinished work without a row in `due`) that it found and repaired.
create table watchdog (
  one boolean primary key default true check (one),
  looked_at timestamptz not null,
  -- Found by the last look.
  orphans int not null,
  -- Repaired since the first look.
  repaired bigint not null
);

-- The worker processes and the kinds of jobs that each executes. A worker repeats its row while it lives. Nothing depends on a row: the rows
-- tell which due jobs no worker knows.
create unlogged table workers (
  id uuid primary key,
  kinds text[] not null,
  seen_at timestamptz not null
);

-- Runs of workflows ---------------------------------------------------------------------------------------------------------------

-- One execution of a workflow (an export, a report, a retention) for one subject.
create table runs (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  workflow text not null,
  version int not null,
  -- The kind of the run's job. Workers claim jobs by kind, so the version is a part of it: a worker that knows other versions only leaves
  -- the job to one that knows this version.
  job_kind text not null generated always as (case when version = 1 then workflow else workflow || '.v' || version::text end) stored,
  subject text not null,
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
  reason text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz
);
create index runs_by_subject on runs (environment, subject);
create index runs_by_end on runs (environment, finished_at) where finished_at is not null;
create index runs_unfinished on runs (id) where finished_at is null;

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

-- Products, entitlements, offerings, screens --------------------------------------------------------------------------------------

create table products (
  environment int not null references environments,
  id text collate "C" not null,
  type text check (type in ('subscription_with_promo', 'subscription', 'consumable', 'lifetime')),
  duration text check (duration in ('P1W', 'P1M', 'P3M', 'P6M', 'P1Y')),
  apple_product_id text,
  google_product_id text,
  google_base_plan_id text,
  stripe_product_id text,
  paddle_product_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index products_by_creation on products (environment, created_at, id);
create index products_by_apple on products (environment, apple_product_id) where apple_product_id is not null;
create index products_by_google on products (environment, google_product_id) where google_product_id is not null;
create index products_by_stripe on products (environment, stripe_product_id) where stripe_product_id is not null;
create index products_by_paddle on products (environment, paddle_product_id) where paddle_product_id is not null;

-- The product that a store's product id belongs to: the oldest product that links the id, then the one with the smallest id. null: no
-- product links it.
create function linked_product(env int, store text, store_product text, base_plan text) returns text language sql stable as
$$
  select id from products p
  where environment = env and case store
      when 'app_store' then apple_product_id = store_product
      when 'stripe' then stripe_product_id = store_product
      when 'paddle' then paddle_product_id = store_product
      else google_product_id = store_product and (google_base_plan_id is not distinct from base_plan or google_base_plan_id is null)
    end
  order by case when store = 'play_store' then google_base_plan_id is null and base_plan is not null else false end, created_at, id
  limit 1
$$;

create table entitlements (
  environment int not null references environments,
  id text collate "C" not null,
  description text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index entitlements_by_creation on entitlements (environment, created_at, id);

-- Rows and not an array: deleting a product removes the product from every list in the same statement, also from a list that another
-- transaction writes at that moment.
create table entitlement_products (
  environment int not null,
  entitlement_id text collate "C" not null,
  position int not null,
  product_id text collate "C" not null,
  primary key (environment, entitlement_id, product_id),
  foreign key (environment, entitlement_id) references entitlements on delete cascade,
  foreign key (environment, product_id) references products on delete cascade
);
create index entitlement_products_by_product on entitlement_products (environment, product_id);

create table offerings (
  environment int not null references environments,
  id text collate "C" not null,
  tag smallint,
  -- The experiment group that owns this copy. null: a regular offering.
  variant_of text collate "C",
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create unique index offerings_one_main on offerings (environment) where tag = 1 and variant_of is null;
create index offerings_by_creation on offerings (environment, created_at, id) where variant_of is null;

create table offering_products (
  environment int not null,
  offering_id text collate "C" not null,
  position int not null,
  product_id text collate "C" not null,
  primary key (environment, offering_id, product_id),
  foreign key (environment, offering_id) references offerings on delete cascade,
  foreign key (environment, product_id) references products on delete cascade
);
create index offering_products_by_product on offering_products (environment, product_id);

create table screens (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  status text not null default 'draft',
  type text,
  context_key text,
  background text not null default '#FFFFFF',
  default_lang text not null default 'en',
  configs json not null default '{}',
  content json not null default '{}',
  used text[] not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index screens_by_creation on screens (environment, created_at, id);

-- Purchases, grants, subscriptions ------------------------------------------------------------------------------------------------

-- The owner of a lineage of a store (an original transaction, a chain of purchase tokens, a subscription). The transactions of a lineage
-- are recorded under the lock of this row. user_id null: the store has told of the lineage and no user has claimed it yet, or its owner
-- was erased.
create table lineages (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  platform text not null,
  lineage text not null,
  user_id text collate "C"
);
-- A purchase token has up to 16 KiB, which is too long for an index entry: md5.
create unique index lineages_by_name on lineages (environment, platform, md5(lineage));
create index lineages_by_user on lineages (environment, user_id) where user_id is not null;

-- Transfer policy `share`: further users to whose access the lineage contributes.
create table lineage_shares (
  environment int not null,
  lineage bigint not null references lineages on delete cascade,
  user_id text collate "C" not null,
  primary key (environment, user_id, lineage)
);
create index lineage_shares_by_lineage on lineage_shares (lineage);

create table purchases (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  lineage bigint not null references lineages,
  user_id text collate "C",
  platform text not null check (platform in ('app_store', 'play_store', 'stripe', 'paddle')),
  -- The ids of the store, as store_data shows them.
  store_product_id text not null,
  base_plan_id text,
  transaction_id text,
  original_transaction_id text,
  purchase_token text,
  order_id text,
  subscription_id text,
  store_type text,
  is_subscription boolean not null,
  currency text not null,
  -- The text that was sent; `amount` is the same as a number.
  price text not null,
  amount numeric not null,
  purchased_at timestamptz not null,
  expires_at timestamptz,
  period_type text,
  -- For the last period of a subscription: the present value. For an earlier period: the value at its end.
  auto_renewing boolean not null,
  auto_renew_off_at timestamptz,
  is_family_shared boolean not null default false,
  country text,
  screen_id text,
  billing_retry_at timestamptz,
  grace_period_expires_at timestamptz,
  refunded_at timestamptz,
  refunded_amount numeric,
  verified_at timestamptz,
  -- The store says that the subscription never renews (prepaid).
  never_renews boolean not null default false,
  -- false: recorded as a backfill. The events of the purchase, and of what preceded its recording, start no automation and no delivery.
  triggers boolean not null default true,
  created_at timestamptz not null,
  -- When a fact was recorded after the purchase itself.
  updated_at timestamptz,
  -- Each fact of the lineage refreshes the next three columns, from facts alone: the end of what the purchase contributes to access
  -- ('infinity': never), the start of the first period of its run of periods, whether it is the last period.
  access_until timestamptz not null default 'infinity',
  run_started_at timestamptz,
  is_last boolean not null default true,
  -- The once-only events of the purchase that are in the log already, or whose time has passed; `canceled` while auto-renew is off and the
  -- log says so.
  emitted text[] not null default '{}',
  -- What the events of the log say in sum about the refunded amount.
  refund_told numeric not null default 0
);
create index purchases_by_user on purchases (environment, user_id, purchased_at, id);
create index purchases_by_lineage on purchases (lineage, purchased_at, id);
create unique index purchases_by_transaction on purchases (environment, platform, coalesce(transaction_id, order_id))
  where coalesce(transaction_id, order_id) is not null;
-- The product comes first. Without statistics the planner takes any index that begins with (environment, platform) for as good as
-- purchases_by_transaction.
create index purchases_by_product on purchases (store_product_id, environment, platform);

create table grants (
  environment int not null,
  user_id text collate "C" not null,
  entitlement_id text collate "C" not null,
  starts_at timestamptz not null,
  expires_at timestamptz,
  primary key (environment, user_id, entitlement_id),
  foreign key (environment, user_id) references users on delete cascade,
  foreign key (environment, entitlement_id) references entitlements on delete cascade
);
create index grants_by_entitlement on grants (environment, entitlement_id);

-- The subscriptions of a user, as the facts say: recorded purchases, and posted catalogue events of transactions without a purchase.
-- The state at a time t >= the last fact is the state with the last state_at <= t; before the first state_at there is none.
create table subscriptions (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  user_id text collate "C" not null,
  platform text not null,
  lineage text not null,
  state_at timestamptz[] not null,
  states text[] not null,
  auto_renewing boolean not null,
  ever_paid boolean not null,
  foreign key (environment, user_id) references users on delete cascade
);
create unique index subscriptions_by_lineage on subscriptions (environment, user_id, platform, md5(lineage));

create function subscription_state(state_at timestamptz[], states text[], t timestamptz) returns text language sql immutable parallel safe as
$$ select states[(select count(*)::int from unnest(state_at) a where a <= t)] $$;

create table currency_rates (
  currency text not null,
  date date not null,
  usd_per_unit numeric not null check (usd_per_unit > 0),
  primary key (currency, date)
);
-- USD per unit. The rate of a day is the rate of the latest date <= the day, else of the earliest later date. null: there is no rate.
create function usd_rate(wanted text, day date) returns numeric language sql stable parallel safe as
$$
  select case when wanted = 'USD' then 1 else coalesce(
    (select usd_per_unit from currency_rates where currency = wanted and date <= day order by date desc limit 1),
    (select usd_per_unit from currency_rates where currency = wanted and date > day order by date limit 1)) end
$$;

-- Segments, remote configurations, experiments ------------------------------------------------------------------------------------

create table segments (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  conditions jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index segments_by_creation on segments (environment, created_at, id);

create table remote_configurations (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  status text not null default 'draft' check (status in ('draft', 'active', 'archived')),
  segment_percent numeric not null,
  segmentation_conditions jsonb not null,
  context_key text collate "C",
  payload json not null default '{}',
  payload_mapping json not null default '{}',
  activated_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index remote_configurations_by_creation on remote_configurations (environment, created_at, id);
create index remote_configurations_active on remote_configurations (environment, coalesce(context_key, ''), activated_at desc, id) where status = 'active';

create table configuration_pins (
  environment int not null,
  user_id text collate "C" not null,
  config_id text collate "C" not null,
  pinned_at timestamptz not null,
  primary key (environment, user_id, config_id),
  foreign key (environment, config_id) references remote_configurations on delete cascade,
  foreign key (environment, user_id) references users on delete cascade
);
create index configuration_pins_by_config on configuration_pins (environment, config_id);

create table experiments (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  alias_id text collate "C" not null,
  description text,
  status text not null default 'draft' check (status in ('draft', 'active', 'paused', 'finished')),
  started_at timestamptz,
  finished_at timestamptz,
  segment_percent numeric,
  primary_metric text,
  goal_value numeric,
  goal_direction text,
  context_key text collate "C" not null,
  is_context_specific boolean not null,
  segmentation_conditions jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create unique index experiments_by_alias on experiments (environment, alias_id);
create index experiments_by_creation on experiments (environment, created_at, id);
create index experiments_running on experiments (environment, started_at, id) where status in ('active', 'paused');

create table experiment_groups (
  environment int not null,
  id text collate "C" not null,
  experiment_id text collate "C" not null,
  -- The order of creation, which the ids do not tell for groups of one second.
  n bigint generated always as identity,
  name text,
  is_control boolean not null,
  weight numeric not null,
  remote_config_uid text collate "C",
  offering_uid text collate "C",
  offering_tag smallint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id),
  foreign key (environment, experiment_id) references experiments on delete cascade
);
create unique index experiment_groups_one_control on experiment_groups (environment, experiment_id) where is_control;
create index experiment_groups_by_experiment on experiment_groups (environment, experiment_id, n);
create index experiment_groups_by_config on experiment_groups (environment, remote_config_uid) where remote_config_uid is not null;

create table experiment_assignments (
  environment int not null,
  experiment_id text collate "C" not null,
  user_id text collate "C" not null,
  group_id text collate "C" not null,
  assigned_at timestamptz not null,
  pinned boolean not null default false,
  -- Of two pins of one context key the newest counts. assigned_at does not change when an assignment becomes a pin.
  pinned_at timestamptz,
  primary key (environment, experiment_id, user_id),
  foreign key (environment, experiment_id) references experiments on delete cascade,
  foreign key (environment, group_id) references experiment_groups on delete cascade,
  foreign key (environment, user_id) references users on delete cascade
);
create index experiment_assignments_by_user on experiment_assignments (environment, user_id);
create index experiment_assignments_by_group on experiment_assignments (environment, group_id);

-- Integrations and deliveries -----------------------------------------------------------------------------------------------------

create table integrations (
  environment int not null references environments,
  id text collate "C" not null,
  number int generated always as identity unique,
  slug text not null,
  title text not null,
  target_platform text not null,
  active smallint not null default 0 check (active in (0, 1, 2)),
  -- The time since which the open deliveries are held. null: the integration is active.
  held_since timestamptz,
  -- In the error state: whether an open delivery is tried every five minutes (not after a 410), and the number of the delivery that is
  -- being tried.
  is_probed boolean not null default false,
  probing bigint,
  -- The number of the delivery whose probe failed last, and how many of its probes have failed in a row. After three the next delivery is
  -- tried. Both outlast the error state: the next one does not begin with the same deliveries.
  failed_probe bigint,
  failed_probes int not null default 0,
  -- After an activation: open deliveries up to this number are due again. A job of the kind 'integration-release' releases the rest.
  released_to bigint,
  -- The next offset of each partition at the first activation; null before it.
  from_offsets bigint[],
  settings jsonb not null default '{}',
  -- name -> AES-256-GCM under APP_SECRET, in base64
  secrets jsonb not null default '{}',
  -- The secret before the last change, sealed. It is valid for 24 h of real time.
  former_signing_secret text,
  signing_secret_changed_at timestamptz,
  -- Real times of the last ten tests: the limit is ten a minute.
  tested_at timestamptz[] not null default '{}',
  -- null: the whole catalogue, and no custom events.
  events jsonb,
  event_mapping jsonb not null default '{}',
  revenue text not null default 'price',
  configured_at timestamptz,
  last_delivery_at timestamptz,
  last_error_at timestamptz,
  last_error_message text,
  -- Failed attempts since the last success. An attempt that ends as `rejected` counts here; it does not count towards the error state.
  delivery_error_count int not null default 0,
  failures_in_row int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (environment, id)
);
-- Not only of the rows that are not deleted: without statistics the planner would take a partial index for shorter than the path by number.
create index integrations_by_creation on integrations (environment, created_at, id);
create index integrations_deleted on integrations (environment, deleted_at) where deleted_at is not null;

-- The ordering key (integration, user) of deliveries with source `event`. Of the open deliveries of one ordering key only one is a job
-- (a row of `due` with kind 'delivery' and id = number): the first in the log. The delivery that ends inserts the job of the next one. A
-- transaction that adds or ends a delivery locks this row.
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
  -- The event, its partition and its offset.
  event_id text collate "C" not null,
  event_name text not null,
  user_id text collate "C",
  partition smallint not null,
  log_offset bigint not null,
  -- With source `automation`: {id, version, run_id, step_id}.
  automation jsonb,
  run_id text collate "C",
  step_id text collate "C",
  -- An open delivery is pending or retrying. The status `held` is not stored: it is an open delivery whose integration is not active.
  status text not null default 'pending' check (status in ('pending', 'retrying', 'delivered', 'failed')),
  reason text,
  -- 1: a request sends the delivery again. It goes after the deliveries of new events.
  priority smallint not null default 0,
  -- The last replay that opened or created the delivery.
  replay_id text collate "C",
  -- All attempts, and the attempts of the present round (a replay starts a new round).
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
create index deliveries_by_replay on deliveries (environment, replay_id, created_at, id) where replay_id is not null;
create index deliveries_failed on deliveries (environment, integration, created_at, id) where status = 'failed';
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
  -- Runs up to this number are cancelled, and the deliveries of their steps, whatever their own rows say until a worker or a bounded step has
  -- ended them.
  cancelled_upto bigint not null default 0,
  primary key (environment, id)
);
create index automations_by_creation on automations (environment, created_at, id);

-- A run is pinned to a version. A version stays as long as a run may be pinned to it.
create table automation_versions (
  environment int not null,
  automation_id text collate "C" not null,
  version int not null,
  data jsonb not null,
  -- Since when no new run is pinned to the version: a later version was stored, or the automation was deleted. A replay sets it anew.
  superseded_at timestamptz,
  primary key (environment, automation_id, version)
);
create index automation_versions_superseded on automation_versions (environment, superseded_at) where superseded_at is not null;

-- The events (slugs) that start an automation, and from which offset of each partition on.
create table automation_initiators (
  environment int not null,
  automation_id text collate "C" not null,
  event_name text not null,
  from_offsets bigint[] not null,
  primary key (environment, automation_id, event_name)
);
create index automation_initiators_by_event on automation_initiators (environment, event_name);

-- Jobs: kind 'automation-run', id = number.
-- No index contains a column that changes while a run advances, and a page has space for as many rows again. So each change of a run
-- stays on its page and touches no index (ending 250 runs takes 5 ms instead of 22, and a tenth of the write-ahead log). Open runs are
-- found by their rows in `due`; runs past retention, and the runs of a time, by their creation, automation by automation.
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
  -- The offset of the last event that the run consumed: its trigger, or the event that ended a wait. (A wait that ended by time stands in
  -- the timeline: the next wait looks for events that were received from its deadline on.)
  position bigint not null,
  -- Written when the run is suspended or ends. While a worker executes the run for the first time the status is still pending; the row in
  -- `due` has the lease.
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'skipped')),
  reason text,
  -- Whether a rule forbade the run to start. Like the other columns of an index it never changes.
  is_skipped boolean not null default false,
  current_step text,
  -- The time of the next step or of the end of a wait. The due time of the job may be later (paused).
  due_at timestamptz,
  replay_of text collate "C",
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz
) with (fillfactor = 50);
create unique index automation_runs_by_id on automation_runs (environment, id);
create unique index automation_runs_once on automation_runs (environment, automation_id, event_id) where replay_of is null;
create index automation_runs_by_creation on automation_runs (environment, automation_id, created_at, id);
-- The runs that started stand apart: `frequency` and `reentry` ask for them only, and a user may have any number of skipped ones.
create index automation_runs_of_user on automation_runs (environment, user_id, automation_id, is_skipped, received_at) where user_id is not null;

-- The runs that failed or were cancelled, for lists of such runs alone: these statuses are rare, and no index of automation_runs may have the
-- status. The rows are written with the end of the run and deleted with the run.
create table unsuccessful_runs (
  environment int not null,
  automation_id text collate "C" not null,
  status text not null check (status in ('failed', 'cancelled')),
  created_at timestamptz not null,
  id text collate "C" not null,
  number bigint not null,
  primary key (environment, automation_id, status, created_at, id)
);

-- The watchdog's notes about 10,000 numbers of runs each: which runs were unfinished when it last looked. The other runs have ended and are
-- not read again.
create table automation_run_blocks (
  block bigint primary key,
  unfinished bigint[] not null,
  count int not null generated always as (cardinality(unfinished)) stored
);
create index automation_run_blocks_unfinished on automation_run_blocks (block) where count > 0;

create table automation_steps (
  run bigint not null,
  -- The order of the steps' starts, from 0; a replay checks it against step_id.
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

-- A run that waits for an event of its user: one row for each of the types that end the wait. The consumer of the log writes event_id and
-- wakes the run.
create table event_waits (
  run bigint not null,
  environment int not null,
  user_id text collate "C" not null,
  event_name text not null,
  -- Only events after this offset that were received from `since` on (null: at any time) and before the deadline.
  after_offset bigint not null,
  since timestamptz,
  deadline timestamptz not null,
  event_id text collate "C",
  event_offset bigint,
  primary key (run, environment, event_name)
);
-- Of all waits: an erasure deletes those of the user that have ended, too.
create index event_waits_of_user on event_waits (environment, user_id, event_name);

-- The number of started runs of a user that retention has deleted, for a `frequency` per lifetime.
create table forgotten_runs (
  environment int not null,
  automation_id text collate "C" not null,
  user_id text collate "C" not null,
  started int not null,
  primary key (environment, automation_id, user_id)
);
create index forgotten_runs_of_user on forgotten_runs (environment, user_id);

-- Jobs: kind 'automation-cancel', id = number. An automation was set inactive or deleted while it had more runs than one transaction reads.
-- The job ends the open ones of the rest in bounded steps, from the newest to the oldest: those after the run of this creation and id whose
-- number is `upto` at most.
create table automation_cancellations (
  number bigint generated always as identity primary key,
  environment int not null,
  automation_id text collate "C" not null,
  reason text not null,
  after_created timestamptz,
  after_id text collate "C",
  upto bigint not null
);

-- Jobs: kind 'automation-release', id = number. A paused automation with more runs than one transaction reads is active again. The job
-- releases the parked ones of the rest in the same way.
create table automation_releases (
  number bigint generated always as identity primary key,
  environment int not null,
  automation_id text collate "C" not null,
  after_created timestamptz,
  after_id text collate "C",
  unique (environment, automation_id)
);

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

-- Files ---------------------------------------------------------------------------------------------------------------------------

-- One row as soon as a service has marked its folder of export files: a folder without this mark is not mounted. A bucket has no mark.
create table file_folder (
  one boolean primary key default true check (one),
  mark text not null
);

-- Exports -------------------------------------------------------------------------------------------------------------------------

create table exports (
  environment int not null references environments,
  id text collate "C" not null,
  status text not null default 'new' check (status in ('new', 'processing', 'done', 'failed')),
  type text not null,
  format text not null,
  compression text not null,
  formula_guard boolean not null default false,
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
  -- [{name, rows, bytes}]: the file is these parts, one after the other.
  parts jsonb,
  error jsonb,
  created_at timestamptz not null,
  expires_at timestamptz,
  -- Pseudonyms of erased users whose rows may still be in the file.
  to_erase text[] not null default '{}',
  -- When retention removed the file and all parts. null: the storage may have some of them, also those of a failed export.
  file_removed_at timestamptz,
  -- Real time: since when the storage has failed, at every attempt, to remove the file or the rows of an erased user.
  overdue_since timestamptz,
  -- The report run that the export belongs to. The ledger counts the run and not the export.
  report_run text collate "C",
  primary key (environment, id)
);
create index exports_by_creation on exports (environment, created_at, id);
create unique index exports_by_id on exports (id);
create index exports_with_files on exports (environment, id) where file_removed_at is null;
create index exports_overdue on exports (overdue_since) where overdue_since is not null;
create index exports_unfinished on exports (environment, id) where status in ('new', 'processing');

-- The members of the segment of an export, as of the start of its processing. The transaction that ends the export deletes them. No
-- foreign key: its check for each row made writing a million of them take 24 s instead of 4.
create table export_members (
  environment int not null,
  export_id text collate "C" not null,
  user_id text collate "C" not null,
  primary key (environment, export_id, user_id)
);
create index export_members_by_user on export_members (environment, user_id);

-- Scheduled reports ---------------------------------------------------------------------------------------------------------------

-- Jobs: kind 'report-slot', id = number, due_at = next_slot.
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
  formula_guard boolean not null default false,
  -- null: a draft.
  next_slot timestamptz,
  -- The last slot that was taken, or the time of the activation when that is later: the next slot is after this time.
  last_slot timestamptz,
  -- The window of the next slot begins here at the latest. null: nothing but the schedule decides that.
  next_from timestamptz,
  runs int not null default 0,
  -- Real time: the limit is one test a minute.
  tested_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (environment, id)
);
create index scheduled_reports_by_creation on scheduled_reports (environment, created_at, id);
create index scheduled_reports_deleted on scheduled_reports (environment, deleted_at) where deleted_at is not null;

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
create index report_runs_unfinished on report_runs (environment, id) where status <> 'finished';

-- Ledger --------------------------------------------------------------------------------------------------------------------------

-- The outcomes of jobs whose rows are deleted (retention, erasure), counted for each second: the ledger's window has whole seconds.
create table ledger_history (
  environment int not null references environments,
  kind text not null check (kind in ('report_slots', 'automation_runs', 'deliveries', 'exports')),
  due_at timestamptz not null,
  outcome text not null,
  reason text not null default '',
  count int not null,
  primary key (environment, kind, due_at, outcome, reason)
);

-- The same counts after a day, by hour, and after 90 days, by day (UTC); due_at is the beginning of the span. A span takes up further
-- counts as long as rows of its time are deleted.
create table ledger_compacted (
  environment int not null references environments,
  kind text not null check (kind in ('report_slots', 'automation_runs', 'deliveries', 'exports')),
  span text not null check (span in ('hour', 'day')),
  due_at timestamptz not null,
  outcome text not null,
  reason text not null,
  count bigint not null,
  primary key (environment, kind, span, due_at, outcome, reason)
);
