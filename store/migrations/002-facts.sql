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
  -- How many runs with a paid period ended then, and how many of a trial alone: a run may begin and end within a second.
  paid_ended smallint,
  trials_ended smallint,
  -- In how many runs with a paid period auto-renew was switched off, or the store gave up billing.
  cancelled smallint,
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

-- One row, which workers write: once a minute one of them folds some users anew and compares the facts with the stored ones.
create table fact_audit (
  one boolean primary key default true check (one),
  -- When the last look began.
  looked_at timestamptz not null,
  -- Users whose facts the last look found different from a new fold.
  drifted int not null default 0,
  -- Users since the first look.
  drifted_total bigint not null default 0,
  compared_total bigint not null default 0
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

-- Views -----------------------------------------------------------------------------------------------------------------------------
--
-- The facts that readers see, with their words spelled out: what explained figures are stated on, and what an operator may ask. Every view
-- has the environment, which a question must restrict. Times are Unix seconds, as in requests, and beside them as timestamps. Amounts are in
-- their currency.

-- What the word of a product stands for: `platform|store product` or `platform|store product|base plan`. product_id: the product that links it,
-- else the store's own.
create view perennial_products as
select w.environment, w.no as store_product_no, w.word as store_product, nullif(s.platform, '') as target_platform,
  coalesce(p.id, s.product || coalesce(':' || s.plan, '')) as product_id, p.id is not null as is_linked, p.duration
from fact_words w
cross join lateral (
  select split_part(w.word, '|', 1) as platform,
    case when w.word like 'Android|%' then split_part(w.word, '|', 2) else substr(w.word, strpos(w.word, '|') + 1) end as product,
    case when w.word like 'Android|%|%' then split_part(w.word, '|', 3) end as plan) s
left join products p on p.environment = w.environment and p.id = case s.platform
  when 'iOS' then linked_product(w.environment, 'app_store', s.product, null)
  when 'Android' then linked_product(w.environment, 'play_store', s.product, s.plan)
  when 'Stripe' then linked_product(w.environment, 'stripe', s.product, null)
  when 'Paddle' then linked_product(w.environment, 'paddle', s.product, null) end
where w.word ~ '^(iOS|Android|Stripe|Paddle|)[|]';

-- USD per unit of the currency on the days from_day <= day < until_day.
create view perennial_rates as
select currency,
  case when lag(date) over by_date is null then '-infinity' else date end as from_day,
  coalesce(lead(date) over by_date, 'infinity') as until_day,
  usd_per_unit
from currency_rates window by_date as (partition by currency order by date)
union all
select 'USD', '-infinity', 'infinity', 1;

create view perennial_users as
select f.environment, f.user_no, u.id as customer_uid, f.created, to_timestamp(f.created) as created_at,
  f.first_trial, f.first_paid, f.first_trial_or_paid,
  platform.word as target_platform, country.word as country, app_version.word as app_version, locale.word as locale,
  media.word as media_source_name, campaign.word as campaign_name, ad_set.word as ad_set, ad.word as ad, u.device_id
from user_facts f
join fact_state s on s.environment = f.environment and s.generation = f.generation
left join users u on u.no = f.user_no
left join fact_words platform on platform.environment = f.environment and platform.no = f.platform
left join fact_words country on country.environment = f.environment and country.no = f.country
left join fact_words app_version on app_version.environment = f.environment and app_version.no = f.app_version
left join fact_words locale on locale.environment = f.environment and locale.no = f.locale
left join fact_words media on media.environment = f.environment and media.no = f.media
left join fact_words campaign on campaign.environment = f.environment and campaign.no = f.campaign
left join fact_words ad_set on ad_set.environment = f.environment and ad_set.no = f.ad_set
left join fact_words ad on ad.environment = f.environment and ad.no = f.ad
where not f.gone;

-- kind: a refund has the attributes and the day (bought_on) of its transaction. proceeds, usd_given, proceeds_usd: null unless stated.
-- subscription null: a one-time purchase. is_loyal: after 365 paid days of the subscription. converted, cancelled, refunded: what became of the
-- transaction, and when.
create view perennial_transactions as
select t.environment, t.id, t.user_no, u.id as customer_uid,
  case t.kind when 1 then 'trial' when 2 then 'start' when 3 then 'conversion' when 4 then 'renewal' when 5 then 'one_time' when 6 then 'refund' end as kind,
  t.happened, to_timestamp(t.happened) as happened_at, date '1970-01-01' + t.bought_on as bought_on,
  platform.word as target_platform, product.store_product, product.product_id, currency.word as purchase_currency, country.word as country,
  app_version.word as app_version, locale.word as locale, media.word as media_source_name, campaign.word as campaign_name,
  screen.word as screen_id, t.amount * 0.000001 as amount, t.proceeds * 0.000001 as proceeds, t.usd_given * 0.000001 as usd_given,
  t.proceeds_usd * 0.000001 as proceeds_usd, t.is_loyal, t.subscription, t.ends, t.open_until, t.converted_at as converted,
  t.cancelled_at as cancelled, t.refunded_at as refunded, t.refunded * 0.000001 as refunded_amount,
  t.recorded, to_timestamp(t.recorded) as recorded_at, t.purchase as purchase_id, t.event as event_id
from transaction_facts t
join fact_state s on s.environment = t.environment and s.generation = t.generation
left join users u on u.no = t.user_no
left join perennial_products product on product.environment = t.environment and product.store_product_no = t.product
left join fact_words platform on platform.environment = t.environment and platform.no = t.platform
left join fact_words currency on currency.environment = t.environment and currency.no = t.currency
left join fact_words country on country.environment = t.environment and country.no = t.country
left join fact_words app_version on app_version.environment = t.environment and app_version.no = t.app_version
left join fact_words locale on locale.environment = t.environment and locale.no = t.locale
left join fact_words media on media.environment = t.environment and media.no = t.media
left join fact_words campaign on campaign.environment = t.environment and campaign.no = t.campaign
left join fact_words screen on screen.environment = t.environment and screen.no = t.screen
where t.kind is not null;

-- Both sides of each change. amount: of the latest paid period while it counts for MRR, else null. monthly_336ths: the factor of a month, in 336ths:
-- of the product's present duration, else of the period's length. counts_from: an end that time alone brings counts from then on, dated back to
-- `happened`; null: at once.
create view perennial_subscription_changes as
select c.environment, c.id, c.user_no, u.id as customer_uid, c.subscription, c.happened, to_timestamp(c.happened) as happened_at,
  c.counts_from,
  case c.cause when 1 then 'begin' when 2 then 'handover' when 3 then 'auto_renew' when 4 then 'grace' when 5 then 'retry' when 6 then 'end' end as cause,
  case c.b_state when 0 then 'none' when 1 then 'trial' when 2 then 'paid' when 3 then 'grace' when 4 then 'retry' when 5 then 'ended' end as before_state,
  c.b_renewing as before_renewing, c.b_amount * 0.000001 as before_amount, c.b_usd_given * 0.000001 as before_usd_given,
  case coalesce(case when not c.b_is_intro then before_product.duration end, (array['P1W', 'P1M', 'P2M', 'P3M', 'P6M', 'P1Y'])[c.b_length], 'P1M')
    when 'P1W' then 1461 when 'P1M' then 336 when 'P2M' then 168 when 'P3M' then 112 when 'P6M' then 56 else 28 end as before_monthly_336ths,
  date '1970-01-01' + c.b_bought_on as before_bought_on, before_platform.word as before_target_platform, before_product.store_product as before_store_product,
  before_product.product_id as before_product_id, before_currency.word as before_purchase_currency, before_country.word as before_country,
  before_app_version.word as before_app_version, before_locale.word as before_locale,
  case c.a_state when 0 then 'none' when 1 then 'trial' when 2 then 'paid' when 3 then 'grace' when 4 then 'retry' when 5 then 'ended' end as after_state,
  c.a_renewing as after_renewing, c.a_amount * 0.000001 as after_amount, c.a_usd_given * 0.000001 as after_usd_given,
  case coalesce(case when not c.a_is_intro then after_product.duration end, (array['P1W', 'P1M', 'P2M', 'P3M', 'P6M', 'P1Y'])[c.a_length], 'P1M')
    when 'P1W' then 1461 when 'P1M' then 336 when 'P2M' then 168 when 'P3M' then 112 when 'P6M' then 56 else 28 end as after_monthly_336ths,
  date '1970-01-01' + c.a_bought_on as after_bought_on, after_platform.word as after_target_platform, after_product.store_product as after_store_product,
  after_product.product_id as after_product_id, after_currency.word as after_purchase_currency, after_country.word as after_country,
  after_app_version.word as after_app_version, after_locale.word as after_locale,
  media.word as media_source_name, campaign.word as campaign_name,
  c.paid_ended, c.trials_ended, c.cancelled, c.recorded, to_timestamp(c.recorded) as recorded_at
from subscription_changes c
join fact_state s on s.environment = c.environment and s.generation = c.generation
left join users u on u.no = c.user_no
left join perennial_products before_product on before_product.environment = c.environment and before_product.store_product_no = c.b_product
left join fact_words before_platform on before_platform.environment = c.environment and before_platform.no = c.b_platform
left join fact_words before_currency on before_currency.environment = c.environment and before_currency.no = c.b_currency
left join fact_words before_country on before_country.environment = c.environment and before_country.no = c.b_country
left join fact_words before_app_version on before_app_version.environment = c.environment and before_app_version.no = c.b_app_version
left join fact_words before_locale on before_locale.environment = c.environment and before_locale.no = c.b_locale
left join perennial_products after_product on after_product.environment = c.environment and after_product.store_product_no = c.a_product
left join fact_words after_platform on after_platform.environment = c.environment and after_platform.no = c.a_platform
left join fact_words after_currency on after_currency.environment = c.environment and after_currency.no = c.a_currency
left join fact_words after_country on after_country.environment = c.environment and after_country.no = c.a_country
left join fact_words after_app_version on after_app_version.environment = c.environment and after_app_version.no = c.a_app_version
left join fact_words after_locale on after_locale.environment = c.environment and after_locale.no = c.a_locale
left join fact_words media on media.environment = c.environment and media.no = c.media
left join fact_words campaign on campaign.environment = c.environment and campaign.no = c.campaign
where c.cause is not null;

-- When users were active: created, an event, a transaction. day: in UTC.
create view perennial_active_days as
select a.environment, a.user_no, (a.active_at at time zone 'UTC')::date as day, a.active_at from (
  select e.environment, u.no as user_no, e.happened_at as active_at from events e join users u on u.environment = e.environment and u.id = e.user_id
  union all
  select f.environment, f.user_no, to_timestamp(f.created) from user_facts f
    join fact_state s on s.environment = f.environment and s.generation = f.generation where not f.gone
  union all
  select t.environment, t.user_no, to_timestamp(t.happened) from transaction_facts t
    join fact_state s on s.environment = t.environment and s.generation = t.generation where t.kind between 1 and 5) a;

-- What was recorded before there were facts: workers fold it.
insert into fact_state (environment, fold_version) select id, 1 from environments;
insert into stale_users (environment, user_no) select environment, no from users;
