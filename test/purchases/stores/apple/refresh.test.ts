import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ReportedPeriod } from '../../../../domain/purchases/store-facts/statement.ts'
import { appleError } from '../../../harness/stores/app-store.ts'
import { appleChain } from '../../../harness/stores/apple-chain.ts'
import {
  type AppleFixture,
  appleFixture,
  appleSettings,
  NOW,
  onlyReport,
  periodsIn,
  renewalsIn,
} from '../../../harness/stores/apple-fixture.ts'
import { appleJws } from '../../../harness/stores/apple-jws.ts'
import { type AppleSubscription, appleSubscription, MONTH_MS, MONTHLY, YEARLY } from '../../../harness/stores/apple-subscription.ts'
import type { VendorReply } from '../../../harness/vendor.ts'

let fixture: AppleFixture
beforeAll(async () => {
  fixture = await appleFixture()
})
afterEach(() => {
  fixture.server.override = null
  fixture.server.requests.length = 0
  fixture.server.production.lineages = []
  fixture.server.sandbox.lineages = []
})
afterAll(() => fixture.close())

const BEGIN = NOW - 100 * MONTH_MS
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** A subscription that the server knows. */
function known(world: 'production' | 'sandbox' = 'production'): AppleSubscription {
  const environment = world === 'production' ? 'Production' : 'Sandbox'
  const subscription = appleSubscription(fixture.chain, { environment })
  subscription.subscribe(BEGIN)
  fixture.server[world].lineages.push(subscription.state)
  return subscription
}

const refresh = (lineage: string, context = fixture.context) => fixture.store.refresh(lineage, context)
const reported = async (lineage: string) => onlyReport(await refresh(lineage))
const reportedIn = (report: { statements: Parameters<typeof periodsIn>[0] }): ReportedPeriod[] =>
  periodsIn(report.statements).map(({ reported }) => reported)

