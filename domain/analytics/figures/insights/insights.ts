import type { Pool } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { invalidFields } from '../../../kernel/refusal.ts'
import type { FactAccess } from '../open-source.ts'
import { measurePeriod } from './measured.ts'
import { type InsightResult, insightsOf } from './rules.ts'

const FRESH_SECONDS = 6 * 3_600
/** How long a result that lacks recorded changes is kept: the workers soon fold the rest. */
const FRESH_SECONDS_BEHIND = 60

export type InsightQuestion = { days: number; force: boolean; cachedOnly: boolean; now: number }
/** `behind`: the number of users whose changes are not in the answer yet. */
type Result = InsightResult & { behind?: number }
/** `generatedAt`: Unix seconds of the environment's clock. */
export type Insights = Result & { generatedAt: number; isCached: boolean; isStale: boolean }

type Kept = { result: Result; generatedAt: number }

const KEPT = `select result, floor(extract(epoch from generated_at))::float8 as "generatedAt" from analytics_insights where environment = $1 and period = $2`
// Of two that were computed at the same time the later one stays.
const KEEP = `insert into analytics_insights as i (environment, period, generated_at, result) values ($1, $2, to_timestamp($3), $4)
  on conflict (environment, period) do update set generated_at = excluded.generated_at, result = excluded.result
  where excluded.generated_at >= i.generated_at or i.generated_at > environment_now($1)`

const NOTHING_KEPT: InsightResult = {
  health: null,
  health_score: 0,
  is_insufficient_data: false,
  summary: 'No insights have been computed yet.',
  insights: [],
}

/** Results that are being computed, by database: a question that comes meanwhile waits for the same result. */
const computing = new WeakMap<Pool, Map<string, Promise<Kept>>>()

async function compute(access: FactAccess, environment: Environment, { days, now }: InsightQuestion): Promise<Kept> {
  const { measured, behind } = await measurePeriod(access, environment, now, days)
  const result = { ...insightsOf(measured, days), behind }
  await access.pool.query({ name: 'keep-insights', text: KEEP, values: [environment, days, now, JSON.stringify(result)] })
  return { result, generatedAt: now }
}

function computeOnce(access: FactAccess, environment: Environment, question: InsightQuestion): Promise<Kept> {
  const running = computing.get(access.pool) ?? new Map<string, Promise<Kept>>()
  computing.set(access.pool, running)
  const key = `${environment} ${question.days}`
  const other = question.force ? undefined : running.get(key)
  if (other) return other
  const own = compute(access, environment, question).finally(() => {
    if (running.get(key) === own) running.delete(key)
  })
  running.set(key, own)
  return own
}

/** The insights of the last days: as kept while they are fresh, else computed. Throws `invalid_data`, and `upstream_timeout` after 30 s. */
export async function insights(access: FactAccess, environment: Environment, question: InsightQuestion): Promise<Insights> {
  const { days, force, cachedOnly, now } = question
  if (force && cachedOnly) throw invalidFields([{ field: 'cached_only', message: 'cannot be true together with force' }])
  const { rows } = force ? { rows: [] } : await access.pool.query<Kept>({ name: 'kept-insights', text: KEPT, values: [environment, days] })
  const [kept] = rows
  // After a test clock was set back, stored results may lie in the future.
  const isYounger = (seconds: number) => kept !== undefined && kept.generatedAt <= now && now - kept.generatedAt < seconds
  const isStale = !isYounger(FRESH_SECONDS)
  const isFresh = isYounger(kept?.result.behind ? FRESH_SECONDS_BEHIND : FRESH_SECONDS)
  if (kept && (isFresh || cachedOnly)) return { ...kept.result, generatedAt: kept.generatedAt, isCached: true, isStale }
  if (cachedOnly) return { ...NOTHING_KEPT, generatedAt: now, isCached: false, isStale: true }
  const { result, generatedAt } = await computeOnce(access, environment, question)
  return { ...result, generatedAt, isCached: false, isStale: false }
}
