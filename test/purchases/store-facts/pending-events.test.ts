import { describe, expect, test } from 'vitest'
import { plus } from '../../../domain/events/money.ts'
import type { Emission } from '../../../domain/purchases/emit.ts'
import { lineageInMemory } from './lineage-in-memory.ts'
import { at, iso, paid, period, permutations, renewal, STORIES, type Story } from './stories.ts'

const HOUR = 3_600_000
const AMOUNTS = new Set(['subscription_refunded', 'refund_reversed'])
const DETECTED = new Set([
  'trial_canceled',
  'trial_uncanceled',
  'subscription_uncanceled',
  'trial_billing_retry_entered',
  'subscription_canceled',
  'subscription_billing_retry_entered',
  'subscription_paused',
  'subscription_resumed',
  'product_change_planned',
  'product_change_withdrawn',
])

/** What was emitted, without what depends on when it was detected; refunds by their sum. */
function shown(emitted: Emission[]): string[] {
  const events = emitted.filter(({ slug }) => slug !== 'trial_still_active')
  const sums = new Map<string, string>()
  for (const { slug, purchase, amount } of events)
    if (AMOUNTS.has(slug)) sums.set(`${slug} ${purchase.id}`, plus(sums.get(`${slug} ${purchase.id}`) ?? '0', amount!))
  const others = events.filter(({ slug }) => !AMOUNTS.has(slug))
  return [
    ...others.map(({ slug, id, at, amount, reason }) => `${slug} ${id} ${DETECTED.has(slug) ? '' : at} ${amount ?? ''} ${reason ?? ''}`),
    ...[...sums].map(([event, sum]) => `${event} ${sum}`),
  ].sort()
}

/** Notifications that arrive within minutes, long after they were made, then 73 hours of silence. */
function emittedOf(notifications: Story['notifications'], isConnected = true): Emission[] {
  const lineage = lineageInMemory({ isConnected })
  const now = at(200)
  for (const [i, statements] of notifications.entries()) lineage.record(statements, now + i * 60_000)
  lineage.emitPending(now + 73 * HOUR)
  lineage.emitPending(now + 200 * 24 * HOUR)
  return lineage.emitted
}

describe('the events of a lineage whose store is connected', () => {
  for (const { name, notifications } of STORIES)
    test(`are the same in every order: ${name}`, () => {
      const expected = shown(emittedOf(notifications))
      for (const order of permutations(notifications)) {
        const emitted = emittedOf([...order, order[0]!])
        expect(shown(emitted)).toEqual(expected)
        expect(new Set(emitted.map(({ id }) => id)).size).toBe(emitted.length)
      }
    })

  const slugs = (name: string) => emittedOf(STORIES.find(story => story.name === name)!.notifications).map(({ slug }) => slug)

  test('are those of the catalogue', () => {
    expect(slugs('trial, convert, cancel, resubscribe').sort()).toEqual([
      'subscription_canceled',
      'subscription_expired',
      'subscription_expired',
      'subscription_started',
      'trial_converted',
      'trial_started',
      'trial_still_active',
    ])
    expect(slugs('a trial that is cancelled, renewed again, cancelled and expires').sort()).toEqual([
      'trial_canceled',
      'trial_canceled',
      'trial_expired',
      'trial_started',
      'trial_still_active',
      'trial_uncanceled',
    ])
    expect(slugs('renew, retry, grace, recover')).toEqual([
      'subscription_started',
      'subscription_renewed',
      'subscription_billing_retry_entered',
      'subscription_renewed',
      'subscription_expired',
    ])
    expect(slugs('retry, expire')).toEqual(['subscription_started', 'subscription_billing_retry_entered', 'subscription_expired'])
    expect(slugs('shared with the family, revoked')).toEqual([])
  })

  test('a pause and its end are emitted once, a planned product and its withdrawal with both products', () => {
    const emitted = emittedOf(STORIES.find(({ name }) => name === 'pause, resume')!.notifications)
    expect(emitted.filter(({ slug }) => /paused|resumed/.test(slug)).map(({ id }) => id)).toEqual([
      '1:subscription_paused:1',
      '1:subscription_resumed:1',
    ])
    const planned = (name: string) =>
      emittedOf(STORIES.find(story => story.name.startsWith(name))!.notifications)
        .filter(({ slug }) => slug.startsWith('product_change'))
        .map(({ slug, oldProduct, newProduct }) => [slug, oldProduct, newProduct])
    expect(planned('an upgrade')).toEqual([
      ['product_change_planned', 'y', 'm'],
      ['product_change_withdrawn', 'y', 'm'],
    ])
    // The plan that is carried out is not withdrawn.
    expect(planned('a downgrade')).toEqual([['product_change_planned', 'y', 'm']])
  })

  test('a paused subscription that ends is not resumed', () => {
    const emitted = emittedOf([
      [period(0, 't1', paid(0, 30, { isRenewal: false })), renewal(0, 't1', { autoRenews: true })],
      [renewal(30, '', { isPaused: true })],
      [renewal(50, '', { autoRenews: false, isPaused: null, gaveUp: true })],
    ])
    expect(emitted.map(({ slug }) => slug)).toEqual([
      'subscription_started',
      'subscription_paused',
      'subscription_canceled',
      'subscription_expired',
    ])
  })

  test('an upgrade tells the unused part of the old price, a downgrade nothing', () => {
    const emitted = emittedOf(STORIES.find(({ name }) => name.startsWith('an upgrade'))!.notifications)
    expect(
      emitted.filter(({ emittedAs }) => emittedAs === 'level' || emittedAs === 'changed').map(({ slug, amount }) => [slug, amount]),
    ).toEqual([
      ['subscription_product_changed', undefined],
      ['subscription_upgraded', '6.66'],
    ])
    const down = emittedOf(STORIES.find(({ name }) => name.startsWith('a downgrade'))!.notifications)
    expect(down.map(({ slug }) => slug)).toContain('subscription_downgraded')
  })

  test('refunds and what is taken back of them are emitted with their sums', () => {
    const emitted = emittedOf(STORIES.find(({ name }) => name.startsWith('a partial'))!.notifications)
    expect(emitted.filter(({ amount, slug }) => amount && AMOUNTS.has(slug)).map(({ slug, amount, id }) => [slug, amount, id])).toEqual([
      ['subscription_refunded', '3.99', '1:refunded:1'],
      ['subscription_refunded', '6.00', '1:refunded:2'],
      ['refund_reversed', '9.99', '1:refund_reversed:1'],
      ['subscription_refunded', '2.00', '1:refunded:3'],
    ])
  })
})

