import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Condition } from '../../../domain/audience/segments/condition.ts'
import { allConditionsMet } from '../../../domain/audience/segments/evaluate.ts'
import { loadProfile, type Profile } from '../../../domain/audience/segments/profile.ts'
import { loadSegments } from '../../../domain/audience/segments/segment.ts'
import { memberIdsSql, membersSql } from '../../../domain/audience/segments/sql.ts'
import { SYSTEM_SEGMENTS } from '../../../domain/audience/segments/system.ts'
import { type FreshDatabase, freshDatabase } from '../../harness/database.ts'
import { share } from '../../harness/effort.ts'
import { anyCondition, NOW, populate } from './population.ts'

// Two evaluators implement one rule. If an export included a user that remote configuration excludes, the defect would not be visible
// elsewhere.
const SEED = 20_260_331
const OWN: Record<string, Condition[]> = Object.fromEntries(
  fc
    .sample(fc.array(anyCondition([]), { maxLength: 3 }), { numRuns: share(12), seed: SEED })
    .map((conditions, i) => [`seg_${i}`, conditions]),
)
const NAMED = [...Object.keys(OWN), ...SYSTEM_SEGMENTS.map(({ id }) => id), 'seg_gone']

let database: FreshDatabase
let environment: number
let profiles: Profile[]
let segments: Map<string, Condition[]>
beforeAll(async () => {
  database = await freshDatabase()
  const { pool } = database
  const made = await populate(pool, 250, SEED, OWN)
  environment = made.environment
  // A second environment with the same ids: its rows must not count.
  await populate(pool, 100, SEED + 1, {})
  segments = await loadSegments(pool, environment, NAMED)
  profiles = await Promise.all(made.users.map(async user => (await loadProfile(pool, environment, user, NAMED, NOW))!))
})
afterAll(() => database.drop())

async function inSql(conditions: Condition[]): Promise<string[]> {
  const { sql, parameters } = memberIdsSql(environment, conditions, segments, { now: NOW })
  const { rows } = await database.pool.query<{ id: string }>(sql, parameters)
  return rows.map(({ id }) => id).sort()
}
/** As automations ask: about users that the statement gives. */
async function amongGiven(conditions: Condition[]): Promise<string[]> {
  const { sql, parameters } = membersSql(environment, conditions, segments, { now: NOW, first: 3, isAboutFew: true })
  const { rows } = await database.pool.query<{ id: string }>(
    `select u.id from unnest($2::text[]) k(id) join users u on u.environment = $1 and u.id = k.id where ${sql}`,
    [environment, profiles.map(({ id }) => id), ...parameters],
  )
  return rows.map(({ id }) => id).sort()
}
const inMemory = (conditions: Condition[]) =>
  profiles
    .filter(profile => allConditionsMet(conditions, profile))
    .map(({ id }) => id)
    .sort()

test('SQL selects exactly the users for whom the conditions are true in memory', async () => {
  const seen = { empty: 0, everybody: 0, some: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(anyCondition(NAMED), { minLength: 1, maxLength: 4 }), async conditions => {
      const members = await inSql(conditions)
      expect(members).toEqual(inMemory(conditions))
      seen[members.length === 0 ? 'empty' : members.length === profiles.length ? 'everybody' : 'some']++
    }),
    { numRuns: share(600), seed: SEED },
  )
  // The users differ enough for the agreement to be meaningful.
  expect(seen.some).toBeGreaterThan(share(300))
})

test('each single condition agrees, and its negation, too', async () => {
  await fc.assert(
    fc.asyncProperty(anyCondition(NAMED), async condition => {
      const members = await inSql([condition])
      expect(members).toEqual(inMemory([condition]))
      if (condition.metric === 'segment') expect(await amongGiven([condition])).toEqual(members)
      const others = await inSql([{ ...condition, negate: !condition.negate }])
      const missing = condition.metric === 'segment' && condition.value === 'seg_gone'
      expect(members.length + others.length).toBe(missing ? 0 : profiles.length)
    }),
    { numRuns: share(600), seed: SEED },
  )
})

test('an entitlement is found in a hash table, not compared with every user', async () => {
  for (const value of ['true', 'false']) {
    const condition: Condition = { metric: 'entitlement:plus', comparator: 'eq', value, negate: false }
    const { sql, parameters } = memberIdsSql(environment, [condition, condition], segments)
    const { rows } = await database.pool.query(`explain ${sql}`, parameters)
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan.match(/hashed SubPlan/g)).toHaveLength(2)
  }
})
