import { type Db, wireTime } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { OVERDUE_SECONDS } from '../jobs/drift.ts'
import { type LedgerKind, meaningOf } from '../ledger-history/kinds.ts'
import { slotsAfter } from '../reports/slots.ts'
import { type Counted, countJobs, type Group, type Late, type Untaken } from './counts.ts'

// Fractions are cut off, and never rounded into the next second.
const whole = (time: string | undefined) => time?.replace(/\.\d+/, '') ?? null

/**
 * The last 24 hours, as far as nothing else is asked for. They end at this very moment and not at its whole second: what was promised
 * just now is in them.
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
    [environment, whole(from), whole(to)],
  )
  return rows[0]!
}

/** The instants (ms) of a report's slots in [from, end) that nobody has taken. */
export function untakenSlots(report: Untaken, from: number, end: number): number[] {
  const slots: number[] = []
  for (const { at } of slotsAfter(report, Date.parse(report.next_slot) - 1)) {
    if (at >= end) return slots
    if (at >= from) slots.push(at)
  }
  return slots
}

/** What was promised of one kind, and what became of it: promised = kept + declined + broken + outstanding. */
export type LedgerEntry = {
  kind: LedgerKind
  promised: number
  kept: number
  declined: number
  broken: number
  outstanding: number
  /** By final status or outcome. */
  outcomes: Record<string, number>
  /** Of what was declined or broken. */
  reasons: Record<string, number>
  overdue: number
  oldest_overdue_at: string | null
  oldest_overdue_id: string | null
}
/** `to` and `now` with microseconds. */
export type LedgerWindow = { from: string; to: string; now: string }

const add = (counts: Record<string, number>, key: string, count: number) => {
  counts[key] = (counts[key] ?? 0) + count
}

function entryOf(kind: LedgerKind, groups: Group[], late: Late[]): LedgerEntry {
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
    const meaning = meaningOf(kind, outcome, reason)
    entry[meaning] += count
    add(entry.outcomes, outcome, count)
    if (meaning !== 'kept' && reason !== '') add(entry.reasons, reason, count)
  }
  let oldest: Late | undefined
  for (const one of late) {
    entry.overdue += one.count
    if (oldest === undefined || one.at < oldest.at) oldest = one
  }
  if (oldest) {
    entry.oldest_overdue_at = wireTime(oldest.at)
    entry.oldest_overdue_id = oldest.id
  }
  return entry
}

/** Slots that have passed and were not taken yet are as outstanding as those whose run is under way. */
function withUntaken({ groups, late, untaken }: Counted, { from, to, now }: LedgerWindow): Counted {
  const end = Math.min(Date.parse(to), Date.parse(now) + 1)
  const slots = untaken.flatMap(report => untakenSlots(report, Date.parse(from), end)).sort((a, b) => a - b)
  const overdue = slots.filter(slot => slot < Date.parse(now) - OVERDUE_SECONDS * 1000)
  const kind = 'report_slots'
  const open = slots.length > 0 ? [{ kind, outcome: null, reason: '', count: slots.length } as const] : []
  const at = overdue.length > 0 ? new Date(overdue[0]!).toISOString().replace('T', ' ') : ''
  return {
    groups: [...groups, ...open],
    late: at === '' ? late : [...late, { kind, count: overdue.length, at, id: null }],
    untaken,
  }
}

/** The ledger of a window, kind by kind in the order asked for. */
export async function readLedger(
  db: Db,
  environment: Environment,
  kinds: readonly LedgerKind[],
  window: LedgerWindow,
): Promise<LedgerEntry[]> {
  const { groups, late } = withUntaken(await countJobs(db, environment, { ...window, kinds }), window)
  const of = <T extends { kind: LedgerKind }>(all: T[], kind: LedgerKind) => all.filter(each => each.kind === kind)
  return kinds.map(kind => entryOf(kind, of(groups, kind), of(late, kind)))
}
