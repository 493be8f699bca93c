import type { Db } from '../../../store/connect.ts'
import { loadSegments } from '../../audience/segments/segment.ts'
import { systemSegment } from '../../audience/segments/system.ts'
import type { CompiledSql } from '../../kernel/compose.ts'
import type { Environment } from '../../kernel/environment.ts'
import { UNKNOWN } from './attributes.ts'
import type { Filters } from './question.ts'
import type { FigureRelation } from './source.ts'

const BY_DEVICE = `select no from users where environment = $1 and (device_id = any($2::text[]) or ($3 and device_id is null))`
const BY_GROUP = `select distinct u.no from experiment_assignments a join users u on u.environment = a.environment and u.id = a.user_id
  where a.environment = $1 and a.experiment_id || ':' || a.group_id = any($2::text[])`

/**
 * Statements that select the numbers (`no`) of users, of whom a filter without a column is true now: those of any of the statements. `name`: of the
 * set as a relation.
 */
export type UserSet = { name: string; statements: CompiledSql[] }

async function inSegments(db: Db, environment: Environment, ids: readonly string[]): Promise<CompiledSql[]> {
  const own = await loadSegments(db, environment, ids)
  const { membersSql } = await import('../../audience/segments/sql.ts')
  return ids.flatMap(id => {
    const conditions = systemSegment(id)?.conditions ?? own.get(id)
    if (!conditions) return []
    const { sql, parameters } = membersSql(environment, conditions, new Map(), { first: 2 })
    return { sql: `select u.no from users u where u.environment = $1 and ${sql}`, parameters: [environment, ...parameters] }
  })
}

/** One set for each filter without a column. */
export async function userSetsOf(db: Db, environment: Environment, filters: Filters): Promise<UserSet[]> {
  const sets: UserSet[] = []
  const devices = filters.get('device_id')
  if (devices)
    sets.push({
      name: 'users_of_devices',
      statements: [{ sql: BY_DEVICE, parameters: [environment, devices, devices.includes(UNKNOWN)] }],
    })
  const segments = filters.get('segment_id')
  if (segments) sets.push({ name: 'users_of_segments', statements: await inSegments(db, environment, segments) })
  const groups = filters.get('experiment_group_id')
  if (groups) sets.push({ name: 'users_of_groups', statements: [{ sql: BY_GROUP, parameters: [environment, groups] }] })
  return sets
}

/** SQL that is true of a user in the set. */
export const inSet = (user: string, set: FigureRelation): string => `${user} in (select user_no from ${set.name})`

/** The users of the sets as relations (user_no). `db`: its statements may read all users of the environment. */
export async function loadUserSets(db: Db, environment: Environment, filters: Filters): Promise<FigureRelation[]> {
  const relations: FigureRelation[] = []
  for (const { name, statements } of await userSetsOf(db, environment, filters)) {
    const found = new Set<number>()
    for (const { sql, parameters } of statements) {
      const { rows } = await db.query<{ no: number }>(sql, parameters)
      for (const { no } of rows) found.add(no)
    }
    relations.push({ name, columns: [{ name: 'user_no', values: BigInt64Array.from(found, BigInt) }] })
  }
  return relations
}
