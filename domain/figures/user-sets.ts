import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { loadSegments } from '../segments/segment.ts'
import { systemSegment } from '../segments/system.ts'
import { UNKNOWN } from './attributes.ts'
import type { Filters } from './question.ts'
import type { FigureRelation } from './source.ts'

const BY_DEVICE = `select no from users where environment = $1 and (device_id = any($2::text[]) or ($3 and device_id is null))`
const BY_GROUP = `select distinct u.no from experiment_assignments a join users u on u.environment = a.environment and u.id = a.user_id
  where a.environment = $1 and a.experiment_id || ':' || a.group_id = any($2::text[])`

async function numbers(db: Db, text: string, values: unknown[]): Promise<BigInt64Array> {
  const { rows } = await db.query<{ no: number }>(text, values)
  return BigInt64Array.from(rows, ({ no }) => BigInt(no))
}

async function inSegments(db: Db, environment: Environment, ids: readonly string[]): Promise<BigInt64Array> {
  const own = await loadSegments(db, environment, ids)
  const all = ids.flatMap(id => {
    const conditions = systemSegment(id)?.conditions ?? own.get(id)
    return conditions ? [conditions] : []
  })
  const { membersSql } = await import('../segments/sql.ts')
  const found = new Set<number>()
  for (const conditions of all) {
    const { sql, parameters } = membersSql(environment, conditions, new Map(), { first: 2 })
    const text = `select u.no from users u where u.environment = $1 and ${sql}`
    const { rows } = await db.query<{ no: number }>(text, [environment, ...parameters])
    for (const { no } of rows) found.add(no)
  }
  return BigInt64Array.from(found, BigInt)
}

/** SQL that is true of a user in the set. */
export const inSet = (user: string, set: FigureRelation): string => `${user} in (select user_no from ${set.name})`

/**
 * The users of whom the filters without a column are true now: one set for each such filter, as a relation (user_no). `db`: its statements may
 * read all users of the environment.
 */
export async function loadUserSets(db: Db, environment: Environment, filters: Filters): Promise<FigureRelation[]> {
  const sets: FigureRelation[] = []
  const add = (name: string, values: BigInt64Array) => sets.push({ name, columns: [{ name: 'user_no', values }] })
  const devices = filters.get('device_id')
  if (devices) add('users_of_devices', await numbers(db, BY_DEVICE, [environment, devices, devices.includes(UNKNOWN)]))
  const segments = filters.get('segment_id')
  if (segments) add('users_of_segments', await inSegments(db, environment, segments))
  const groups = filters.get('experiment_group_id')
  if (groups) add('users_of_groups', await numbers(db, BY_GROUP, [environment, groups]))
  return sets
}
