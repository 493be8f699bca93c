import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { StoreClaim } from '../../../../domain/purchases/claim.ts'
import { appleError } from '../../../harness/stores/app-store.ts'
import { appleChain } from '../../../harness/stores/apple-chain.ts'
import { type AppleFixture, appleFixture, appleSettings, NOW, onlyReport, periodsIn } from '../../../harness/stores/apple-fixture.ts'
import { appleJws, withPayload } from '../../../harness/stores/apple-jws.ts'
import { type AppleSubscription, appleSubscription, MONTH_MS, MONTHLY } from '../../../harness/stores/apple-subscription.ts'

let fixture: AppleFixture
beforeAll(async () => {
  fixture = await appleFixture()
})
afterEach(() => {
  fixture.server.override = null
  fixture.server.requests.length = 0
  fixture.server.production.lineages = []
})
afterAll(() => fixture.close())

const BEGIN = NOW - 3 * MONTH_MS

/** A subscription in its third period. */
function subscribed(): AppleSubscription {
  const subscription = appleSubscription(fixture.chain)
  subscription.subscribe(BEGIN)
  subscription.renew(BEGIN + MONTH_MS)
  subscription.renew(BEGIN + 2 * MONTH_MS)
  return subscription
}
function known(): AppleSubscription {
  const subscription = subscribed()
  fixture.server.production.lineages.push(subscription.state)
  return subscription
}

const NOT_KNOWN = { is: 'unknown', word: { code: 'http_404_4040010', message: 'as Apple says it' } }

describe('by its ids', () => {
  const claimOf = (transaction: string, product = MONTHLY): StoreClaim => ({
    platform: 'app_store',
    field: 'app_store_data.product_id',
    product,
    basePlan: null,
    lineage: transaction,
    transaction,
    originalTransaction: transaction,
    token: null,
    order: null,
    subscription: null,
    storeType: null,
    isSubscription: null,
  })
  const confirm = (claim: StoreClaim, context = fixture.context) => fixture.store.confirm(claim, context)

  test('a transaction is confirmed with the whole history of its lineage', async () => {
    const subscription = known()
    const subject = subscription.state.transactions[1]!.transactionId as string
    const answer = await confirm(claimOf(subject))
    expect(answer).toMatchObject({ is: 'reports', environment: 'production', lineage: subscription.lineage, subject })
    const report = onlyReport(answer)
    expect(report).toMatchObject({ lineage: subscription.lineage, isWhole: true })
    expect(periodsIn(report.statements)).toHaveLength(3)
  })

  test('the claimed transaction is reported also where the history lacks it', async () => {
    const subscription = known()
    const subject = subscription.state.transactions[1]!.transactionId as string
    const empty = { signedTransactions: [], hasMore: false }
    fixture.server.override = ({ path }) => (path.includes('/history/') ? { status: 200, body: empty } : null)
    const subjects = periodsIn(onlyReport(await confirm(claimOf(subject))).statements).map(statement => statement.subject)
    expect(subjects).toEqual([subscription.last().transactionId, subject])
  })

  test('another product, an unknown or malformed id: not known', async () => {
    const { lineage } = known()
    expect(await confirm(claimOf(lineage, 'com.example.other'))).toEqual({ is: 'unknown', why: 'claim_differs' })
    expect(await confirm(claimOf('99'))).toEqual(NOT_KNOWN)
    expect(await confirm(claimOf('../history/1'))).toEqual({ is: 'unknown', why: 'malformed' })
  })

  test('a transaction of another bundle or environment: not known', async () => {
    const subscription = known()
    subscription.last().bundleId = 'com.other'
    const id = subscription.last().transactionId as string
    expect(await confirm(claimOf(id))).toEqual({ is: 'unknown', why: 'other_app' })
    Object.assign(subscription.last(), { bundleId: subscription.state.transactions[0]!.bundleId, environment: 'Sandbox' })
    expect(await confirm(claimOf(id))).toEqual({ is: 'unknown', why: 'other_environment' })
  })

  test('a purchase of the sandbox is known there only', async () => {
    const subscription = appleSubscription(fixture.chain, { environment: 'Sandbox' })
    subscription.subscribe(BEGIN)
    fixture.server.sandbox.lineages.push(subscription.state)
    expect(await confirm(claimOf(subscription.lineage))).toEqual(NOT_KNOWN)
    const answer = await confirm(claimOf(subscription.lineage), { ...fixture.context, environment: 'sandbox' })
    expect(answer).toMatchObject({ is: 'reports', environment: 'sandbox' })
  })

  test('no answer, also to the second question only', async () => {
    const { lineage } = known()
    fixture.server.override = ({ path }) => (path.includes('/history/') ? appleError(429, 4290000) : null)
    expect(await confirm(claimOf(lineage))).toEqual({ is: 'later', why: 'http_429', afterMs: null })
    fixture.server.override = () => ({ status: 401 })
    expect(await confirm(claimOf(lineage))).toEqual({ is: 'refused', why: 'http_401' })
  })
})

