-- Why a figure of the past is another one than before: what rates were, and what was erased. Both are kept for 90 days.

-- null: before this column was. A rate that is loaded again keeps the time at which its date was first loaded.
alter table currency_rates add column loaded_at timestamptz;
alter table currency_rates alter column loaded_at set default clock_timestamp();

-- What a rate was until it was replaced.
create table replaced_rates (
  currency text not null,
  date date not null,
  usd_per_unit numeric not null,
  replaced_at timestamptz not null default clock_timestamp(),
  primary key (currency, date, replaced_at)
);
create index replaced_rates_by_time on replaced_rates (replaced_at);
create function keep_replaced_rates() returns trigger language plpgsql as
$$ begin
  insert into replaced_rates (currency, date, usd_per_unit)
  select o.currency, o.date, o.usd_per_unit from former o join latter n on n.currency = o.currency and n.date = o.date
  where o.usd_per_unit <> n.usd_per_unit;
  return null;
end $$;
create trigger currency_rates_replaced after update on currency_rates referencing old table as former new table as latter
  for each statement execute function keep_replaced_rates();

-- As `usd_rate` was at a time. A rate that is loaded for a date before the first one counts from then on, too. Called for each day of purchases, so
-- its statement is planned once in a session.
create function usd_rate_at(wanted text, day date, at timestamptz) returns numeric
language plpgsql stable parallel safe set plan_cache_mode = force_generic_plan as
$$ begin
  if wanted = 'USD' then return 1; end if;
  return (
    select coalesce(
      (select o.usd_per_unit from replaced_rates o where o.currency = r.currency and o.date = r.date and o.replaced_at > at order by o.replaced_at limit 1),
      r.usd_per_unit)
    from (
      (select currency, date, usd_per_unit, 1 as choice from currency_rates
       where currency = wanted collate "default" and date <= day and (loaded_at is null or loaded_at <= at) order by date desc limit 1)
      union all
      (select currency, date, usd_per_unit, 2 from currency_rates
       where currency = wanted collate "default" and date > day and (loaded_at is null or loaded_at <= at) order by date limit 1)) r
    order by r.choice limit 1);
end $$;

-- What erased users had paid, by whole days and without anything that names them: neither a user, nor a purchase, nor a time of day, nor an order.
-- Equal facts that were erased on one day are one row, whoever had them. kind null: users; nothing else is kept of them.
create table erased_facts (
  environment int not null,
  -- The beginning of the day of UTC, on the clock of the environment.
  erased_at timestamptz not null,
  kind smallint,
  recorded bigint,
  happened bigint,
  bought_on int,
  platform int,
  product int,
  currency int,
  country int,
  amount bigint,
  proceeds bigint,
  usd_given bigint,
  proceeds_usd bigint,
  is_loyal boolean,
  -- 1 of a subscription, null of a one-time purchase.
  subscription bigint,
  facts int not null
);
create unique index erased_facts_once on erased_facts (environment, erased_at, kind, recorded, happened, bought_on, platform, product, currency, country,
  amount, proceeds, usd_given, proceeds_usd, is_loyal, subscription) nulls not distinct;

-- From when on these are known.
create table causes_known (since timestamptz not null default clock_timestamp());
insert into causes_known default values;
