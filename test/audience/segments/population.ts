import fc from 'fast-check'
import type { Condition } from '../../../domain/audience/segments/condition.ts'
import { createProject } from '../../../domain/projects/create.ts'
import { secretsFrom } from '../../../domain/projects/secrets.ts'
import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { APP_SECRET } from '../../harness/api.ts'

/** On the 31st: a month ago is the last day of February. */
export const NOW = '2026-03-31T12:00:00Z'

const TEXTS = [
  ...['', 'a', 'A', 'ab', 'ba', 'é', 'ß', '😀', 'ﬀ', '%', '_', 'a%b', '\\', '*', 'prod', 'null'],
  ...['1', '1.0', '01', '-0', '0', '0.0', '10', '9', '2.50', '-3', '-3.0', '1e3', '.5', '1.', '+1', ' 1', '１', '1\n'],
  ...['123456789012345678901234567890', '123456789012345678901234567890.0', '123456789012345678901234567890.000000000000000001'],
]
const VERSIONS = [
  ...['', '0', '1', '1.0', '1.0.0', '1.2', '1.10', '1.9', '01.2', '1.2b3', 'v1', '1.x.2', '1..2', '.', '0.0.1', '1.2.0.0'],
  ...['99999999999999999999', '99999999999999999999.1', '1.2.', '1. 2', '-1', '１.1'],
]
const COUNTRIES = ['DE', 'de', 'dE', 'US', 'us', 'FR']
const PLATFORMS = ['iOS', 'Android', 'Stripe', 'Paddle']
const NUMBERS = ['0', '-0', '1', '01', '2', '3', '-5', '9999999999999999999999']
const MONEY = ['0', '-0.00', '9.99', '9.990', '9.9900000000000000000000001', '-4.5', '100', '12345678901234567890.123456789']
const IDS = {
  entitlements: ['plus', 'pro', 'none'],
  experiments: ['x_active', 'x_paused', 'x_draft', 'x_finished'],
  keys: ['', 'k', 'z'],
}
/** Times around those that conditions mean at NOW. */
const EDGES = ['2026-03-30T12:00:00Z', '2026-02-28T12:00:00Z', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z', '2025-03-31T12:00:00Z', NOW]

const textual = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...TEXTS) }, fc.string({ unit: 'grapheme', maxLength: 8 }))
const storable = textual.filter(text => !text.includes('\0') && text.isWellFormed())
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 3 })
const time = fc
  .tuple(fc.constantFrom(...EDGES), fc.constantFrom(-1000, -500, 0, 1, 999, 1000, -86_400_000, 86_400_000))
  .map(([edge, ms]) => new Date(Date.parse(edge) + ms).toISOString())
const past = fc.constantFrom('2026-01-01T00:00:00Z', '2026-03-31T11:59:59.999Z', NOW)
const later = fc.constantFrom('2026-03-31T12:00:00.001Z', '2027-01-01T00:00:00Z')

const user = fc.record({
  created_at: time,
  last_seen_at: time,
  properties: fc.dictionary(fc.constantFrom('color', 'n', '_q_custom_user_id', '_q_advertising_id'), storable, { noNullPrototype: true }),
  property_version: maybe(fc.constantFrom(...VERSIONS)),
  advertiser_id: maybe(storable),
  platform: maybe(fc.constantFrom(...PLATFORMS)),
  country: maybe(fc.constantFrom(...COUNTRIES)),
  app_version: maybe(fc.constantFrom(...VERSIONS)),
  payments_count: fc.constantFrom(0, 1, 2, 3),
  net_payments_usd: fc.constantFrom(...MONEY),
  subscriptions: fc.array(
    fc.record({
      states: fc.array(fc.constantFrom('trial', 'paid', 'grace', 'retry', 'ended'), { minLength: 1, maxLength: 3 }),
      begun: fc.boolean(),
      auto_renewing: fc.boolean(),
      ever_paid: fc.boolean(),
      is_paused: fc.boolean(),
      planned_product: fc.constantFrom(null, null, 'yearly', 'weekly'),
    }),
    { maxLength: 3 },
  ),
  purchases: fc.array(
    fc.record({
      platform: fc.constantFrom('app_store', 'play_store', 'stripe', 'paddle'),
      product: fc.constantFrom('a', 'b', 'unlinked'),
      base_plan: maybe(fc.constantFrom('monthly', 'other')),
      purchased_at: fc.oneof(past, later),
      access_until: fc.oneof(past, later, fc.constant('infinity')),
      shared_with: maybe(fc.nat(1000)),
    }),
    { maxLength: 2 },
  ),
  grants: fc.uniqueArray(
    fc.record({ entitlement: fc.constantFrom('plus', 'pro'), starts_at: fc.oneof(past, later), expires_at: maybe(fc.oneof(past, later)) }),
    {
      selector: grant => grant.entitlement,
      maxLength: 2,
    },
  ),
  assignments: fc.uniqueArray(fc.constantFrom(...IDS.experiments), { maxLength: 2 }),
})

