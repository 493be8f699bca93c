import type { ReportedPeriod, ReportedRenewal, Statement } from '../../../domain/purchases/store-facts/statement.ts'
import type { Promised } from '../../../domain/purchases/store-inbox/checks.ts'
import { secondOf } from '../stated.ts'
import type { NotificationRead, RecordedNotification } from '../store-client.ts'
import { decodeRecorded, orderQueue } from './notification.ts'

const NO_IDS = { transaction: null, originalTransaction: null, token: null, order: null, subscription: null, storeType: null }

/** The transition that a number of `subscriptionNotification` adds. All other numbers only show that something has changed. */
function transition(number: number, at: number): { renewal?: ReportedRenewal; period?: ReportedPeriod } {
  switch (number) {
    case 1:
      return { period: { isRecovered: true } }
    case 3:
    case 18:
      return { renewal: { autoRenews: false } }
    case 5:
      return { period: { retrySince: secondOf(at), graceOverAt: secondOf(at) } }
    case 6:
      // Only the refresh finds the end of the grace period.
      return { period: { retrySince: secondOf(at), graceOverAt: null } }
    case 7:
      return { renewal: { autoRenews: true, gaveUp: false } }
    case 10:
      return { renewal: { isPaused: true } }
    case 12:
      return { renewal: { autoRenews: false }, period: { ends: secondOf(at) } }
    case 13:
      return { renewal: { autoRenews: false, gaveUp: true } }
    default:
      return {}
  }
}

/** After RECOVERED, RENEWED and PURCHASED the store's answer must show a period, after RESTARTED that the subscription renews. */
function promiseOf(number: number): Promised | undefined {
  if (number === 7) return 'auto_renew'
  return [1, 2, 4].includes(number) ? 'period' : undefined
}

/**
 * Google's notifications do not describe the change. So each one causes a refresh, and its type adds a transition at the time of the event,
 * which the present state does not show any more.
 */
export function readPlayNotification(recorded: RecordedNotification): NotificationRead {
  const { id, at, content } = decodeRecorded(recorded)
  const common = { platform: 'play_store', aliases: [], accountId: null, statements: [], notices: [], isWhole: false } as const
  const read = (report: object, lineage: string, transactions: string[] = []): Extract<NotificationRead, { is: 'read' }> => ({
    is: 'read',
    environment: null,
    reports: [{ ...common, aliases: [], statements: [], notices: [], lineage, ...report }],
    refresh: true,
    ...(transactions.length > 0 && { transactions }),
  })
  switch (content.kind) {
    case 'subscription': {
      const stated = { statedAt: at, origin: 'push', subject: '' } as const
      const { renewal, period } = transition(content.number, at)
      const statements: Statement[] = []
      if (period) statements.push({ ...stated, kind: 'period', ids: { ...NO_IDS, token: content.token }, reported: period })
      if (renewal) statements.push({ ...stated, kind: 'renewal', token: content.token, reported: renewal })
      return { ...read({ statements }, content.token), promised: promiseOf(content.number) }
    }
    case 'one_time_product':
      return read({}, content.token)
    case 'voided_purchase':
      return read({}, content.token, content.order === null ? [] : [content.order])
    case 'pending_refund_review': {
      const notices = [{ slug: 'refund_consumption', id, at, subject: content.order }]
      return read({ notices, accountId: content.account }, orderQueue(content.order))
    }
    case 'test':
    case 'unknown':
      return { is: 'ignored', type: content.kind }
    default:
      throw content satisfies never
  }
}