describe('a lineage is reported whole', () => {
  test('over three pages, without the lineages of other groups', async () => {
    const subscription = known()
    for (let i = 1; i <= 40; i++) subscription.renew(BEGIN + i * MONTH_MS)
    const other = known()
    other.state.group = '20002'
    const report = await reported(subscription.lineage)
    expect(report).toMatchObject({ platform: 'app_store', lineage: subscription.lineage, aliases: [], isWhole: true, notices: [] })
    expect(reportedIn(report).map(({ begins }) => begins)).toEqual(Array.from({ length: 41 }, (_, i) => iso(BEGIN + i * MONTH_MS)))
    expect(report.statements.every(({ origin, statedAt }) => origin === 'api' && statedAt === NOW)).toBe(true)
    expect(fixture.server.requests.map(({ path }) => path)).toEqual([
      `/production/inApps/v1/subscriptions/${subscription.lineage}`,
      ...Array(3).fill(`/production/inApps/v2/history/${subscription.lineage}`),
    ])
  })

  test('other lineages of the same group are left out', async () => {
    const [first, second] = [known(), known()]
    expect(reportedIn(await reported(first.lineage))).toHaveLength(1)
    expect((await reported(second.lineage)).lineage).toBe(second.lineage)
  })

  test('a purchase without subscription', async () => {
    const once = appleSubscription(fixture.chain)
    once.subscribe(BEGIN, { type: 'Non-Consumable', expiresDate: undefined })
    fixture.server.production.lineages.push({ ...once.state, renewal: null, group: null })
    const report = await reported(once.lineage)
    expect(report).toMatchObject({ isWhole: true, statements: [{ kind: 'period', reported: { isSubscription: false, ends: null } }] })
  })

  test('auto-renew, the next product and the account of the last transaction', async () => {
    const subscription = known()
    subscription.downgrade(NOW, 'com.example.basic')
    subscription.switchAutoRenew(NOW, false)
    subscription.last().appAccountToken = '7e3fb20b-4cdb-47cc-936d-99d65f608138'
    const report = await reported(subscription.lineage)
    expect(report.accountId).toBe('7e3fb20b-4cdb-47cc-936d-99d65f608138')
    const renewal = { autoRenews: false, nextProduct: 'com.example.basic', nextLevel: 'downgrade', gaveUp: false }
    expect(renewalsIn(report.statements)).toMatchObject([{ subject: subscription.lineage, reported: renewal }])
  })

  test('retry and grace of the last period only', async () => {
    const subscription = known()
    subscription.renew(BEGIN + MONTH_MS)
    subscription.failToRenew(BEGIN + 2 * MONTH_MS, NOW + 1000)
    const [first, last] = reportedIn(await reported(subscription.lineage))
    expect(first).not.toHaveProperty('retrySince')
    expect(last).toMatchObject({ retrySince: iso(NOW), graceUntil: iso(NOW + 1000) })
    subscription.endGrace(NOW)
    const [, later] = reportedIn(await reported(subscription.lineage))
    expect(later).toMatchObject({ retrySince: iso(NOW) })
    expect(later).not.toHaveProperty('graceUntil')
  })

  test('the end of the run', async () => {
    const subscription = known()
    subscription.expire(BEGIN + MONTH_MS, 'BILLING_RETRY')
    expect(renewalsIn((await reported(subscription.lineage)).statements)).toMatchObject([{ reported: { gaveUp: true, autoRenews: false } }])
  })

  test('what was upgraded and downgraded', async () => {
    const subscription = known()
    subscription.upgrade(BEGIN + 1000, YEARLY, 99_990)
    subscription.downgrade(BEGIN + 2000, MONTHLY)
    subscription.renew(BEGIN + 12 * MONTH_MS)
    subscription.renew(BEGIN + 13 * MONTH_MS)
    const levels = reportedIn(await reported(subscription.lineage)).map(({ product, level }) => [product, level?.is])
    expect(levels).toEqual([
      [MONTHLY, undefined],
      [YEARLY, 'upgrade'],
      [MONTHLY, 'downgrade'],
      [MONTHLY, undefined],
    ])
  })

  test('a refund, and one that was taken back', async () => {
    const subscription = known()
    subscription.renew(BEGIN + MONTH_MS)
    subscription.refund(NOW - 1000, 50_000, 0)
    expect(reportedIn(await reported(subscription.lineage)).map(({ refund }) => refund)).toEqual([
      { at: iso(NOW - 1000), amount: '4.995' },
      null,
    ])
  })

  test('a history that is older than the state has its transaction all the same', async () => {
    const subscription = known()
    const history = { signedTransactions: [subscription.signedTransaction(NOW)], hasMore: false }
    subscription.renew(BEGIN + MONTH_MS)
    fixture.server.override = ({ path }) => (path.includes('/history/') ? { status: 200, body: history } : null)
    expect(reportedIn(await reported(subscription.lineage)).map(({ begins }) => begins)).toEqual([iso(BEGIN), iso(BEGIN + MONTH_MS)])
  })

  test('a history without end is not read to its end, and not called whole', async () => {
    const subscription = known()
    const page = { signedTransactions: [], hasMore: true, revision: 'again' }
    fixture.server.override = ({ path }) => (path.includes('/history/') ? { status: 200, body: page } : null)
    expect((await reported(subscription.lineage)).isWhole).toBe(false)
    expect(fixture.server.requests).toHaveLength(101)
  })

  test('the sandbox has an address of its own', async () => {
    const subscription = known('sandbox')
    expect(await refresh(subscription.lineage)).toMatchObject({ is: 'unknown' })
    const answer = await refresh(subscription.lineage, { ...fixture.context, environment: 'sandbox' })
    expect(answer).toMatchObject({ is: 'reports', environment: 'sandbox' })
  })
})

