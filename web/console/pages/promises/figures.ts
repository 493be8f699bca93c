export type Words = {
  says: string
  /** What to do where it is degraded. */
  todo: string
  /** The page that shows more. */
  to?: { page: string; text: string }
  command?: string
}

/** The figures of health in words, as docs/operating.md explains them. A figure that is not here is shown by its name. */
export const WORDS: Readonly<Record<string, Words>> = {
  overdue: {
    says: 'Promises that are due for more than a minute and that no worker holds',
    todo: 'No worker is up, or there are too few. An owner sees the workers under Status.',
  },
  late_timers: {
    says: 'Other work that is due for more than a minute: ends of subscriptions, queues of stores, files to remove',
    todo: 'No worker is up, or there are too few. An owner sees the workers under Status.',
  },
  held: {
    says: 'Deliveries that wait because their integration is in error',
    todo: 'Nothing is lost. The error of the integration says why; one is tried every five minutes, and the first success sends all.',
    to: { page: '/integrations', text: 'Integrations' },
  },
  unread_events: {
    says: 'Events that automations or integrations have not read yet',
    todo: 'No worker is up, or there are too few.',
  },
  set_aside_events: {
    says: 'Events that automations or integrations could not handle, and have set aside',
    todo: 'When the reason is gone, have them handled again.',
    command: 'npm run cli -- set-aside list',
  },
  unremoved_files: {
    says: 'Files of exports that the storage has failed to remove',
    todo: 'Repair the storage: the log of the service says what it answers. The removal begins again every hour.',
  },
  failed_report_runs: {
    says: 'Runs of reports that failed within 24 hours, after all attempts',
    todo: 'The run names the reason and the destination. Correct it, and resend the run.',
    to: { page: '/reports', text: 'Reports' },
  },
  marked_users: {
    says: 'Customers whose figures wait to be counted again',
    todo: 'After a large import, wait. Otherwise there are too few workers.',
  },
  set_aside_users: {
    says: 'Customers whose figures cannot be counted, and stay as they were',
    todo: 'The log names the reason. A correction of the purchase, or any other change, counts the customer again.',
  },
  store_pending: {
    says: 'Notifications of stores that are not worked on yet',
    todo: 'There are too few workers, or the store does not answer: the log says why.',
  },
  store_set_aside: {
    says: 'Notifications of stores that could not be read or applied',
    todo: 'Their reason says why; when it has passed, replay them.',
    command: 'npm run cli -- stores status',
  },
  store_unacknowledged: {
    says: 'Purchases that are not acknowledged at Google Play a day after they got their owner',
    todo: 'Google takes them back after three days. The log says what Google answers.',
  },
  store_alerts: {
    says: 'Stores that refuse the credentials, or whose notifications do not arrive',
    todo: 'Enter new credentials; or the address and the secret of the notifications at the store.',
    to: { page: '/settings', text: 'Settings' },
  },
}
