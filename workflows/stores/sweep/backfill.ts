import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Secrets } from '../../../domain/projects/secrets.ts'
import {
  type Backfill,
  type BackfillPhase,
  beginBackfill,
  checkQueues,
  noteBackfill,
  queuesOfLineages,
  secondsOfAQueue,
  storeEnvironments,
} from '../../../domain/purchases/store-inbox/backfill.ts'
import type { StoreEnvironment } from '../../../domain/purchases/store-inbox/sweeps.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import { openStore } from '../../../domain/purchases/stores/settings.ts'
import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { quotaOf, SWEEP_PATIENCE_MS } from '../quota.ts'
import type { FetchContext } from '../store-client.ts'
import { recordSwept } from './record-swept.ts'
import { intervalsOf, whyOf } from './run-sweep.ts'
import type { Sweep, Sweeps } from './sweep.ts'

export type BackfillDeps = { pool: Pool; secrets: Secrets; sweeps: Sweeps; now?: () => number }

/** `fromMs`: the earliest time, in ms; null: as far back as the store reports. */
export type BackfillOf = { project: number; platform: StorePlatform; fromMs: number | null; signal: AbortSignal }

/** The counts so far, of one environment. `queues`: lineages that the workers fetch from the store. `notifications`: new notifications. */
export type BackfillProgress = { environment: EnvironmentKind; phase: BackfillPhase; queues: number; notifications: number }

/**
 * `stopped`: the store has not answered; a repeat continues from there. The counts are those of all environments, including those of the
 * earlier runs that this run continues.
 */
export type BackfillResult =
  | { is: 'done'; queues: number; notifications: number }
  | { is: 'stopped'; environment: EnvironmentKind; why: string; queues: number; notifications: number }
  | { is: 'not_connected' }

const LINEAGES_AT_ONCE = 500

type Running = {
  deps: BackfillDeps
  sweep: Sweep
  target: StoreEnvironment
  context: FetchContext
  fromMs: number | null
  state: Backfill
  /** Records the progress. */
  to(next: Partial<Backfill>): Promise<void>
  /** Makes queues due, one after the other. */
  check(names: string[]): Promise<void>
}

/** Null: the phase has ended; else the reason why the store has not answered. */
type Phase = (running: Running) => Promise<string | null>

const lineages: Phase = async ({ deps, target, state, to, check, context }) => {
  for (let after: number | null = Number(state.cursor ?? 0); after !== null; ) {
    context.signal.throwIfAborted()
    const { names, last }: { names: string[]; last: number | null } = await queuesOfLineages(deps.pool, target, after, LINEAGES_AT_ONCE)
    await check(names)
    if (last !== null) await to({ cursor: String(last) })
    after = last
  }
  return null
}

const listed: Phase = async ({ sweep, context, fromMs, state, to, check }) => {
  for await (const page of sweep.queues?.({ sinceMs: fromMs, after: state.cursor }, context) ?? []) {
    if (page.is !== 'queues') return whyOf(page)
    await check(page.queues)
    await to({ cursor: page.next })
  }
  return null
}

const swept: Phase = async ({ deps, sweep, target, context, fromMs, state, to }) => {
  if (sweep.isForBoth && target.kind === 'sandbox') return null
  const now = deps.now?.() ?? Date.now()
  const since = state.cursor === null ? (fromMs ?? 0) : Number(state.cursor)
  for (const range of intervalsOf(sweep, target.kind, since, now, true)) {
    let { notifications } = state
    for await (const page of sweep.pages(range, context)) {
      if (page.is !== 'swept') return whyOf(page)
      notifications += await recordSwept(deps.pool, target, page.notifications, null)
    }
    await to({ cursor: String(range.toMs), notifications })
  }
  return null
}

const PHASES: [BackfillPhase, Phase][] = [
  ['lineages', lineages],
  ['listed', listed],
  ['swept', swept],
]

/**
 * Fetches everything that a store still knows of a project: makes the queues of known lineages due, and those of listed subscriptions, and
 * records the notifications that the store still has. The workers then fetch for the queues, with a part of the budget. A repeat changes
 * nothing that is known, and continues an interrupted run. Rejects when the signal aborts.
 */
export async function backfillStore(
  deps: BackfillDeps,
  { project, platform, fromMs, signal }: BackfillOf,
  onProgress: (progress: BackfillProgress) => void,
): Promise<BackfillResult> {
  const { pool, secrets, sweeps } = deps
  const sweep = sweeps[platform]
  const settings = await openStore(pool, secrets, project, platform)
  const targets = (await storeEnvironments(pool, project, platform)).filter(({ kind }) => settings?.isConnected(kind))
  if (!sweep || !settings || targets.length === 0) return { is: 'not_connected' }
  const sum = { queues: 0, notifications: 0 }
  for (const target of targets) {
    const { kind } = target
    const budget = { project, platform, environment: sweep.isForBoth ? null : kind }
    const context: FetchContext = {
      settings,
      environment: kind,
      signal,
      quota: quotaOf(pool, budget, 'refresh', signal, SWEEP_PATIENCE_MS),
    }
    const state = await beginBackfill(pool, target, fromMs)
    const why = await fill({ deps, sweep, target, context, fromMs, state, ...recording(deps, sweep, target, state, onProgress) })
    sum.queues += state.queues
    sum.notifications += state.notifications
    if (why !== null) return { is: 'stopped', environment: kind, why, ...sum }
  }
  return { is: 'done', ...sum }
}

function recording(
  { pool }: BackfillDeps,
  { isForBoth }: Sweep,
  target: StoreEnvironment,
  state: Backfill,
  onProgress: (progress: BackfillProgress) => void,
): Pick<Running, 'to' | 'check'> {
  const begun = performance.now()
  let made = 0
  return {
    async to(next) {
      Object.assign(state, next)
      await noteBackfill(pool, target, state)
      const { phase, queues, notifications } = state
      onProgress({ environment: target.kind, phase, queues, notifications })
    },
    async check(names) {
      const passed = (performance.now() - begun) / 1000
      const afterSeconds = Math.max(0, made * secondsOfAQueue(target) - passed)
      await transaction(pool, tx => checkQueues(tx, target, names, { afterSeconds, isForBoth }))
      made += names.length
      state.queues += names.length
    },
  }
}

async function fill(running: Running): Promise<string | null> {
  const { state, to } = running
  const first = PHASES.findIndex(([phase]) => phase === state.phase)
  for (const [index, [, run]] of PHASES.entries()) {
    if (index < first) continue
    const why = await run(running)
    if (why !== null) return why
    await to({ phase: PHASES[index + 1]?.[0] ?? 'done', cursor: null })
  }
  return null
}
