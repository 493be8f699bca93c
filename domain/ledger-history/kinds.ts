export const LEDGER_KINDS = ['report_slots', 'automation_runs', 'deliveries', 'exports'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

/** Why the erasure of its customer ended a promise that was still open. */
export const USER_DELETED = 'user_deleted'

/** What a promise that has ended has come to. */
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
  exports: [],
}
/** A delivery fails for these reasons because somebody wanted it. */
const WANTED = ['integration_deleted', USER_DELETED]

/** `outcome`: the final status, of a report's slot its outcome. What is known neither as kept nor as declined is broken. */
export function meaningOf(kind: LedgerKind, outcome: string, reason: string): Meaning {
  if (KEPT[kind].includes(outcome)) return 'kept'
  if (DECLINED[kind].includes(outcome) || (kind === 'deliveries' && WANTED.includes(reason))) return 'declined'
  return 'broken'
}
