import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type AutomationData, type Step, stepsOf } from './definition.ts'

type Version = { environment: Environment; automation_id: string; version: number }

/** Definitions that a process keeps at hand; of 50 steps each they take some 20 MB. */
const KEPT = 1_000
const keyOf = ({ environment, automation_id, version }: Version) => `${environment}:${automation_id}:${version}`

/** Versions never change, so what was read once stays right; the one asked for least recently goes first. */
const kept = new Map<string, Step[]>()

/** What runs of these versions perform, by version; undefined for one that is not stored. */
export async function pinnedSteps(db: Db, versions: readonly Version[]): Promise<(version: Version) => Step[] | undefined> {
  const wanted = new Map<string, Version>()
  const got = new Map<string, Step[]>()
  for (const version of versions) {
    const key = keyOf(version)
    if (got.has(key) || wanted.has(key)) continue
    const steps = kept.get(key)
    if (steps) {
      kept.delete(key)
      kept.set(key, steps)
      got.set(key, steps)
    } else wanted.set(key, version)
  }
  if (wanted.size > 0) {
    const missing = [...wanted.values()]
    const { rows } = await db.query<Version & { data: AutomationData }>({
      name: 'pinned-versions',
      text: `select v.environment, v.automation_id, v.version, v.data from unnest($1::int[], $2::text[], $3::int[]) k(environment, automation_id, version)
             cross join lateral (select * from automation_versions
               where environment = k.environment and automation_id = k.automation_id and version = k.version limit 1) v`,
      values: [missing.map(v => v.environment), missing.map(v => v.automation_id), missing.map(v => v.version)],
    })
    for (const row of rows) {
      const steps = stepsOf(row.data)
      got.set(keyOf(row), steps)
      kept.set(keyOf(row), steps)
    }
    for (const key of kept.keys()) {
      if (kept.size <= KEPT) break
      kept.delete(key)
    }
  }
  return version => got.get(keyOf(version))
}