const CATALOGUE = `
insert into products (environment, id, apple_product_id, google_product_id, google_base_plan_id, stripe_product_id, paddle_product_id, created_at, updated_at)
  values ($1, 'p1', 'a', 'a', null, 'a', 'a', now(), now()), ($1, 'p2', 'b', 'a', 'monthly', 'b', null, now(), now()),
    ($1, 'p3', 'a', 'b', 'monthly', 'b', 'b', now(), now());
insert into entitlements (environment, id, created_at, updated_at) select $1, id, now(), now() from unnest(array['plus', 'pro', 'none']) id;
insert into entitlement_products (environment, entitlement_id, position, product_id)
  values ($1, 'plus', 0, 'p1'), ($1, 'pro', 0, 'p2'), ($1, 'pro', 1, 'p3');
insert into experiments (environment, id, name, alias_id, status, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
  select $1, id, id, id, substr(id, 3), case id when 'x_active' then '' else 'k' end, false, '[]', now(), now()
  from unnest(array['x_active', 'x_paused', 'x_draft', 'x_finished']) id;
insert into experiment_groups (environment, id, experiment_id, is_control, weight, created_at, updated_at)
  select environment, 'g_' || id, id, true, 1, now(), now() from experiments where environment = $1`

const PEOPLE = `
with given as materialized (select n, u from jsonb_array_elements($2::jsonb) with ordinality t(u, n)),
new_users as (
  insert into users (environment, id, created_at, last_seen_at, properties, advertiser_id, platform, country, app_version, payments_count, net_payments_usd)
  select $1, 'user' || n, (u ->> 'created_at')::timestamptz, (u ->> 'last_seen_at')::timestamptz,
    u -> 'properties' || case when u ->> 'property_version' is null then '{}' else jsonb_build_object('_q_app_version', u ->> 'property_version') end,
    u ->> 'advertiser_id', u ->> 'platform', u ->> 'country', u ->> 'app_version', (u ->> 'payments_count')::int, (u ->> 'net_payments_usd')::numeric
  from given),
new_subscriptions as (
  insert into subscriptions (environment, user_id, platform, lineage, state_at, states, auto_renewing, ever_paid, is_paused, planned_product)
  select $1, 'user' || n, 'app_store', n || '-' || m,
    (select array_agg($3::timestamptz + make_interval(days => (i - case when (s ->> 'begun')::boolean then 2 else 0 end)::int) order by i)
       from generate_series(1, jsonb_array_length(s -> 'states')) i),
    array(select jsonb_array_elements_text(s -> 'states')), (s ->> 'auto_renewing')::boolean, (s ->> 'ever_paid')::boolean,
    (s ->> 'is_paused')::boolean, s ->> 'planned_product'
  from given, jsonb_array_elements(u -> 'subscriptions') with ordinality t(s, m)),
new_lineages as (
  insert into lineages (environment, platform, lineage, user_id)
  select $1, p ->> 'platform', n || '-' || m, 'user' || n from given, jsonb_array_elements(u -> 'purchases') with ordinality t(p, m)
  returning id, lineage),
new_purchases as (
  insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, transaction_id, is_subscription, currency, price,
    amount, purchased_at, auto_renewing, created_at, access_until)
  select $1, l.id, 'user' || n, p ->> 'platform', p ->> 'product', p ->> 'base_plan', l.lineage, true, 'USD', '1', 1, (p ->> 'purchased_at')::timestamptz, true,
    now(), (p ->> 'access_until')::timestamptz
  from given, jsonb_array_elements(u -> 'purchases') with ordinality t(p, m), new_lineages l where l.lineage = n || '-' || m),
new_shares as (
  insert into lineage_shares (environment, lineage, user_id)
  select $1, l.id, 'user' || (p ->> 'shared_with')::int % (select count(*) from given) + 1
  from given, jsonb_array_elements(u -> 'purchases') with ordinality t(p, m), new_lineages l
  where l.lineage = n || '-' || m and p ->> 'shared_with' is not null),
new_grants as (
  insert into grants (environment, user_id, entitlement_id, starts_at, expires_at)
  select $1, 'user' || n, g ->> 'entitlement', (g ->> 'starts_at')::timestamptz, (g ->> 'expires_at')::timestamptz
  from given, jsonb_array_elements(u -> 'grants') g)
insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
select $1, x, 'user' || n, 'g_' || x, now() from given, jsonb_array_elements_text(u -> 'assignments') x`

