import type { Tx } from '../../../store/connect.ts'

/** Levels as the tables number them. */
export const LEVELS = { campaigns: 0, groups: 1, keywords: 2 } as const
export type Level = keyof typeof LEVELS

export type ReadEntity = {
  id: string
  campaign_id: string
  ad_group_id: string | null
  org_id: string
  name: string
  match_type: 'exact' | 'broad' | null
  status: 'enabled' | 'paused' | 'removed' | null
  delivery: 'running' | 'on_hold' | 'not_running' | null
}

/** What one entity cost on one UTC day in one country. `spend`: a decimal text in `currency`. */
export type ReadSpend = {
  id: string
  campaign_id: string
  date: string
  country: string
  currency: string
  spend: string
  impressions: number
  taps: number
  installs: number
}

/** Campaigns and days of which all spend is known. */
type Range = { campaigns: readonly string[]; from: string; through: string }

/** Keeps the integration from being deleted in the transaction; false: it is. */
async function stands(tx: Tx, integration: number): Promise<boolean> {
  const { rowCount } = await tx.query('select from integrations where number = $1 and deleted_at is null for key share', [integration])
  return rowCount === 1
}

/**
 * Replaces what is known of the ranges by what Apple says now: a row that Apple no longer reports goes, and a repeat changes nothing. Writes
 * nothing where the integration was deleted.
 */
export async function replaceSpend(
  tx: Tx,
  integration: number,
  level: Level,
  ranges: readonly Range[],
  read: { entities: readonly ReadEntity[]; spend: readonly ReadSpend[] },
): Promise<void> {
  if (!(await stands(tx, integration))) return
  await storeEntities(tx, integration, level, read.entities)
  for (const { campaigns, from, through } of ranges)
    await tx.query(
      `delete from apple_ads_spend where integration = $1 and level = $2 and campaign_id = any ($3) and date between $4 and $5`,
      [integration, LEVELS[level], campaigns, from, through],
    )
  await tx.query(
    `insert into apple_ads_spend (integration, level, campaign_id, date, country, id, currency, spend, impressions, taps, installs)
     select $1, $2, r.campaign_id, r.date, r.country, r.id, r.currency, r.spend, r.impressions, r.taps, r.installs
     from jsonb_to_recordset($3::jsonb) r(id text, campaign_id text, date date, country text, currency text, spend numeric, impressions bigint,
       taps bigint, installs bigint)`,
    [integration, LEVELS[level], JSON.stringify(read.spend)],
  )
}

/** `campaign`: of groups and keywords. `ids`: all that Apple knows of it. */
type Known = { org: string; campaign: string | null; ids: Iterable<string> }

/** What Apple knows no more is removed, together with all below a campaign: nobody asks for that any more. */
export async function markRemoved(tx: Tx, integration: number, level: Level, { org, campaign, ids }: Known): Promise<void> {
  if (!(await stands(tx, integration))) return
  const removing = `update apple_ads_entities e set status = 'removed', delivery = 'not_running'
    where e.integration = $1 and e.status is distinct from 'removed'`
  const { rows } = await tx.query<{ id: string }>(
    `${removing} and e.level = $2 and e.org_id = $3 and ($4::text is null or e.campaign_id = $4)
       and not exists (select from unnest($5::text[]) k(id) where k.id = e.id) returning e.id`,
    [integration, LEVELS[level], org, campaign, [...ids]],
  )
  if (level === 'campaigns' && rows.length > 0)
    await tx.query(`${removing} and e.level > 0 and e.campaign_id = any ($2)`, [integration, rows.map(({ id }) => id)])
}

/** Adds entities and what is new of them. */
async function storeEntities(tx: Tx, integration: number, level: Level, entities: readonly ReadEntity[]): Promise<void> {
  await tx.query(
    `insert into apple_ads_entities as e (integration, level, id, campaign_id, ad_group_id, org_id, name, match_type, status, delivery)
     select distinct on (r.id) $1::int, $2::smallint, r.id, r.campaign_id, r.ad_group_id, r.org_id, r.name, r.match_type, r.status, r.delivery
     from jsonb_to_recordset($3::jsonb) r(id text, campaign_id text, ad_group_id text, org_id text, name text, match_type text, status text,
       delivery text)
     order by r.id
     on conflict (integration, level, id) do update set campaign_id = excluded.campaign_id, ad_group_id = excluded.ad_group_id,
       org_id = excluded.org_id, name = excluded.name, match_type = coalesce(excluded.match_type, e.match_type),
       status = coalesce(excluded.status, e.status), delivery = coalesce(excluded.delivery, e.delivery)`,
    [integration, LEVELS[level], JSON.stringify(entities)],
  )
}

/** Apple corrects the figures of a day for about a week. */
export const SETTLING_DAYS = 7
/** Apple gives figures by days for 90 days. */
const OLDEST_DAYS = 89

/** Days in UTC, YYYY-MM-DD. `readAt`: when the reading began. `waitSeconds`: until the next reading after this one, in the early hours of a UTC day. */
export type ReadPlan = { readAt: string; from: string; through: string; waitSeconds: number }

/** The days that Apple still gives are read again, as if they never were. Older ones stay: nobody could read them again. */
export const forgetDays = (tx: Tx, integration: number): Promise<unknown> =>
  tx.query(`delete from apple_ads_days where integration = $1 and date >= (clock_timestamp() at time zone 'UTC')::date - $2::int`, [
    integration,
    OLDEST_DAYS,
  ])

// The days that Apple may still have changed since they were read, and those that were not read, until yesterday: all days between them as well.
const PLAN = `
select n.now::text as "readAt", n.yesterday::text as through, coalesce(min(d)::date, n.yesterday)::text as from,
  ceil(extract(epoch from n.yesterday + interval '2 days 4 hours' + make_interval(secs => ($1 * 7919) % 3600) - n.now))::int as "waitSeconds"
from (select t as now, (t::date - 1) as yesterday from (select clock_timestamp() at time zone 'UTC' as t) c) n
  left join lateral (
    select d from generate_series(n.yesterday - $2::int, n.yesterday, interval '1 day') d
    where $4 or not exists (select from apple_ads_days r where r.integration = $1 and r.date = d::date
      and r.read_at at time zone 'UTC' >= d + make_interval(days => 1 + $3))) open on true
group by n.now, n.yesterday`

/** `isWhole`: all days that Apple gives, whichever were read. */
export async function planRead(db: Pick<Tx, 'query'>, integration: number, isWhole = false): Promise<ReadPlan> {
  const { rows } = await db.query<ReadPlan>(PLAN, [integration, OLDEST_DAYS - 1, SETTLING_DAYS, isWhole])
  const [plan] = rows
  return { ...plan!, readAt: `${plan!.readAt}Z` }
}
