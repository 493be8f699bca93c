/** SQL expressions over the removed rows in `from`: when each was due, its final outcome, the reason of the outcome. */
type RemovedRows = { kind: LedgerKind; from: string; due: string; outcome: string; reason: string }

/**
 * SQL that adds rows to the counts of the ledger. It is part of the statement that removes these rows, so the ledger still counts them.
 * `due` is cut to whole seconds: a window of the ledger has no finer edges. The counts are written in the order of their key: two
 * statements that remove rows of the same second then wait for each other, and cannot deadlock.
 */
export const addToLedgerHistory = ({ kind, from, due, outcome, reason }: RemovedRows): string => `
  insert into ledger_history (environment, kind, due_at, outcome, reason, count)
  select environment, '${kind}', date_trunc('second', ${due}), ${outcome}, coalesce(${reason}, ''), count(*) from ${from}
  group by 1, 3, 4, 5 order by 1, 3, 4, 5
  on conflict (environment, kind, due_at, outcome, reason) do update set count = ledger_history.count + excluded.count`

export const LEDGER_KINDS = ['report_slots', 'automation_runs', 'deliveries', 'exports'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

/** Reason of a job that was still open when its customer was erased. */
export const USER_DELETED = 'user_deleted'

/** Reason of a delivery whose automation run was cancelled before it was sent. */
export const RUN_CANCELLED = 'run_cancelled'

/** The result of an ended job in the ledger. */
export type Meaning = 'kept' | 'declined' | 'broken'

const KEPT: Record<LedgerKind, string[]> = {
  report_slots: ['delivered', 'empty'],
  automation_runs: ['succeeded'],
  deliveries: ['delivered'],
  exports: ['done'],
}
const DECLINED: Record<LedgerKind, string[]> = {
  report_slots: ['withheld', 'skipped'],
  automation_runs: ['skipped', 'cancelled'],
  deliveries: [],
  exports: ['cancelled'],
}
/** Reasons of a failed delivery that follow from a request: the delivery counts as declined. */
const REQUESTED_REASONS = ['integration_deleted', RUN_CANCELLED, USER_DELETED]

/** `outcome` is the final status, for a report's slot its outcome. An outcome that is neither kept nor declined is broken. */
export function classifyOutcome(kind: LedgerKind, outcome: string, reason: string): Meaning {
  if (KEPT[kind].includes(outcome)) return 'kept'
  if (DECLINED[kind].includes(outcome) || (kind === 'deliveries' && REQUESTED_REASONS.includes(reason))) return 'declined'
  return 'broken'
}

const listed = (words: readonly string[]) => `(${words.map(word => `'${word}'`).join(', ')})`

/** The same in SQL, over expressions of an ended job: its outcome, and its reason or the empty text. */
export const meaningSql = (kind: LedgerKind, outcome: string, reason: string): string => {
  const declined = [
    ...(DECLINED[kind].length > 0 ? [`${outcome} in ${listed(DECLINED[kind])}`] : []),
    ...(kind === 'deliveries' ? [`${reason} in ${listed(REQUESTED_REASONS)}`] : []),
  ]
  const second = declined.length > 0 ? ` when ${declined.join(' or ')} then 'declined'` : ''
  return `case when ${outcome} in ${listed(KEPT[kind])} then 'kept'${second} else 'broken' end`
}
