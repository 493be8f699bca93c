-- Facts: the rows that figures are computed from. A worker folds them from the purchases, events and screens of one user at a time and writes
-- the difference. Each figure is one scan of these rows, so no sum is kept that could drift. Times are Unix seconds. Money is in millionths of
-- its currency. Days are counted from 1970-01-01 (UTC).

-- The name of a user in facts. It is never given twice and says nothing about the user.
alter table users
  add column no bigint generated always as identity,
  -- First known values: of the oldest event that had any (first_known_at). Attributes of figures must not change with an update of the app.
  add column first_platform text,
  add column first_country text,
  add column first_app_version text,
  add column first_locale text,
  add column first_known_at timestamptz;
create unique index users_by_no on users (no);

alter table events
  -- Last known values of the user when a transaction was recorded, for what the event does not say.
  add column known_country text,
  add column known_app_version text,
  add column known_locale text;
-- The screens that a user saw, of which one may have led to a transaction.
create index events_of_screens on events (environment, user_id, happened_at)
  where user_id is not null and name in ('screen_shown', 'screen_interacted');
alter table purchases
  add column known_country text,
  add column known_app_version text,
  add column known_locale text;

-- Users whose facts may be out of date. Whoever changes the truth about a user locks the user and inserts the mark in the same transaction.
create table stale_users (
  environment int not null references environments,
  user_no bigint not null,
  since timestamptz not null default clock_timestamp(),
  -- The sums stored with the customer are to be counted again, too.
  sums boolean not null default false,
  primary key (environment, user_no)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index stale_users_by_age on stale_users (environment, since, user_no);

-- `seq` is raised by each transaction that writes facts, which locks the row last and holds it until its commit: the order of seq is the
-- order of the commits. Readers of differences ask for rows beyond the seq that they have. Tombstones up to `pruned_seq` are gone.
-- `generation`: the one that readers see. `building`: the one that a rebuild fills, up to the user `folded_to`.
create table fact_state (
  environment int primary key references environments,
  generation smallint not null default 1,
  building smallint,
  folded_to bigint,
  seq bigint not null default 0,
  pruned_seq bigint not null default 0,
  -- Of the rules by which the facts were folded; another number makes a rebuild.
  fold_version int not null default 0
) with (fillfactor = 20);

-- The seq at the first housekeeping of each day: tells which tombstones are a week old.
create table fact_days (
  environment int not null references environments,
  day date not null,
  seq bigint not null,
  primary key (environment, day)
);

-- Texts of facts by number. 0 stands for an unknown value and has no row. A product's word is `platform|store product` or
-- `platform|store product|base plan`.
create table fact_words (
  environment int not null references environments,
  no int generated always as identity,
  word text collate "C" not null,
  seq bigint not null,
  primary key (environment, no),
  unique (environment, word)
);
create index fact_words_by_seq on fact_words (environment, seq);

create table user_facts (
  environment int not null,
  generation smallint not null,
  user_no bigint not null,
  seq bigint not null,
  -- true: a tombstone.
  gone boolean not null default false,
  created bigint,
  first_trial bigint,
  first_paid bigint,
  first_trial_or_paid bigint,
  -- First known values.
  platform int,
  country int,
  app_version int,
  locale int,
  media int,
  campaign int,
  ad_set int,
  ad int,
  -- Of the first trial or paid transaction.
  class_platform int,
  class_product int,
  class_currency int,
  class_country int,
  class_app_version int,
  class_locale int,
  primary key (environment, generation, user_no)
);
create index user_facts_by_seq on user_facts (environment, generation, seq);
create index user_facts_gone on user_facts (environment, generation, seq) where gone;
create index user_facts_by_creation on user_facts (environment, generation, created);

create table transaction_facts (
  environment int not null,
  generation smallint not null,
  id bigint generated always as identity,
  seq bigint not null,
  user_no bigint,
  -- 1 trial, 2 start, 3 conversion, 4 renewal, 5 one-time, 6 refund. null: a tombstone.
  kind smallint,
  happened bigint,
  -- The day whose rate converts the amount: the day of the purchase, of a refund too.
  bought_on int,
  platform int,
  product int,
  currency int,
  country int,
  app_version int,
  locale int,
  media int,
  campaign int,
  screen int,
  amount bigint,
  -- null unless stated.
  proceeds bigint,
  usd_given bigint,
  proceeds_usd bigint,
  is_loyal boolean,
  -- null: one-time. Otherwise the id in `subscriptions`; 0: unknown, of a refund whose transaction nobody knows.
  subscription bigint,
  ends bigint,
  -- The end with grace period and billing retry.
  open_until bigint,
  -- What became of the transaction, as known. null: nothing.
  converted_at bigint,
  cancelled_at bigint,
  refunded_at bigint,
  refunded bigint,
  refunded_proceeds bigint,
  refunded_usd bigint,
  -- The time of the user's paid transaction before this one.
  paid_before bigint,
  -- 1..n: the paid period within the first paid run of the subscription.
  renewal smallint,
  -- Bits 0 to 2: first paid transaction of the user in its period of a cohort by days, for the anchors created, first_trial_or_paid and
  -- first_paid. Bits 3 to 5: the same of the subscription. Bit 6: first paid transaction of the subscription.
  firsts smallint,
  created bigint,
  first_trial_or_paid bigint,
  first_paid bigint,
  recorded bigint,
  purchase bigint,
  event text,
  primary key (environment, generation, id)
);
create index transaction_facts_by_seq on transaction_facts (environment, generation, seq);
create index transaction_facts_gone on transaction_facts (environment, generation, seq) where kind is null;
create index transaction_facts_by_user on transaction_facts (environment, generation, user_no);
create index transaction_facts_by_time on transaction_facts (environment, generation, happened);

-- One row per subscription and instant at which anything changed: the sides before and after. The last change that is known may lie in the
-- future. A side's amount is that of the latest paid period while the state is paid or grace and auto-renew is on, else null.
create table subscription_changes (
  environment int not null,
  generation smallint not null,
  id bigint generated always as identity,
  seq bigint not null,
  user_no bigint,
  subscription bigint,
  happened bigint,
  -- An end that time alone brings counts from here on; null: at once.
  counts_from bigint,
  -- 1 begin, 2 handover, 3 auto-renew, 4 grace, 5 retry, 6 end. null: a tombstone.
  cause smallint,
  -- States: 0 none, 1 trial, 2 paid, 3 grace, 4 retry, 5 ended. Lengths: 1 P1W, 2 P1M, 3 P2M, 4 P3M, 5 P6M, 6 P1Y.
  b_state smallint,
  b_renewing boolean,
  b_amount bigint,
  b_usd_given bigint,
  b_is_intro boolean,
  b_length smallint,
  b_bought_on int,
  b_platform int,
  b_product int,
  b_currency int,
  b_country int,
  b_app_version int,
  b_locale int,
  a_state smallint,
  a_renewing boolean,
  a_amount bigint,
  a_usd_given bigint,
  a_is_intro boolean,
  a_length smallint,
  a_bought_on int,
  a_platform int,
  a_product int,
  a_currency int,
  a_country int,
  a_app_version int,
  a_locale int,
  media int,
  campaign int,
  -- 1: a run with a paid period ended. 2: a run of a trial alone ended.
  ended smallint,
  -- Auto-renew was switched off, or the store gave up billing, in a run with a paid period.
  is_cancelled boolean,
  recorded bigint,
  primary key (environment, generation, id)
);
create index subscription_changes_by_seq on subscription_changes (environment, generation, seq);
create index subscription_changes_gone on subscription_changes (environment, generation, seq) where cause is null;
create index subscription_changes_by_user on subscription_changes (environment, generation, user_no);
create index subscription_changes_by_time on subscription_changes (environment, generation, happened);

-- Users whose facts cannot be folded. They are counted, and tried again at their next mark.
create table set_aside_users (
  environment int not null references environments,
  user_no bigint not null,
  error text not null,
  set_aside_at timestamptz not null default clock_timestamp(),
  primary key (environment, user_no)
);

-- Rates of exchange ---------------------------------------------------------------------------------------------------------------

-- So that a rate to USD is its own factor.
alter table currency_rates add constraint currency_rates_places check (usd_per_unit = round(usd_per_unit, 15));

-- One row for each statement that changed rates: the number of rows tells whether rates that a process keeps are still those.
create table rate_versions (
  changed_at timestamptz not null default clock_timestamp()
);
create function count_rate_version() returns trigger language plpgsql as
$$ begin insert into rate_versions default values; return null; end $$;
create trigger currency_rates_version after insert or update or delete or truncate on currency_rates
  for each statement execute function count_rate_version();

-- a ÷ b of positive numbers, half away from zero to 15 decimals. `round(a / b, 15)` would round twice: the scale of a division is limited.
create function rate_quotient(a numeric, b numeric) returns numeric language sql immutable parallel safe as
$$ select div(2000000000000000 * a + b, 2 * b) * 0.000000000000001 $$;

-- What an amount of a transaction of the day is multiplied with to be converted. null: one of the currencies has no rate.
create function currency_factor(source text, day date, target text) returns numeric language sql stable parallel safe as
$$ select case when source = target then 1 else rate_quotient(usd_rate(source, day), usd_rate(target, day)) end $$;

-- A sum in order of which no part is below 0 or above `most` (null: no limit): what went back of a transaction and was taken back again.
create function add_clamped(sum numeric, change numeric, most numeric) returns numeric language sql immutable parallel safe as
$$ select greatest(0, least(sum + change, coalesce(most, 'infinity'))) $$;
create aggregate clamped_sum(change numeric, most numeric) (sfunc = add_clamped, stype = numeric, initcond = '0');

-- Rates were imported that change the sums stored with customers: a job marks the users of the transactions of these currencies and days,
-- in bounded steps. from_day null: from the beginning; until_day (exclusive) null: for ever.
create table rate_changes (
  environment int primary key references environments,
  currencies text[] not null,
  from_day date,
  until_day date,
  -- Transactions of the database below this one may have used the former rates without being visible yet.
  settles_at xid8,
  -- The last fact that was looked at.
  happened bigint,
  id bigint
);

-- What was recorded before there were facts: workers fold it.
insert into fact_state (environment, fold_version) select id, 1 from environments;
insert into stale_users (environment, user_no) select environment, no from users;