describe('by Apple’s signature', () => {
  const confirm = (signedTransaction: string, context = fixture.context) =>
    fixture.store.confirm({ platform: 'app_store', signedTransaction }, context)
  const unconnected = () => ({ ...fixture.context, settings: appleSettings() })

  test('the signature suffices where the project is not connected', async () => {
    const subscription = subscribed()
    const answer = await confirm(subscription.signedTransaction(NOW - 1000), unconnected())
    const subject = subscription.last().transactionId
    expect(answer).toMatchObject({ is: 'reports', environment: 'production', lineage: subscription.lineage, subject })
    expect(onlyReport(answer)).toMatchObject({
      isWhole: false,
      statements: [{ kind: 'period', subject, origin: 'push', statedAt: NOW - 1000 }],
    })
    expect(fixture.server.requests).toEqual([])
  })

  test('without a stored bundle, that of the transaction counts', async () => {
    const context = { ...fixture.context, settings: appleSettings({ bundle_id: null }) }
    expect(await confirm(subscribed().signedTransaction(NOW, { bundleId: 'com.any' }), context)).toMatchObject({ is: 'reports' })
  })

  test('connected: with the history, and what was signed beside it', async () => {
    const subscription = known()
    const report = onlyReport(await confirm(subscription.signedTransaction(NOW - 1000)))
    expect(report.isWhole).toBe(true)
    expect(periodsIn(report.statements).map(({ origin }) => origin)).toEqual(['api', 'api', 'api', 'push'])
  })

  test('connected, but Apple does not know it', async () => {
    expect(await confirm(subscribed().signedTransaction(NOW))).toEqual(NOT_KNOWN)
  })

  test('connected, but Apple is silent: the signature suffices', async () => {
    const impatient = await appleFixture({ patienceMs: 20 })
    impatient.server.override = () => 'hang'
    const subscription = appleSubscription(impatient.chain)
    subscription.subscribe(BEGIN)
    const claim = { platform: 'app_store', signedTransaction: subscription.signedTransaction(NOW) } as const
    expect(onlyReport(await impatient.store.confirm(claim, impatient.context))).toMatchObject({ isWhole: false })
    await impatient.close()
  })

  test.each<[string, 'cut' | number]>([
    ['hangs up', 'cut'],
    ['fails', 500],
    ['refuses the key', 401],
  ])('connected, but Apple %s: the signature suffices', async (_, reply) => {
    fixture.server.override = () => (typeof reply === 'number' ? { status: reply } : reply)
    expect(onlyReport(await confirm(known().signedTransaction(NOW)))).toMatchObject({ isWhole: false })
  })

  test('a caller that goes away gets its own reason', async () => {
    const controller = new AbortController()
    fixture.server.override = () => {
      controller.abort(new Error('over'))
      return 'hang'
    }
    await expect(confirm(known().signedTransaction(NOW), { ...fixture.context, signal: controller.signal })).rejects.toThrow('over')
  })

  test('a wrong one is not known', async () => {
    const subscription = known()
    const right = subscription.signedTransaction(NOW)
    const wrong = {
      signature_invalid: [
        'no JWS',
        'a.b.c',
        withPayload(right, { ...subscription.last(), signedDate: NOW, price: 0 }),
        appleJws(appleChain(), { ...subscription.last(), signedDate: NOW }),
        subscription.signedTransaction(NOW + 6 * 60_000),
      ],
      other_app: [subscription.signedTransaction(NOW, { bundleId: 'com.other' })],
      other_environment: ['Sandbox', 'Xcode'].map(environment => subscription.signedTransaction(NOW, { environment })),
      not_credible: [{ productId: undefined }, { expiresDate: undefined }, { price: 0.5 }].map(changes =>
        subscription.signedTransaction(NOW, changes),
      ),
    }
    for (const [why, all] of Object.entries(wrong)) for (const signed of all) expect(await confirm(signed)).toEqual({ is: 'unknown', why })
    expect(fixture.server.requests).toEqual([])
    expect(await confirm(right)).toMatchObject({ is: 'reports' })
  })
})
