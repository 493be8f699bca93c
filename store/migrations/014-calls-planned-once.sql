-- Postgres 18 plans the statements of a function anew at each call where the connection plans each execution (`force_custom_plan`): 50 µs for a
-- rate or a linked product, many times what the look-up takes. Now each of these plans once in a connection, or is inlined.

create or replace function usd_rate(wanted text, day date) returns numeric language plpgsql stable parallel safe
set plan_cache_mode = force_generic_plan as
$$
declare
  rate numeric;
begin
  if wanted = 'USD' then
    return 1;
  end if;
  -- Most currencies have a rate of each working day. Without an end, a scan backwards compares a page of dates: three times as long.
  select usd_per_unit into rate from currency_rates
  where currency = wanted collate "default" and date <= day and date > day - 10 order by date desc limit 1;
  if not found then
    select usd_per_unit into rate from currency_rates where currency = wanted collate "default" and date <= day order by date desc limit 1;
  end if;
  if not found then
    select usd_per_unit into rate from currency_rates where currency = wanted collate "default" and date > day order by date limit 1;
  end if;
  return rate;
end
$$;

create or replace function currency_factor(source text, day date, target text) returns numeric language plpgsql stable parallel safe as
$$
declare
  source_rate numeric;
  target_rate numeric;
begin
  if source = target then
    return 1;
  end if;
  source_rate := usd_rate(source, day);
  target_rate := usd_rate(target, day);
  return rate_quotient(source_rate, target_rate);
end
$$;

create or replace function add_clamped(sum numeric, change numeric, most numeric) returns numeric language plpgsql immutable parallel safe as
$$ begin return greatest(0, least(sum + change, coalesce(most, 'infinity'))); end $$;

-- state_at ascends.
create or replace function subscription_state(state_at timestamptz[], states text[], t timestamptz) returns text language sql immutable parallel safe as
$$ select states[width_bucket(t, state_at)] $$;

create or replace function sorted_properties(properties jsonb) returns text language plpgsql immutable parallel safe
set plan_cache_mode = force_generic_plan as
$$
begin
  -- Most users have none.
  if properties = '{}' then
    return '{}';
  end if;
  return (select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by key collate "C") || '}' from jsonb_each(properties));
end
$$;

drop index products_by_apple, products_by_google, products_by_stripe, products_by_paddle;
create index products_by_apple on products (environment, apple_product_id, created_at, id) where apple_product_id is not null;
create index products_by_google on products (environment, google_product_id, created_at, id) where google_product_id is not null;
create index products_by_stripe on products (environment, stripe_product_id, created_at, id) where stripe_product_id is not null;
create index products_by_paddle on products (environment, paddle_product_id, created_at, id) where paddle_product_id is not null;

-- As before: the oldest product that links the id, then the one with the smallest id; one that names the base plan comes before those of every
-- base plan. Ordered ranges leave one index to a plan that was made while the table was empty.
create or replace function linked_product(env int, store text, store_product text, base_plan text) returns text language plpgsql stable
set plan_cache_mode = force_generic_plan as
$$
declare
  linked text;
begin
  if store = 'app_store' then
    select id into linked from products
    where environment = env and apple_product_id >= store_product and apple_product_id <= store_product
    order by apple_product_id, created_at, id limit 1;
  elsif store = 'stripe' then
    select id into linked from products
    where environment = env and stripe_product_id >= store_product and stripe_product_id <= store_product
    order by stripe_product_id, created_at, id limit 1;
  elsif store = 'paddle' then
    select id into linked from products
    where environment = env and paddle_product_id >= store_product and paddle_product_id <= store_product
    order by paddle_product_id, created_at, id limit 1;
  else
    select id into linked from products
    where environment = env and google_product_id >= store_product and google_product_id <= store_product and google_base_plan_id = base_plan
    order by google_product_id, created_at, id limit 1;
    if not found then
      select id into linked from products
      where environment = env and google_product_id >= store_product and google_product_id <= store_product and google_base_plan_id is null
      order by google_product_id, created_at, id limit 1;
    end if;
  end if;
  return linked;
end
$$;
