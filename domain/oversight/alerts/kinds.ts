/** The kinds of alerts. docs/alerts.md documents when an alert of each kind begins and ends. */
const ALERT_KINDS = [
  'integration_error',
  'integration_held',
  'deliveries_exhausted',
  'report_failed',
  'report_withheld',
  'export_failed',
  'store_alert',
  'store_notifications_set_aside',
  'events_set_aside',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

export type AlertHolder = 'integration' | 'report' | 'environment' | 'store' | 'consumer'

/** The object that an alert of the kind is about. */
const HOLDERS: Record<AlertKind, AlertHolder> = {
  integration_error: 'integration',
  integration_held: 'integration',
  deliveries_exhausted: 'integration',
  report_failed: 'report',
  report_withheld: 'report',
  export_failed: 'environment',
  store_alert: 'store',
  store_notifications_set_aside: 'store',
  events_set_aside: 'consumer',
}

const STORES: Record<string, string> = { apple: 'the App Store', google: 'Google Play', stripe: 'Stripe', paddle: 'Paddle' }
const STORE_ALERTS: Record<string, string> = {
  store_credentials: 'does not accept the credentials of the project',
  push_missing: 'does not push its notifications',
  unacknowledged: 'has purchases that are not acknowledged a day after they got their owner',
}

/** The data from which the texts of an alert are made. */
export type AlertSubject = { kind: AlertKind; holder: string; about: string; title: string | null; count: number }

export type AlertOccurrence = AlertSubject & {
  id: string
  detail: string | null
  began_at: string
  last_at: string
  ended_at: string | null
}

/** The alert in one sentence, without a full stop. */
export function sentenceOf({ kind, holder, about, title, count }: AlertSubject): string {
  const name = title === null ? holder : `"${title.replaceAll(/\s+/g, ' ')}"`
  const store = STORES[holder] ?? holder
  switch (kind) {
    case 'integration_error':
      return `The integration ${name} is in error`
    case 'integration_held':
      return `The integration ${name} has held deliveries for 15 minutes (now ${count})`
    case 'deliveries_exhausted':
      return `Deliveries to the integration ${name} were given up (${count} of the last 24 hours)`
    case 'report_failed':
      return `The last run of the report ${name} failed`
    case 'report_withheld':
      return `The last run of the report ${name} was withheld`
    case 'export_failed':
      return `Exports failed (${count} of the last 24 hours)`
    case 'store_alert':
      return `${store} ${STORE_ALERTS[about] ?? `has the alert ${about} (${count})`}`.replace(/^t/, 'T')
    case 'store_notifications_set_aside':
      return `Notifications of ${store} were set aside (${count})`
    case 'events_set_aside':
      return `Events were set aside by the consumer ${holder} (${count})`
    default:
      return kind satisfies never
  }
}

/** An alert as the API and webhooks show it. */
export const shownAlert = (alert: AlertOccurrence) => ({
  id: alert.id,
  kind: alert.kind,
  holder: { kind: HOLDERS[alert.kind], id: alert.holder, title: alert.title },
  about: alert.about === '' ? null : alert.about,
  message: sentenceOf(alert),
  detail: alert.detail,
  count: alert.count,
  began_at: alert.began_at,
  last_at: alert.last_at,
  ended_at: alert.ended_at,
})
