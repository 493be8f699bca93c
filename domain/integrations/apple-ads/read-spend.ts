import type { Db } from '../../../store/connect.ts'
import { factorsTo } from '../../purchases/rates/factors.ts'
import { LEVELS, type Level, SETTLING_DAYS } from './spend.ts'
import { type Days, dayOfDate, exceeded } from './windows.ts'

/** One unit of money in the sums of spend: Apple's amounts have at most 10 decimals, a factor has 15. */
export const SPEND_PER_UNIT = 10n ** 25n

/** `part`: on how many edges' later side the days lie. `unrated`: some of it has a currency without a rate. */
export type SpendRow = { id: string; part: number; spend: bigint; unrated: boolean; impressions: number; taps: number; installs: number }

export type SpendQuestion = {
  integration: number
  level: Level
  days: Days
  currency: string
  countries: readonly string[] | null
  campaigns: readonly string[] | null
}

const DAY_OF = `(s.date - date '1970-01-01')`

/** `by`: SQL for the parts in which days are summed. `id`: SQL for what is summed apart. */
async function sums(db: Db, question: SpendQuestion, id: string, by: string): Promise<SpendRow[]> {
  const { integration, level, days, currency, countries, campaigns } = question
  const { rows: used } = await db.query<{ currency: string }>(
    `select distinct currency from apple_ads_spend where integration = $1 and level = $2`,
    [integration, LEVELS[level]],
  )
  const factors = await factorsTo(db, currency, { currencies: used.map(one => one.currency), from: days.first, until: days.end })
  const { rows } = await db.query<Omit<SpendRow, 'spend'> & { spend: string }>(
    `select ${id} as id, ${by} as part, coalesce(trunc(sum(s.spend * f.factor) * 10000000000), 0)::text as spend,
       bool_or(f.factor is null and s.spend <> 0) as unrated, sum(s.impressions)::bigint as impressions, sum(s.taps)::bigint as taps,
       sum(s.installs)::bigint as installs
     from apple_ads_spend s left join unnest($7::text[], $8::int[], $9::int[], $10::numeric[]) f(currency, first, until, factor)
       on f.currency = s.currency and ${DAY_OF} >= f.first and ${DAY_OF} < f.until
     where s.integration = $1 and s.level = $2 and s.date >= date '1970-01-01' + $3::int and s.date < date '1970-01-01' + $4::int
       and ($5::text[] is null or s.country = any ($5)) and ($6::text[] is null or s.campaign_id = any ($6))
     group by 1, 2`,
    [
      integration,
      LEVELS[level],
      days.first,
      days.end,
      countries,
      campaigns,
      factors.map(factor => factor.currency),
      factors.map(({ from }) => from),
      factors.map(({ until }) => until),
      factors.map(({ factor }) => String(factor)),
    ],
  )
  return rows.map(row => ({ ...row, spend: BigInt(row.spend) }))
}

/** What each entity cost, in parts that lie between the edges. */
export const spendByEntity = (db: Db, question: SpendQuestion, edges: readonly number[]): Promise<SpendRow[]> =>
  sums(db, question, 's.id', exceeded(DAY_OF, edges))

/** What all entities together cost on each day; `part` is the day. */
export const spendByDay = (db: Db, question: SpendQuestion): Promise<SpendRow[]> => sums(db, question, `''`, DAY_OF)

/** The days of the range that were read, and which of them Apple may still change. */
export type KnownDays = Map<number, { isSettled: boolean }>

export async function knownDays(db: Db, integration: number, { first, end }: Days): Promise<KnownDays> {
  const { rows } = await db.query<{ date: string; isSettled: boolean }>(
    `select date::text, read_at at time zone 'UTC' >= date + make_interval(days => 1 + $4) as "isSettled" from apple_ads_days
     where integration = $1 and date >= date '1970-01-01' + $2::int and date < date '1970-01-01' + $3::int order by date`,
    [integration, first, end, SETTLING_DAYS],
  )
  return new Map(rows.map(({ date, isSettled }) => [dayOfDate(date), { isSettled }]))
}
