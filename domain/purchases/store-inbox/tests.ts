import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/** `environment` null: the notification does not tell it. */
export type TestedStore = { project: number; platform: StorePlatform; environment: EnvironmentKind | null }

const ENVIRONMENT = `coalesce((select id from environments where project = $1 and kind = $3), 0)`

/** A test notification has arrived. It has no content: only its time is kept, so that another process sees it. */
export async function recordTest(db: Db, { project, platform, environment }: TestedStore): Promise<void> {
  await db.query({
    name: 'record-store-test',
    text: `insert into store_tests (project, platform, environment) values ($1, $2, ${ENVIRONMENT})
           on conflict (project, platform, environment) do update set arrived_at = clock_timestamp()`,
    values: [project, platform, environment],
  })
}

/** A moment of the database, in ms. */
export async function databaseTime(db: Db): Promise<number> {
  const { rows } = await db.query<{ now: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as now')
  return rows[0]!.now
}

/** Whether a test notification has arrived after a moment of the database (ms). */
export async function hasTestArrived(db: Db, { project, platform, environment }: TestedStore, sinceMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from store_tests where project = $1 and platform = $2 and environment = ${ENVIRONMENT} and arrived_at > to_timestamp($4::float8 / 1000)`,
    [project, platform, environment, sinceMs],
  )
  return rowCount === 1
}
