-- Products may last any number of days, weeks, months and years.
alter table products drop constraint products_duration_check;
alter table products add constraint products_duration_check
  check (duration ~ '^P(?=[1-9])([1-9][0-9]?Y)?([1-9][0-9]{0,2}M)?([1-9][0-9]{0,2}W)?([1-9][0-9]{0,3}D)?$');

-- Lengths of periods in facts other than 1 P1W, 2 P1M, 3 P2M, 4 P3M, 5 P6M and 6 P1Y: 100 and a number of months, or the negative of a number of days.
-- Readers find a common denominator of all that occur; a length stays when the last fact that has it is gone.
create table fact_lengths (
  environment int not null references environments,
  length smallint not null,
  primary key (environment, length)
);

-- In sixteenths of a day: a month has 487 of them. So a month ÷ length is a quotient of whole numbers for every length.
create function duration_16ths(duration text) returns int language sql immutable strict parallel safe return
  487 * (12 * coalesce(substring(duration from '([0-9]+)Y')::int, 0) + coalesce(substring(duration from '([0-9]+)M')::int, 0))
  + 16 * (7 * coalesce(substring(duration from '([0-9]+)W')::int, 0) + coalesce(substring(duration from '([0-9]+)D')::int, 0));

create function length_16ths(length smallint) returns int language sql immutable parallel safe return
  case length when 1 then 112 when 2 then 487 when 3 then 974 when 4 then 1461 when 5 then 2922 when 6 then 5844
    else case when length < 0 then -16 * length when length > 100 then 487 * (length - 100) end end;

-- The factor of a month in 336ths: whole for the six lengths above, else with 30 decimals.
create function monthly_336ths(duration text, length smallint) returns numeric language sql immutable parallel safe return
  trim_scale(round((336 * 487)::numeric(60, 34) / coalesce(duration_16ths(duration), length_16ths(length), 487), 30));

drop view perennial_subscription_changes;

-- Both sides of each change. amount: of the latest paid period while it counts for MRR, else null. monthly_336ths: the factor of a month, in 336ths:
-- of the product's present duration, else of the period's length. counts_from: an end that time alone brings counts from then on, dated back to
-- `happened`; null: at once.
create view perennial_subscription_changes as
select c.environment, c.id, c.user_no, u.id as customer_uid, c.subscription, c.happened, to_timestamp(c.happened) as happened_at,
  c.counts_from,
  case c.cause when 1 then 'begin' when 2 then 'handover' when 3 then 'auto_renew' when 4 then 'grace' when 5 then 'retry' when 6 then 'end' end as cause,
  case c.b_state when 0 then 'none' when 1 then 'trial' when 2 then 'paid' when 3 then 'grace' when 4 then 'retry' when 5 then 'ended' end as before_state,
  c.b_renewing as before_renewing, c.b_amount * 0.000001 as before_amount, c.b_usd_given * 0.000001 as before_usd_given,
  monthly_336ths(case when not c.b_is_intro then before_product.duration end, c.b_length) as before_monthly_336ths,
  date '1970-01-01' + c.b_bought_on as before_bought_on, before_platform.word as before_target_platform, before_product.store_product as before_store_product,
  before_product.product_id as before_product_id, before_currency.word as before_purchase_currency, before_country.word as before_country,
  before_app_version.word as before_app_version, before_locale.word as before_locale,
  case c.a_state when 0 then 'none' when 1 then 'trial' when 2 then 'paid' when 3 then 'grace' when 4 then 'retry' when 5 then 'ended' end as after_state,
  c.a_renewing as after_renewing, c.a_amount * 0.000001 as after_amount, c.a_usd_given * 0.000001 as after_usd_given,
  monthly_336ths(case when not c.a_is_intro then after_product.duration end, c.a_length) as after_monthly_336ths,
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
