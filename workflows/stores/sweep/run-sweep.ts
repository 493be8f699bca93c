import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Secrets } from '../../../domain/projects/secrets.ts'
import { endAlert, raiseAlerts, refusedCredentials } from '../../../domain/purchases/store-inbox/alerts.ts'
import { raiseIfSilent } from '../../../domain/purchases/store-inbox/push-missing.ts'
import { endSweep, failSweep, noteSwept, type StoreSweep } from '../../../domain/purchases/store-inbox/sweeps.ts'
import { openStore } from '../../../domain/purchases/stores/settings.ts'
import type { Db, Pool } from '../../../store/connect.ts'
import type { AtCrashPoint } from '../../engine/crash-point.ts'
import { quotaOf, SWEEP_PATIENCE_MS } from '../quota.ts'
import type { FetchContext, NoAnswer } from '../store-client.ts'
import { recordSwept } from './record-swept.ts'
import type { Sweep, SweepRange, Sweeps } from './sweep.ts'

export type SweepDeps = { pool: Pool; secrets: Secrets; sweeps: Sweeps; at: AtCrashPoint }

/** `found`: the number of notifications that no push had brought. */
export type SweepOutcome = { is: 'swept'; found: number } | { is: 'failed'; why: string; found: number }

/** A store may report an event some time after it has happened. */
const OVERLAP_MS = 10 * 60_000
const DAY_MS = 24 * 3_600_000
/** The margin at the edge of the time that a store keeps: a request for that edge would fail by the time it arrives. */
const EDGE_MS = 60_000

/** The interval since `untilMs` that is to be fetched, in parts that are recorded one after the other. */
export function* intervalsOf(sweep: Sweep, kind: EnvironmentKind, untilMs: number, now: number, isWhole: boolean): Generator<SweepRange> {
  const earliest = now - sweep.reachMs[kind] + EDGE_MS
  const sliceMs = sweep.sliceMs ?? Number.POSITIVE_INFINITY
  for (let until = Math.max(untilMs, earliest + OVERLAP_MS); until < now; ) {
    const fromMs = until - OVERLAP_MS
    // A short rest is added to the last part: a day is mostly some seconds longer.
    until = now - until < 2 * sliceMs ? now : until + sliceMs
    yield { fromMs, toMs: until, isWhole }
  }
}

export const whyOf = (answer: NoAnswer): string => ('why' in answer ? answer.why : answer.is)

/**
 * Fetches from a store the notifications that no push has brought since the last success, and records them. `session` has taken the sweep.
 * The interval counts as fetched only when all of its pages are recorded: if the sweep ends before that, the next one fetches the interval
 * again, and known notifications change nothing. Throws only for a defect, or when the signal aborts or the database fails.
 */
export async function runSweep(deps: SweepDeps, session: Db, row: StoreSweep, signal: AbortSignal): Promise<SweepOutcome> {
  const { pool, secrets, sweeps, at } = deps
  const { id, project, platform, environment, kind } = row
  const sweep = sweeps[platform]
  const settings = await openStore(pool, secrets, project, platform)
  let found = 0
  const failed = async (why: string, afterMs: number | null): Promise<SweepOutcome> => {
    await failSweep(session, id, why, afterMs)
    return { is: 'failed', why, found }
  }
  if (!sweep || !settings?.isConnected(kind)) return failed('not_connected', null)
  const budget = { project, platform, environment: sweep.isForBoth ? null : kind }
  const context: FetchContext = { settings, environment: kind, signal, quota: quotaOf(pool, budget, 'refresh', signal, SWEEP_PATIENCE_MS) }
  const isWhole = sweep.hourly === 'all' || row.now - row.wholeUntil >= DAY_MS
  const unpushed = { since: row.createdAt, now: row.now, isNamedAlike: sweep.isNamedAlike, isForBoth: sweep.isForBoth }
  for (const range of intervalsOf(sweep, kind, isWhole ? row.wholeUntil : row.sweptUntil, row.now, isWhole)) {
    for await (const page of sweep.pages(range, context)) {
      if (page.is === 'refused') await raiseAlerts(pool, [refusedCredentials(project, platform, environment)])
      if (page.is !== 'swept') return failed(whyOf(page), page.is === 'later' ? page.afterMs : null)
      found += await recordSwept(pool, row, page.notifications, unpushed)
      // The session must not be silent for long: the server would end it.
      await session.query('select 1')
      at('store-page-swept')
    }
    await noteSwept(session, id, range.toMs, isWhole)
  }
  await raiseIfSilent(pool, row, sweep.isForBoth)
  await endAlert(pool, refusedCredentials(project, platform, environment))
  await endSweep(session, id)
  return { is: 'swept', found }
}
