export type Meaning = {
  says: string
  /** Seconds, or how many. */
  unit?: 'seconds'
  /** What to do where it is not 0. */
  todo?: string
  command?: string
  /** From when on it counts as bad; without it, everything above 0. */
  from?: number
}

/** The figures of `/readyz` in words, as docs/operating.md explains them. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  overdue: { says: 'Jobs that are due for more than a minute and that no worker holds', todo: 'No worker is up, or there are too few.' },
  oldest_overdue_seconds: { says: 'The oldest job that is overdue', unit: 'seconds', todo: 'No worker is up, or there are too few.' },
  abandoned: { says: 'Jobs whose worker died, and that no other has claimed', todo: 'No worker is up, or there are too few.' },
  unknown: {
    says: 'Due jobs of a workflow that no live worker knows',
    todo: 'Normal during an upgrade. Otherwise start workers of the release that made them.',
  },
  held: {
    says: 'Deliveries that wait because their integration is in error',
    todo: 'Nothing is lost. The error of the integration says why; one is tried every five minutes.',
  },
  oldest_held_seconds: {
    says: 'The oldest delivery that is held',
    unit: 'seconds',
    todo: 'A receiver is down, or refuses everything.',
    from: 900,
  },
  orphans: {
    says: 'Unfinished work without a due job, found at the last check',
    todo: 'It is repaired by itself. Report it, with the line of the log.',
  },
  set_aside: {
    says: 'Events that automations or integrations could not handle',
    todo: 'When the reason is gone, have them handled again.',
    command: 'npm run cli -- set-aside list',
  },
  unremoved_files: { says: 'Files that the storage has failed to remove', todo: 'Repair the storage; the log says what it answers.' },
  failed_report_runs: { says: 'Runs of reports that failed within 24 hours', todo: 'Correct the destination, and resend the run.' },
  integrations_in_error: { says: 'Integrations of production that are in error', todo: 'The error of the integration says why.' },
  exhausted_deliveries: {
    says: 'Deliveries that failed after all attempts within 24 hours',
    todo: 'When the receiver works again, send them again.',
  },
  failed_automation_runs: { says: 'Runs of automations that failed within 24 hours', todo: 'The timeline of the run says why.' },
  marked_users: {
    says: 'Customers whose facts for figures wait to be folded',
    todo: 'After a large import, wait. Otherwise there are too few workers.',
    from: 1_000,
  },
  oldest_mark_seconds: {
    says: 'The customer that has waited longest for it',
    unit: 'seconds',
    todo: 'No worker is up, or there are too few.',
    from: 60,
  },
  set_aside_users: {
    says: 'Customers whose facts cannot be folded',
    todo: 'The log names the reason. A correction of the purchase folds them again.',
  },
  fact_drift: {
    says: 'Facts that differed from the events at the last look',
    todo: 'They are folded again by themselves. Report it, with the line of the log.',
    command: 'npm run cli -- analytics rebuild',
  },
  store_pending: {
    says: 'Notifications of stores that are not worked on yet',
    todo: 'There are too few workers, or a store does not answer.',
    from: 1_000,
  },
  store_oldest_pending_seconds: { says: 'The oldest notification that waits', unit: 'seconds', todo: 'The log says why.', from: 60 },
  store_late_seconds: { says: 'The oldest one that no store has asked to pause', unit: 'seconds', todo: 'The log says why.', from: 60 },
  store_set_aside: {
    says: 'Notifications of stores that could not be read or applied',
    todo: 'Their reason says why; when it has passed, replay them.',
    command: 'npm run cli -- stores status',
  },
  store_unacknowledged: {
    says: 'Purchases that are not acknowledged at Google Play after a day',
    todo: 'Google takes them back after three days. The log says what Google answers.',
  },
}
