-- Projects: settings, stores, audit -------------------------------------------------------------------------------------------------

alter table environments add column created_at timestamptz not null default clock_timestamp();
alter table projects
  add column transfer_policy text not null default 'keep' check (transfer_policy in ('keep', 'transfer', 'share')),
  add column proxy_url text,
  add column rtdn_proxy_url text;

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
  -- null: about the project itself, shown under both keys.
  environment int references environments,
  id text collate "C" not null primary key,
  created_at timestamptz not null,
  actor_kind text not null,
  actor_id text,
  operation text not null,
  resource text not null,
  resource_id text,
  -- The user whom the entry is about, if any: an erasure finds its entries by it.
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

-- Catalogue -------------------------------------------------------------------------------------------------------------------------

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

-- The product that a store's product id belongs to: the oldest that links it, then the smallest id; null when none does.
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

-- A row, not an array: deleting a product takes it off every list in the same statement, also off one being written.
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
  -- The experiment group that owns this copy; null for the regular ones.
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

-- Purchases and access --------------------------------------------------------------------------------------------------------------

-- Who owns a store's lineage (an original transaction, a chain of purchase tokens, a subscription): the lock under which its
-- transactions are recorded. user_id null: known from the store, nobody has asked for it yet (or its owner was erased).
create table lineages (
  id bigint generated always as identity primary key,
  environment int not null references environments,
  platform text not null,
  lineage text not null,
  user_id text collate "C"
);
-- Purchase tokens reach 16 KiB: an index entry may not.
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
  -- The store's ids, as store_data shows them.
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
  -- As it was sent; amount is the same as a number.
  price text not null,
  amount numeric not null,
  purchased_at timestamptz not null,
  expires_at timestamptz,
  period_type text,
  -- As long as this is the last period of its subscription; what it was at its end afterwards.
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
  -- The store says that it never renews (prepaid).
  never_renews boolean not null default false,
  created_at timestamptz not null,
  -- Refreshed with every fact of the lineage, from facts alone: the end of what it contributes to access ('infinity': never), the
  -- first period of its run, whether it is the last period.
  access_until timestamptz not null default 'infinity',
  run_started_at timestamptz,
  is_last boolean not null default true,
  -- Which of its once-only events are in the log, or have missed their time.
  emitted text[] not null default '{}'
);
create index purchases_by_user on purchases (environment, user_id, purchased_at, id);
create index purchases_by_lineage on purchases (lineage, purchased_at, id);
create unique index purchases_by_transaction on purchases (environment, platform, coalesce(transaction_id, order_id))
  where coalesce(transaction_id, order_id) is not null;
-- The product first: without statistics the planner takes any index that begins like this for as good as the one by transaction.
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

-- A user's subscriptions as facts say they are: recorded purchases, and posted catalogue events of transactions without purchase.
-- What a subscription is at t >= the last fact: states[number of state_at <= t]; before the first: none.
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

-- The events that purchases emit: whose purchase it was. Posted ones have none.
alter table events add column purchase bigint;
-- What customers and segments are folded from, beside purchases.
create index events_posted_facts on events (environment, user_id, happened_at) where purchase is null and user_id is not null and name in (
  'trial_started', 'trial_converted', 'trial_canceled', 'trial_billing_retry_entered', 'trial_expired', 'subscription_started',
  'subscription_renewed', 'subscription_canceled', 'subscription_billing_retry_entered', 'subscription_expired', 'subscription_refunded',
  'in_app_purchase', 'in_app_refunded');

-- USD per unit; the rate of a date is that of the latest date <= it, else of the earliest later one; null when there is none.
create table currency_rates (
  currency text not null,
  date date not null,
  usd_per_unit numeric not null check (usd_per_unit > 0),
  primary key (currency, date)
);
create function usd_rate(wanted text, day date) returns numeric language sql stable parallel safe as
$$
  select case when wanted = 'USD' then 1 else coalesce(
    (select usd_per_unit from currency_rates where currency = wanted and date <= day order by date desc limit 1),
    (select usd_per_unit from currency_rates where currency = wanted and date > day order by date limit 1)) end
$$;

-- Customers: what lists sort and filter by, refreshed with each fact, and by `due` rows where time alone changes it.
alter table users
  add column status text not null default 'none',
  add column first_transaction_at timestamptz,
  add column last_payment_at timestamptz,
  add column payments_count int not null default 0,
  -- Of the payments with a known rate.
  add column converted_payments int not null default 0,
  add column purchase_currency text collate "C",
  add column purchase_product_id text collate "C",
  add column gross_payments_usd numeric not null default 0,
  add column net_payments_usd numeric not null default 0;
create index users_by_status on users (environment, status collate "C", id);
create index users_by_status_and_creation on users (environment, status, created_at, id) where status <> 'none';
create index users_by_net_payments on users (environment, net_payments_usd, id) where net_payments_usd <> 0;
create index users_without_net_payments on users (environment, id) where net_payments_usd = 0;
create index users_by_payments_count on users (environment, payments_count, id) where payments_count > 0;
create index users_by_last_payment on users (environment, last_payment_at, id) where payments_count > 0;
create index users_by_purchase_currency on users (environment, purchase_currency, id) where payments_count > 0;
create index users_by_purchase_product on users (environment, purchase_product_id, id) where payments_count > 0;
create index users_without_payment on users (environment, id) where payments_count = 0;
-- Prefix search in any case.
create index users_by_lower_id on users (environment, lower(id) collate "C");
create index users_by_lower_identity on users (environment, lower(identity_id) collate "C") where identity_id is not null;
create index users_by_custom_id on users (environment, lower(properties ->> '_q_custom_user_id') collate "C")
  where properties ? '_q_custom_user_id';
create index users_by_email on users (environment, lower(properties ->> '_q_email') collate "C") where properties ? '_q_email';
create index users_by_name on users (environment, lower(properties ->> '_q_name') collate "C") where properties ? '_q_name';

-- Segments, remote configurations, experiments ----------------------------------------------------------------------------------------

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
  -- Order of creation: ids of one second would not tell.
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
  -- Of two pins of one context key the newest counts; assigned_at does not move when an assignment becomes a pin.
  pinned_at timestamptz,
  primary key (environment, experiment_id, user_id),
  foreign key (environment, experiment_id) references experiments on delete cascade,
  foreign key (environment, group_id) references experiment_groups on delete cascade,
  foreign key (environment, user_id) references users on delete cascade
);
create index experiment_assignments_by_user on experiment_assignments (environment, user_id);
create index experiment_assignments_by_group on experiment_assignments (environment, group_id);

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

-- The person whom a kept answer is about: an erasure takes it along.
alter table idempotent_answers add column user_id text collate "C";
create index idempotent_answers_of_user on idempotent_answers (environment, user_id) where user_id is not null;

-- Exports of a segment: who was in it when processing began. They go in the transaction that ends the export; without foreign key,
-- whose check per row made writing a million of them down take 24 s instead of 4.
create table export_members (
  environment int not null,
  export_id text collate "C" not null,
  user_id text collate "C" not null,
  primary key (environment, export_id, user_id)
);
create index export_members_by_user on export_members (environment, user_id);

-- SHA-256 of erased users whose rows may still be in the file.
alter table exports add column to_erase text[] not null default '{}';
create index exports_unfinished on exports (environment, id) where status in ('new', 'processing');
