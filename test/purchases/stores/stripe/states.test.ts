import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../harness/stores/stripe-story.ts'
import { START, stripeStage } from './stage.ts'

const END = START + 30 * DAY_MS
const stage = stripeStage()
const { story, known } = stage

test('a renewal whose invoice is a draft: the last period ends an hour after it is finalised, until it is paid or fails', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  const draft = await known(END + 60_000)
  expect(draft.periods).toMatchObject([{ ends: '2026-01-31T12:00:00Z', retrySince: null }])
  expect(draft.renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
  one.setInvoice(one.latest(), {
    status: 'open',
    automatically_finalizes_at: null,
    status_transitions: { finalized_at: END / 1000 + 3600 },
  })
  expect((await known(END + HOUR_MS)).periods).toMatchObject([{ ends: '2026-01-31T12:00:00Z' }])
  one.pay(END + HOUR_MS)
  const { periods } = await known(END + HOUR_MS + 1000)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }, { begins: '2026-01-31T10:00:00Z', isRenewal: true }])
})

test('a renewal that fails: retry from the end on without grace, then recovered', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  const failing = await known(END + 2 * HOUR_MS)
  const end = '2026-01-31T10:00:00Z'
  expect(failing.periods).toMatchObject([{ ends: end, retrySince: end, graceUntil: null }])
  expect(failing.renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
  one.pay(END + 3 * DAY_MS)
  const { periods } = await known(END + 3 * DAY_MS)
  expect(periods).toMatchObject([
    { begins: '2026-01-01T10:00:00Z', ends: end },
    { begins: end, isRenewal: true, isRecovered: true, retrySince: null },
  ])
  expect(periods[0]).not.toHaveProperty('retrySince')
})

test('a charge in the middle of a period that fails is no billing retry', async () => {
  const one = story()
  one.subscribe(START)
  one.set({ status: 'past_due' })
  const { periods } = await known(START + 5 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(periods[0]).not.toHaveProperty('retrySince')
})

test('unpaid: gave up, with the retry that was', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  one.set({ status: 'unpaid' })
  const { periods, renewal } = await known(END + 20 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:00Z' }])
  expect(renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: true })
})

test('an invoice that is given up as uncollectible: gave up', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  one.setInvoice(one.latest(), { status: 'uncollectible' })
  expect((await known(END + 20 * DAY_MS)).renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: true })
})

test('cancelled: off at the time of the cancellation; restarted: on', async () => {
  const one = story()
  one.subscribe(START)
  one.cancel(START + 3 * DAY_MS)
  const off = await known(START + 4 * DAY_MS)
  expect(off.renewal).toEqual({ autoRenews: false, isPaused: false, nextProduct: null, gaveUp: false })
  expect(off.report.statements.filter(({ kind }) => kind === 'renewal')[0]).toMatchObject({
    statedAt: START + 3 * DAY_MS,
    subject: '',
    reported: { autoRenews: false },
  })
  expect(off.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  one.restart(START + 5 * DAY_MS)
  expect((await known(START + 6 * DAY_MS)).renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
})

test('ended with its period, at once, or after a retry that failed', async () => {
  const [atEnd, atOnce, failed] = ['sub_1', 'sub_2', 'sub_3'].map(id => story({ id }))
  for (const one of [atEnd!, atOnce!, failed!]) one.subscribe(START)
  atEnd!.cancel(START + DAY_MS)
  atEnd!.end()
  const ended = await known(END + DAY_MS)
  expect(ended.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(ended.renewal).toEqual({ autoRenews: false, isPaused: null, nextProduct: null, gaveUp: true })
  expect(ended.report.statements.filter(({ kind }) => kind === 'renewal').map(({ statedAt }) => statedAt)).toEqual([
    START + DAY_MS,
    END,
    END + DAY_MS,
  ])
  atOnce!.end(START + 5 * DAY_MS)
  expect((await known(END, 'sub_2')).periods).toMatchObject([{ ends: '2026-01-06T10:00:00Z' }])
  failed!.draft()
  failed!.fail(END + HOUR_MS)
  failed!.end(END + 20 * DAY_MS)
  const given = await known(END + 21 * DAY_MS, 'sub_3')
  expect(given.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:00Z' }])
  expect(given.renewal.gaveUp).toBe(true)
})

test('collection is paused: no cancellation and no failure, the period ends; the first period after it is no proof of a failed charge', async () => {
  const one = story()
  one.subscribe(START)
  one.pause(START + DAY_MS)
  one.pausedPeriod()
  const paused = await known(END + DAY_MS)
  expect(paused.renewal).toEqual({ isPaused: true, nextProduct: null, gaveUp: false })
  expect(paused.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(paused.periods[0]).not.toHaveProperty('retrySince')
  one.resume(END + 2 * DAY_MS)
  one.renew()
  const { periods, renewal } = await known(END + 40 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }, { begins: '2026-03-02T10:00:00Z' }])
  expect(periods[1]).not.toHaveProperty('isRenewal')
  expect(renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
})

test('a schedule with another product states what is planned, until it is released; a change that waits for its payment does, too', async () => {
  const one = story()
  one.subscribe(START)
  const priced = (product: string) => ({ price: { id: `price_${product}`, object: 'price', product } })
  const phases = [
    { start_date: START / 1000, end_date: END / 1000, items: [priced('prod_pro')] },
    { start_date: END / 1000, end_date: END / 1000 + 86_400, items: [priced('prod_pro')] },
    { start_date: END / 1000 + 86_400, end_date: END / 1000 + 2 * 86_400, items: [priced('lite')] },
  ]
  const schedule = (status: string) =>
    stage.fixture.server.subscription_schedules.set('sub_sched_1', {
      id: 'sub_sched_1',
      object: 'subscription_schedule',
      status,
      phases,
    } as never)
  const planned = async () => (await known(START + DAY_MS)).renewal.nextProduct
  expect(await planned()).toBeNull()
  one.set({ schedule: 'sub_sched_1' })
  schedule('active')
  expect(await planned()).toBe('lite')
  schedule('released')
  expect(await planned()).toBeNull()
  one.set({ schedule: null, pending_update: { subscription_items: [priced('max')] } as never })
  expect(await planned()).toBe('max')
  one.set({ pending_update: null, schedule: 'sub_sched_1' })
  const forbidden = { status: 403, body: { error: { type: 'invalid_request_error', code: 'x', message: 'x' } } }
  stage.fixture.server.instead = ({ path }) => (path.includes('subscription_schedules') ? forbidden : undefined)
  expect(await planned()).toBeUndefined()
  stage.fixture.server.instead = () => undefined
})

test('a subscription whose trial ended without a payment method is paused, too', async () => {
  const one = story({ trialDays: 7 })
  one.subscribe(START)
  one.set({ status: 'paused' })
  const { periods, renewal } = await known(START + 8 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-08T10:00:00Z' }])
  expect(renewal).toEqual({ isPaused: true, nextProduct: null, gaveUp: false })
})