describe('no answer', () => {
  const answered = async (reply: VendorReply) => {
    fixture.server.override = () => reply
    return refresh('2000000000001')
  }

  test.each<[string, VendorReply, object]>([
    ['unknown', appleError(404, 4040010), { is: 'unknown', word: { code: 'http_404_4040010', message: 'as Apple says it' } }],
    [
      'unknown, as the original',
      appleError(404, 4040005),
      { is: 'unknown', word: { code: 'http_404_4040005', message: 'as Apple says it' } },
    ],
    [
      'an id that Apple calls malformed',
      appleError(400, 4000006),
      { is: 'unknown', word: { code: 'http_400_4000006', message: 'as Apple says it' } },
    ],
    ['unknown for now', appleError(404, 4040006), { is: 'later', why: 'http_404_4040006', afterMs: null }],
    ['an app that Apple does not know', appleError(404, 4040003), { is: 'refused', why: 'http_404_4040003' }],
    ['401', { status: 401, body: 'Unauthenticated' }, { is: 'refused', why: 'http_401' }],
    ['403', { status: 403 }, { is: 'refused', why: 'http_403' }],
    ['500', appleError(500, 5000001), { is: 'later', why: 'http_500_5000001', afterMs: null }],
    ['503 of a proxy', { status: 503, body: '<html>' }, { is: 'later', why: 'http_503', afterMs: null }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, { is: 'later', why: 'http_302', afterMs: null }],
    ['no JSON', { status: 200, body: '<html>' }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
    ['an empty object', { status: 200, body: {} }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
    ['another shape', { status: 200, body: { data: 'none' } }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
    ['no history', { status: 200, body: { data: [] } }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
    ['cut off', 'cut', { is: 'later', why: 'connection_failed', afterMs: null }],
  ])('%s', async (_, reply, answer) => expect(await answered(reply)).toEqual(answer))

  test('silence', async () => {
    const impatient = await appleFixture({ limitMs: 20 })
    impatient.server.override = () => 'hang'
    expect(await impatient.store.refresh('1', impatient.context)).toEqual({ is: 'later', why: 'timeout', afterMs: null })
    await impatient.close()
  })

  test('too many requests: Retry-After is a time in Unix milliseconds', async () => {
    const headers = { 'retry-after': String(NOW + 90_000) }
    expect(await answered(appleError(429, 4290000, headers))).toEqual({ is: 'later', why: 'http_429', afterMs: 90_000 })
    expect(await answered(appleError(429, 4290000))).toEqual({ is: 'later', why: 'http_429', afterMs: null })
  })

  test('an answer that Apple has not signed', async () => {
    const subscription = known()
    const forged = appleJws(appleChain(), { ...subscription.last(), signedDate: NOW })
    const history = { signedTransactions: [forged], hasMore: false }
    fixture.server.override = ({ path }) => (path.includes('/history/') ? { status: 200, body: history } : null)
    expect(await refresh(subscription.lineage)).toEqual({ is: 'later', why: 'signature_invalid', afterMs: null })
  })

  test('a signed transaction without a product', async () => {
    const subscription = known()
    subscription.last().productId = undefined
    expect(await refresh(subscription.lineage)).toEqual({ is: 'later', why: 'answer_unreadable', afterMs: null })
  })

  test.each([['../../v1/notifications/test'], ['1?x=1'], [''], ['notification:1']])('an id that is none of Apple’s: %s', async queue => {
    expect(await refresh(queue)).toMatchObject({ is: 'unknown' })
    expect(fixture.server.requests).toEqual([])
  })

  test.each<[string, Record<string, string | null>, boolean]>([
    ['without a key', { iap_private_key: null }, true],
    ['without a bundle', { bundle_id: null }, true],
    ['with a key that is none', { iap_private_key: 'no key' }, true],
    ['switched off', {}, false],
  ])('a project %s is not connected', async (_, values, enabled) => {
    const settings = appleSettings({ ...fixture.server.key, ...values }, enabled)
    expect(await refresh('1', { ...fixture.context, settings })).toEqual({ is: 'refused', why: 'not_connected' })
    expect(fixture.server.requests).toEqual([])
  })

  test('another key: Apple refuses it', async () => {
    const settings = appleSettings({ ...fixture.server.key, iap_key_identifier: 'OTHER' })
    expect(await refresh(known().lineage, { ...fixture.context, settings })).toEqual({ is: 'refused', why: 'http_401' })
  })

  test('a caller that goes away gets its own reason', async () => {
    const controller = new AbortController()
    fixture.server.override = () => {
      controller.abort(new Error('lease lost'))
      return 'hang'
    }
    await expect(refresh('1', { ...fixture.context, signal: controller.signal })).rejects.toThrow('lease lost')
  })
})
