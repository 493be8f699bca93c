import type { Pool } from '../store/connect.ts'
import { say, thousands } from './report.ts'

const SLICE = 100_000
export const FACT_DAYS = 365
const CURRENCIES = [
  'USD',
  'EUR',
  'GBP',
  'JPY',
  'BRL',
  'INR',
  'CAD',
  'AUD',
  'CHF',
  'SEK',
  'NOK',
  'DKK',
  'PLN',
  'CZK',
  'HUF',
  'TRY',
  'MXN',
  'ZAR',
  'KRW',
  'SGD',
]

/** Words of the facts, in order: the numbers of a kind follow each other. */
const WORDS = {
  platform: ['iOS', 'Android', 'Stripe', 'Paddle'],
  product: Array.from({ length: 40 }, (_, n) => `${['iOS', 'Android', 'Stripe', 'Paddle'][n % 4]}|product.${n}`),
  currency: CURRENCIES,
  country: Array.from({ length: 150 }, (_, n) => `${String.fromCharCode(65 + (n % 26))}${String.fromCharCode(65 + Math.floor(n / 26))}`),
  media: Array.from({ length: 20 }, (_, n) => `Media source ${n}`),
  campaign: Array.from({ length: 300 }, (_, n) => `Campaign ${n}`),
  version: Array.from({ length: 60 }, (_, n) => `${Math.floor(n / 10)}.${n % 10}`),
  locale: Array.from({ length: 50 }, (_, n) => `locale-${n}`),
}
type Kind = keyof typeof WORDS

/** SQL for the number of a word that stands for the user or the subscription `h`. */
const wordOf =
  (first: Map<Kind, number>) =>
  (kind: Kind, salt: number, h = 'n') =>
    `${first.get(kind)} + (hashint8(${h} * 31 + ${salt})::bigint & 2147483647) % ${WORDS[kind].length}`

const hash = (salt: number, of: number) => `((hashint8(n * 31 + ${salt})::bigint & 2147483647) % ${of})`

async function addVocabulary(pool: Pool, environment: number): Promise<Map<Kind, number>> {
  const first = new Map<Kind, number>()
  for (const [kind, words] of Object.entries(WORDS)) {
    const { rows } = await pool.query<{ no: number }>(
      'insert into fact_words (environment, word, seq) select $1, word, 1 from unnest($2::text[]) with ordinality w(word, n) order by n returning no',
      [environment, words],
    )
    first.set(kind as Kind, Math.min(...rows.map(({ no }) => no)))
  }
  return first
}

/** Every currency at a rate that moves from day to day, over the year of the facts. */
const RATES = `insert into currency_rates (currency, date, usd_per_unit)
  select c, current_date - d, round((0.2 + (hashint8(ascii(c) * 7 + ascii(substr(c, 2)))::bigint & 1023) * 0.001 + d * 0.0001)::numeric, 6)
  from unnest($1::text[]) c, generate_series(0, ${FACT_DAYS + 30}) d where c <> 'USD' on conflict do nothing`

/**
 * Lives of so many users over a year, written as facts and not as the events that they would be folded from: 52 % of the users begin a
 * subscription, most of them with a trial, and renew it by the week or by the month. Returns the number of facts.
 */