describe('what waits for a connected store', () => {
  const [first, second] = STORIES.find(({ name }) => name === 'renew, retry, grace, recover')!.notifications
  const slugs = ({ emitted }: ReturnType<typeof lineageInMemory>) => emitted.map(({ slug }) => slug)

  test('a begin before which a period may be missing waits for it, at most 72 hours', () => {
    const lineage = lineageInMemory({ isConnected: true })
    lineage.record(second!, at(30))
    expect(slugs(lineage)).toEqual([])
    lineage.record(first!, at(30) + HOUR)
    expect(slugs(lineage)).toEqual(['subscription_started', 'subscription_renewed'])
    const alone = lineageInMemory({ isConnected: true })
    alone.record(second!, at(30))
    alone.emitPending(at(30) + 71 * HOUR)
    expect(slugs(alone)).toEqual([])
    alone.emitPending(at(30) + 72 * HOUR)
    expect(slugs(alone)).toEqual(['subscription_started'])
  })

  test('the end of a run waits for a statement made after it, at most 72 hours', () => {
    const lineage = lineageInMemory({ isConnected: true })
    lineage.record(first!, at(0))
    lineage.emitPending(at(30) + 71 * HOUR)
    expect(slugs(lineage)).toEqual(['subscription_started'])
    lineage.emitPending(at(30) + 72 * HOUR)
    expect(slugs(lineage)).toEqual(['subscription_started', 'subscription_expired'])
  })

  test('the end is emitted when the store says it', () => {
    const lineage = lineageInMemory({ isConnected: true })
    const [, failed, gaveUp] = STORIES.find(({ name }) => name === 'retry, expire')!.notifications
    lineage.record(first!, at(0))
    lineage.record(failed!, at(30))
    lineage.record(gaveUp!, at(90))
    expect(slugs(lineage).slice(-2)).toEqual(['subscription_billing_retry_entered', 'subscription_expired'])
    expect(lineage.emitted.at(-1)).toMatchObject({ reason: 'billing_error', at: iso(90) })
  })

  test('a renewal of Google after a gap waits for the words that explain it, at most ten minutes', () => {
    const order = (subject: string, name: string, from: number) => {
      const stated = period(100, subject, paid(from, from + 30, { isRenewal: from === 0 ? false : undefined }), 'api')
      return { ...stated, ids: { ...stated.ids, token: 'token', order: name } }
    }
    const words = [
      [renewal(10, '', { autoRenews: false })],
      [renewal(12, '', { autoRenews: true })],
      [period(30, '', { retrySince: iso(30) })],
    ]
    const lineageWith = (statements: typeof words) => {
      const lineage = lineageInMemory({ isConnected: true, platform: 'play_store', wholeUntil: at(100) })
      lineage.record([order('t1', 'GPA.1', 0), order('t2', 'GPA.1..0', 33)], at(100))
      for (const [i, word] of statements.entries()) lineage.record(word, at(100) + (i + 1) * 1000)
      return lineage
    }
    for (const statements of permutations(words)) {
      const lineage = lineageWith(statements)
      lineage.emitPending(at(100) + 11 * 60_000)
      expect(slugs(lineage)).toContain('subscription_renewed')
      expect(slugs(lineage).filter(slug => slug === 'subscription_expired')).toHaveLength(1)
    }
    const paused = lineageWith([])
    expect(slugs(paused)).toEqual(['subscription_started'])
    paused.emitPending(at(100) + 10 * 60_000)
    expect(slugs(paused)).toEqual(['subscription_started', 'subscription_started', 'subscription_expired', 'subscription_expired'])
  })

  test('without a connected store it is emitted as it looks', () => {
    const lineage = lineageInMemory({ isConnected: false })
    lineage.record(second!, at(30))
    expect(slugs(lineage)).toEqual(['subscription_started'])
    lineage.emitPending(at(60) + 25 * HOUR)
    expect(slugs(lineage)).toEqual(['subscription_started', 'subscription_expired'])
  })
})
