-- What a store credited of a purchase without a refund, as for the unused rest of a plan that was changed: [{"at": time, "amount": text}], in the order of
-- time. `isOfUpgrade`: the event of the upgrade has its value. credit_told: how much of the others the log says.
-- plan: what the plan of a period costs and how long it lasts, where the period itself is cut or prorated: {"price": text, "days": number}; null: as the
-- period.
alter table purchases
  add column credits jsonb not null default '[]',
  add column credit_told numeric not null default 0,
  add column plan jsonb;

-- kind: as before, and credit: what a store credited of a transaction. Its amounts are negative, so that sums over what was paid count it.
create or replace view perennial_transactions as
select t.environment, t.id, t.user_no, u.id as customer_uid,
  case t.kind when 1 then 'trial' when 2 then 'start' when 3 then 'conversion' when 4 then 'renewal' when 5 then 'one_time' when 6 then 'refund'
    when 7 then 'credit' end as kind,
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