export async function seedFacts(
  pool: Pool,
  environment: number,
  users: number,
): Promise<{ transactions: number; changes: number; end: number }> {
  say(`seeding facts of ${thousands(users)} users`)
  const word = wordOf(await addVocabulary(pool, environment))
  await pool.query(RATES, [CURRENCIES])
  const end = Math.floor(Date.now() / 1000)
  const start = end - FACT_DAYS * 86_400
  const lives = `select n, ${start} + n * ${FACT_DAYS * 86_400} / ${users} as created, ${hash(1, 100)} < 52 as buys, ${hash(2, 100)} < 60 as tries,
      (case when ${hash(3, 3)} = 0 then 7 else 30 end) * 86400 as length, 1 + ${hash(4, 26)} as periods, ${hash(5, 10)} < 3 as off,
      (1990000 + ${hash(6, 80)} * 1000000)::bigint as price,
      ${word('platform', 11)} as platform, ${word('product', 12)} as product, ${word('currency', 13)} as currency, ${word('country', 14)} as country,
      ${word('version', 15)} as version, ${word('locale', 16)} as locale, ${word('media', 17)} as media, ${word('campaign', 18)} as campaign
    from generate_series($2::bigint, $3::bigint) n`
  const periods = `select l.*, i, l.created + i * l.length as at, i = 0 and l.tries as is_trial, i = last as is_last
    from (select *, least(periods, (${end} - created) / length)::int as last from (${lives}) l where buys) l, generate_series(0, last) i`
  const statements = [
    `insert into users (environment, id, created_at, last_seen_at) select $1, 'user-' || n, to_timestamp(created), to_timestamp(created) from (${lives}) l`,
    `insert into user_facts (environment, generation, user_no, seq, created, first_trial, first_paid, first_trial_or_paid, platform, country, app_version,
        locale, media, campaign, ad_set, ad, class_platform, class_product, class_currency, class_country, class_app_version, class_locale)
      select $1, 1, u.no, 1, created, case when buys and tries then created end,
        case when buys and (not tries or created + length < ${end}) then created + case when tries then length else 0 end end,
        case when buys then created end, platform, country, version, locale, media, campaign, 0, 0,
        platform, product, currency, country, version, locale
      from (${lives}) l join (select id, no from users where environment = $1) u on u.id = 'user-' || n`,
    `insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, platform, product, currency, country, app_version,
        locale, media, campaign, screen, amount, is_loyal, subscription, ends, open_until, converted_at, cancelled_at, refunded_at, refunded, paid_before,
        renewal, firsts, created, first_trial_or_paid, first_paid, recorded)
      select $1, 1, 1, u.no, case when is_trial then 1 when i = 0 then 2 when i = 1 and tries then 3 else 4 end, at, at / 86400, platform, product, currency,
        country, version, locale, media, campaign, 0, case when is_trial then 0 else price end, i * length > 31536000, n, at + length, at + length,
        case when is_trial and last > 0 then at + length end, case when is_last and off then at + length / 2 end,
        case when not is_trial and ${hash(7, 40)} = 0 and is_last then at + 86400 end, case when not is_trial and ${hash(7, 40)} = 0 and is_last then price end,
        case when i > 1 or (i = 1 and not tries) then at - length end, case when is_trial then null else i + case when tries then 0 else 1 end end,
        case when is_trial then 0 when i = 0 or (i = 1 and tries) then 255 else 191 end, created, created,
        case when not tries or created + length < ${end} then created + case when tries then length else 0 end end, at
      from (${periods}) p join (select id, no from users where environment = $1) u on u.id = 'user-' || n`,
    `insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, platform, product, currency, country, app_version,
        locale, media, campaign, screen, amount, is_loyal, subscription, created, first_trial_or_paid, first_paid, recorded)
      select $1, 1, 1, u.no, 6, at + 86400, at / 86400, platform, product, currency, country, version, locale, media, campaign, 0, price, false, n,
        created, created, created, at + 86400
      from (${periods}) p join (select id, no from users where environment = $1) u on u.id = 'user-' || n where not is_trial and ${hash(7, 40)} = 0 and is_last`,
    `insert into subscription_changes (environment, generation, seq, user_no, subscription, happened, cause,
        b_state, b_renewing, b_amount, b_is_intro, b_length, b_bought_on, b_platform, b_product, b_currency, b_country, b_app_version, b_locale,
        a_state, a_renewing, a_amount, a_is_intro, a_length, a_bought_on, a_platform, a_product, a_currency, a_country, a_app_version, a_locale,
        media, campaign, paid_ended, trials_ended, cancelled, recorded)
      select $1, 1, 1, u.no, n, c.happened, c.cause, c.b, c.b_on, c.b_amount, false, w, (c.happened - case when c.cause = 3 then length / 2 else length end) / 86400, platform, product, currency,
        country, version, locale, c.a, c.a_on, c.a_amount, false, w, c.happened / 86400, platform, product, currency, country, version, locale,
        media, campaign, case when c.cause = 6 and b = 2 then 1 else 0 end, case when c.cause = 6 and b = 1 then 1 else 0 end,
        case when c.cause = 3 and b = 2 then 1 else 0 end, c.happened
      from (select *, case when length < 864000 then 1 else 2 end as w from (${periods}) p) p
      join (select id, no from users where environment = $1) u on u.id = 'user-' || n
      cross join lateral (
        select at as happened, case when i = 0 then 1 else 2 end as cause, case when i = 0 then 0 when i = 1 and tries then 1 else 2 end as b,
          i > 0 as b_on, case when i > 1 or (i = 1 and not tries) then price end as b_amount, case when is_trial then 1 else 2 end as a, true as a_on,
          case when is_trial then null else price end as a_amount
        union all
        select at + length / 2, 3, case when is_trial then 1 else 2 end, true, case when is_trial then null else price end,
          case when is_trial then 1 else 2 end, false, null where is_last and off
        union all
        select at + length, 6, case when is_trial then 1 else 2 end, not off, case when is_trial or off then null else price end, 5, false, null
        where is_last) c`,
  ]
  for (let n = 0; n < users; n += SLICE) {
    for (const statement of statements) await pool.query(statement, [environment, n, Math.min(n + SLICE, users) - 1])
  }
  await pool.query('update fact_state set seq = 1 where environment = $1', [environment])
  await pool.query('delete from stale_users where environment = $1', [environment])
  for (const table of ['users', 'user_facts', 'transaction_facts', 'subscription_changes']) await pool.query(`vacuum (analyze) ${table}`)
  await pool.query('checkpoint')
  const count = async (table: string) =>
    (await pool.query<{ n: number }>(`select count(*)::float8 as n from ${table} where environment = $1`, [environment])).rows[0]!.n
  return { transactions: await count('transaction_facts'), changes: await count('subscription_changes'), end }
}
