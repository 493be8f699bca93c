import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type AutomationData, type Step, stepsOf } from './definition.ts'

type Version = { environment: Environment; automation_id: string; version: number }

/** Definitions in the cache of a process; with 50 steps each they take some 20 MB. */
const CACHED = 1_000
const keyOf = ({ environment, automation_id, version }: Version) => `${environment}:${automation_id}:${version}`

/** A version never changes, so a cached one stays right. The least recently used one is evicted first. */
const cache = new Map<string, Step[]>()

/** The steps of these versions; undefined for a version that is not stored. */
export async function pinnedSteps(db: Db, versions: readonly Version[]): Promise<(version: Version) => Step[] | undefined> {
  const missing = new Map<string, Version>()
  const found = new Map<string, Step[]>()
  for (const version of versions) {
    const key = keyOf(version)
    if (found.has(key) || missing.has(key)) continue
    const steps = cache.get(key)
    if (steps) {
      cache.delete(key)
      cache.set(key, steps)
      found.set(key, steps)
    } else missing.set(key, version)
  }
  if (missing.size > 0) {
    const keys = [...missing.values()]
    const { rows } = await db.query<Version & { data: AutomationData }>({
      name: 'pinned-versions',
      text: `select v.environment, v.automation_id, v.version, v.data from unnest($1::int[], $2::text[], $3::int[]) k(environment, automation_id, version)
             cross join lateral (select * from automation_versions
               where environment = k.environment and automation_id = k.automation_id and version = k.version limit 1) v`,
      values: [keys.map(v => v.environment), keys.map(v => v.automation_id), keys.map(v => v.version)],
    })
    for (const row of rows) {
      const steps = stepsOf(row.data)
      found.set(keyOf(row), steps)
      cache.set(keyOf(row), steps)
    }
    for (const key of cache.keys()) {
      if (cache.size <= CACHED) break
      cache.delete(key)
    }
  }
  return version => found.get(keyOf(version))
}

/** No run that starts from now on is pinned to a version of the automation that is stored so far. */
export const supersedeVersions = (tx: Tx, environment: Environment, automation: string): Promise<unknown> =>
  tx.query(
    `update automation_versions set superseded_at = environment_now($1)
     where environment = $1 and automation_id = $2 and superseded_at is null`,
    [environment, automation],
  )

/** A replay pins a former version once more: it stays as if it had been superseded now. */
export const pinFormerVersion = (tx: Tx, environment: Environment, automation: string, version: number): Promise<unknown> =>
  tx.query(
    `update automation_versions set superseded_at = environment_now($1)
     where environment = $1 and automation_id = $2 and version = $3 and superseded_at is not null`,
    [environment, automation, version],
  )
