import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { Secrets } from '../../projects/secrets.ts'
import { CONFIG_COLUMNS, type IntegrationConfig, openSettings } from '../config.ts'
import { APPLE_ADS_SLUG } from './read-runs.ts'

/** An organisation that the credentials open. */
export type AppleOrg = { id: string; name: string; currency: string; time_zone: string; roles: string[] }
export type ReadFailure = 'credentials' | 'permission' | 'unavailable'

export type AppleAdsConnection = {
  number: number
  configured_at: string | null
  orgs: AppleOrg[] | null
  synced_at: string | null
  error_kind: ReadFailure | null
  error: string | null
  data_through: string | null
  /** The organisations were read more than a week ago. */
  is_stale: boolean
}

/** Of several integrations of an environment, the oldest one counts. */
const OF_ENVIRONMENT = `i.environment = $1 and i.slug = '${APPLE_ADS_SLUG}' and i.deleted_at is null order by i.created_at, i.number limit 1`

/** Throws `not_found` where the environment has no integration of Apple Ads. */
export async function getConnection(db: Db, environment: Environment): Promise<AppleAdsConnection> {
  const { rows } = await db.query<AppleAdsConnection>(
    `select i.number, i.configured_at, c.orgs, c.synced_at, c.error_kind, c.error,
       (select max(date)::text from apple_ads_days where integration = i.number) as data_through,
       coalesce(c.checked_at < clock_timestamp() - interval '7 days', false) as is_stale
     from integrations i left join apple_ads_connections c on c.integration = i.number where ${OF_ENVIRONMENT}`,
    [environment],
  )
  if (!rows[0]) throw notFound('integration searchads')
  return rows[0]
}

type Opened = { number: number; settings: Record<string, unknown> }

async function opened(db: Db, secrets: Secrets, condition: string, value: number): Promise<Opened | null> {
  const { rows } = await db.query<IntegrationConfig & { number: number; environment: Environment }>(
    `select ${CONFIG_COLUMNS}, i.number, i.environment from integrations i where ${condition}`,
    [value],
  )
  const [row] = rows
  return row ? { number: row.number, settings: openSettings({ secrets, environment: row.environment, integration: row.id }, row) } : null
}

/** The settings of an integration, secrets in clear; null: it was deleted. */
export const openByNumber = (db: Db, secrets: Secrets, number: number): Promise<Opened | null> =>
  opened(db, secrets, 'i.number = $1 and i.deleted_at is null', number)

/** The same of the environment's integration. */
export const openOfEnvironment = (db: Db, secrets: Secrets, environment: Environment): Promise<Opened | null> =>
  opened(db, secrets, OF_ENVIRONMENT, environment)

/** Whether one of the organisations was not there when they were read last. */
export async function hasNewOrg(db: Db, number: number, orgs: AppleOrg[]): Promise<boolean> {
  const { rows } = await db.query<{ orgs: AppleOrg[] | null }>('select orgs from apple_ads_connections where integration = $1', [number])
  const known = rows[0]?.orgs
  return !!known && orgs.some(({ id }) => !known.some(one => one.id === id))
}

/** A new organisation is recorded with the days that were read of it: until then all of its days are read again. */
export async function recordOrgs(tx: Tx, number: number, orgs: AppleOrg[]): Promise<void> {
  await tx.query(
    `insert into apple_ads_connections (integration, orgs, checked_at) values ($1, $2, clock_timestamp())
     on conflict (integration) do update set orgs = excluded.orgs, checked_at = excluded.checked_at`,
    [number, JSON.stringify(orgs)],
  )
}

/** All days from `from` to `through` were read at `readAt`; an error before is over. */
export async function recordRead(tx: Tx, number: number, { from, through, readAt }: { from: string; through: string; readAt: string }) {
  await tx.query(
    `insert into apple_ads_days (integration, date, read_at) select $1, d::date, $4 from generate_series($2::date, $3::date, interval '1 day') d
     on conflict (integration, date) do update set read_at = greatest(excluded.read_at, apple_ads_days.read_at)`,
    [number, from, through, readAt],
  )
  await tx.query(
    `insert into apple_ads_connections (integration, synced_at) values ($1, clock_timestamp())
     on conflict (integration) do update set synced_at = excluded.synced_at, error_kind = null, error = null, failed_at = null`,
    [number],
  )
}

export async function recordReadFailure(tx: Tx, number: number, kind: ReadFailure, why: string): Promise<void> {
  await tx.query(
    `insert into apple_ads_connections (integration, error_kind, error, failed_at)
     select number, $2, $3, clock_timestamp() from integrations where number = $1
     on conflict (integration) do update set error_kind = excluded.error_kind, error = excluded.error, failed_at = excluded.failed_at`,
    [number, kind, why],
  )
}
