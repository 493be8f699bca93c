export const LEDGER_KINDS = ['report_slots', 'automation_runs', 'deliveries', 'exports'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

/** Reason of a job that was still open when its customer was erased. */
export const USER_DELETED = 'user_deleted'

/** The result of an ended job in the ledger. */
type Meaning = 'kept' | 'declined' | 'broken'

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
/** Reasons of a failed delivery that follow from a request: the delivery counts as declined. */
const REQUESTED_REASONS = ['integration_deleted', USER_DELETED]

/** `outcome` is the final status, for a report's slot its outcome. An outcome that is neither kept nor declined is broken. */
export function classifyOutcome(kind: LedgerKind, outcome: string, reason: string): Meaning {
  if (KEPT[kind].includes(outcome)) return 'kept'
  if (DECLINED[kind].includes(outcome) || (kind === 'deliveries' && REQUESTED_REASONS.includes(reason))) return 'declined'
  return 'broken'
}
