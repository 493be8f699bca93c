import { apiTime, type Db } from '../../../store/connect.ts'
import { OVERDUE_SECONDS } from '../../durable/jobs/job.ts'
import { classifyOutcome, type LedgerKind } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { countJobs, type LedgerCounts, type LedgerGroup, type LedgerWindow, type OverdueJobs } from './counts.ts'
import { untakenSlots } from './untaken.ts'

/** The jobs of one kind: promised = kept + declined + broken + outstanding. */
export type LedgerEntry = {
  kind: LedgerKind
  promised: number
  kept: number
  declined: number
  broken: number
  outstanding: number
  /** By final status or outcome. */
  outcomes: Record<string, number>
  /** Of the declined and broken jobs. */
  reasons: Record<string, number>
  overdue: number
  oldest_overdue_at: string | null
  oldest_overdue_id: string | null
  /** Of deliveries only. */
  held?: number
  oldest_held_at?: string | null
}

// Fractions are cut off, and never rounded into the next second.
const wholeSeconds = (time: string | undefined) => time?.replace(/\.\d+/, '') ?? null

/**
 * The requested window; without bounds the last 24 hours. They end now and not at the last whole second, so that they include the jobs of
 * this moment.
 */
export async function ledgerWindow(
  db: Db,
  environment: Environment,
  { from, to }: { from?: string | undefined; to?: string | undefined },
): Promise<LedgerWindow> {
  const { rows } = await db.query<LedgerWindow>(
    `select coalesce($2::timestamptz, date_trunc('second', n.now) - interval '24 hours')::text as from,
       coalesce($3::timestamptz, n.now)::text as to, n.now::text as now
     from environment_now($1) n(now)`,
    [environment, wholeSeconds(from), wholeSeconds(to)],
  )
  return rows[0]!
}

/**
 * The ledger of a window, one entry for each kind in the given order, and the window that it is of: an edge inside time whose counts are
 * compacted moves outward. It is counted again until one snapshot has both the counts and the edges; compaction may come in between.
 */
export async function readLedger(
  db: Db,
  environment: Environment,
  kinds: readonly LedgerKind[],
  requested: LedgerWindow,
): Promise<{ window: LedgerWindow; entries: LedgerEntry[] }> {
  for (let window = requested; ; ) {
    const counts = await countJobs(db, environment, kinds, window, requested)
    const { from, to } = counts
    if (sameTime(from, window.from) && sameTime(to, window.to)) return { window, entries: entriesOf(kinds, counts, window) }
    window = { ...requested, from, to }
  }
}

export const sameTime = (one: string, other: string) => Date.parse(one) === Date.parse(other)

function entriesOf(kinds: readonly LedgerKind[], counts: LedgerCounts, window: LedgerWindow): LedgerEntry[] {
  const { groups, overdue } = withUntaken(counts, window)
  const of = <T extends { kind: LedgerKind }>(all: T[], kind: LedgerKind) => all.filter(each => each.kind === kind)
  const { count, at } = counts.held
  const held = { held: count, oldest_held_at: at === null ? null : apiTime(at) }
  return kinds.map(kind => ({ ...entryOf(kind, of(groups, kind), of(overdue, kind)), ...(kind === 'deliveries' && held) }))
}

/** Slots that have passed and that no worker has taken are as outstanding as slots whose run has not ended. */
function withUntaken({ groups, overdue, untaken }: LedgerCounts, window: LedgerWindow): Pick<LedgerCounts, 'groups' | 'overdue'> {
  const kind = 'report_slots'
  const slots = untaken.flatMap(report => untakenSlots(report, window)).sort((a, b) => a - b)
  const late = slots.filter(slot => slot < Date.parse(window.now) - OVERDUE_SECONDS * 1000)
  const at = (slot: number) => new Date(slot).toISOString().replace('T', ' ')
  return {
    groups: slots.length === 0 ? groups : [...groups, { kind, outcome: null, reason: '', count: slots.length }],
    overdue: late.length === 0 ? overdue : [...overdue, { kind, count: late.length, at: at(late[0]!), id: null }],
  }
}

const add = (counts: Record<string, number>, key: string, count: number) => {
  counts[key] = (counts[key] ?? 0) + count
}

function entryOf(kind: LedgerKind, groups: LedgerGroup[], overdue: OverdueJobs[]): LedgerEntry {
  const entry: LedgerEntry = {
    kind,
    promised: 0,
    kept: 0,
    declined: 0,
    broken: 0,
    outstanding: 0,
    outcomes: {},
    reasons: {},
    overdue: 0,
    oldest_overdue_at: null,
    oldest_overdue_id: null,
  }
  for (const { outcome, reason, count } of groups) {
    entry.promised += count
    if (outcome === null) {
      entry.outstanding += count
      continue
    }
    const meaning = classifyOutcome(kind, outcome, reason)
    entry[meaning] += count
    add(entry.outcomes, outcome, count)
    if (meaning !== 'kept' && reason !== '') add(entry.reasons, reason, count)
  }
  let oldest: OverdueJobs | undefined
  for (const jobs of overdue) {
    entry.overdue += jobs.count
    if (oldest === undefined || jobs.at < oldest.at) oldest = jobs
  }
  if (oldest) {
    entry.oldest_overdue_at = apiTime(oldest.at)
    entry.oldest_overdue_id = oldest.id
  }
  return entry
}