/** Makes each second segment one of people on a list: every third user, from another one for each. */
const LISTS = `
with lists as (update segments set is_listed = true where environment = $1 and right(id, 1) ~ '[02468]' returning id)
insert into segment_members select $1, lists.id, u.id from lists join users u on u.environment = $1
where (substr(u.id, 5)::int + ascii(right(lists.id, 1))) % 3 = 0`

/** Random users with purchases, grants and assignments, and a few segments, in a new production environment. */
export async function populate(
  pool: Pool,
  count: number,
  seed: number,
  segments: Record<string, Condition[]>,
): Promise<{ environment: number; users: string[] }> {
  return transaction(pool, async tx => {
    const { id } = await createProject(tx, secretsFrom(APP_SECRET), { name: 'Population' })
    const { rows } = await tx.query<{ id: number }>(`select id from environments where project = $1 and kind = 'production'`, [id])
    const environment = rows[0]!.id
    for (const statement of CATALOGUE.split(';')) await tx.query(statement, [environment])
    const people = fc.sample(user, { numRuns: count, seed })
    await tx.query(PEOPLE, [environment, JSON.stringify(people), NOW])
    for (const [name, conditions] of Object.entries(segments))
      await tx.query('insert into segments values ($1, $2, $2, $3, now(), now())', [environment, name, JSON.stringify(conditions)])
    await tx.query(LISTS, [environment])
    return { environment, users: people.map((_, i) => `user${i + 1}`) }
  })
}

const TIMES = [
  ...['2026-03-30', '2026-03-01', '2026-02-28', '2026-03-31', '1969-01-01', '9999-12-31', '0001-01-01'],
  ...['2026-03-30T12:00:00Z', '2026-03-30T12:00:00.9Z', '2026-03-30T14:00:00+02:00', '2026-03-31T12:00:00z', '9999-12-31T23:59:59Z'],
  ...['-P1D', '-P1M', '-P1Y', '-P1M1D', '-PT24H', '-PT0S', '-P0D', '-P1W', '-PT86399S', '-P1Y1M1DT1H1M1S', '-P3000Y', '-P99999999999999D'],
]

const condition = (metric: string | string[], comparators: string[], value: fc.Arbitrary<string>) =>
  fc.record({
    metric: fc.constantFrom(...[metric].flat()),
    comparator: fc.constantFrom(...comparators) as fc.Arbitrary<Condition['comparator']>,
    value,
    negate: fc.boolean(),
  })
const EQUALITY = ['eq', 'ne']
const TEXT = ['eq', 'ne', 'contains', 'not_contains']
const ORDER = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte']
const TRUTHS = fc.constantFrom('1', '0', 'true', 'false')

/** Every metric with all its comparators; `segments`: the ids that a condition can name. */
export const anyCondition = (segments: string[]): fc.Arbitrary<Condition> =>
  fc.oneof(
    condition('environment', EQUALITY, fc.constantFrom('prod', 'sandbox')),
    condition(['client_uid', 'custom_uid', 'client_advertiser_id'], TEXT, fc.oneof(storable, fc.constantFrom('user1', 'user', '7'))),
    condition(['renewable', 'has_active_subscription', 'entitlement:plus', 'entitlement:pro', 'entitlement:none'], EQUALITY, TRUTHS),
    condition('target_platform', EQUALITY, fc.constantFrom(...PLATFORMS)),
    condition('country', TEXT, fc.constantFrom(...COUNTRIES)),
    condition('country', ['contains', 'not_contains'], fc.constantFrom('e', 'D', '', 'ß', '_')),
    condition('app_version', ORDER, fc.constantFrom(...VERSIONS)),
    condition(['install_date', 'last_seen'], ORDER, fc.constantFrom(...TIMES)),
    condition('is_paused', EQUALITY, TRUTHS),
    condition('planned_product_id', TEXT, fc.constantFrom('yearly', 'year', 'weekly', '')),
    condition('auto_renew', EQUALITY, fc.constantFrom('on', 'off', 'none')),
    condition('subscription_state', EQUALITY, fc.constantFrom('none', 'trial', 'active', 'billing_retry', 'expired')),
    condition(
      ['property:color', 'property:n', 'property:absent', 'property:_q_custom_user_id'],
      [...ORDER, 'contains', 'not_contains'],
      storable,
    ),
    condition('purchases_count', ORDER, fc.constantFrom(...NUMBERS)),
    condition('revenue_usd', ORDER, fc.constantFrom(...MONEY)),
    ...(segments.length === 0
      ? []
      : [
          condition('segment', EQUALITY, fc.constantFrom(...segments)),
          condition('attached_experiment', EQUALITY, fc.constantFrom(...IDS.experiments)),
          condition('attached_experiment_context_key', EQUALITY, fc.constantFrom(...IDS.keys)),
        ]),
  )
