import { expect, test } from 'vitest'
import { periodsOf } from '../../../harness/stores/google-fixture.ts'
import { paddleId } from '../../../harness/stores/paddle.ts'
import { paddleTransaction } from '../../../harness/stores/paddle-story.ts'
import { paddleStage, START } from './stage.ts'

const DAY = 86_400_000
const stage = paddleStage()
const { story, reports, known } = stage

test('without permission for addresses there is no country', async () => {
  const { subscribe, id, latest } = story()
  subscribe(START)
  stage.fixture.live.forbidden = ['address']
  expect((await known(id)).periods[0]).not.toHaveProperty('country')
  const [once] = await reports(paddleTransaction(stage.fixture.live, START, [{ product: 'coins', price: '1', isOnce: true }]).id)
  expect(periodsOf(once!.statements)[0]).not.toHaveProperty('country')
  expect(latest().address).toBeUndefined()
})

test('all pages of every list, by the last id, wherever the address of the next page leads', async () => {
  const { subscribe, renew, refund, id } = story({ days: 7 })
  subscribe(START)
  for (let renewals = 0; renewals < 40; renewals++) renew()
  refund(START + DAY, '1')
  refund(START + DAY, '2')
  stage.fixture.live.pageSize = 1
  const { periods, report } = await known(id)
  expect(periods).toHaveLength(41)
  expect(periods.at(-1)!.refund).toMatchObject({ amount: '0.03' })
  expect(report.isWhole).toBe(true)
  expect(stage.fixture.live.requests).toHaveLength(1 + 41 + 2)
})

test('paging is bounded: then the history is not whole', async () => {
  const { subscribe, renew, id } = story({ days: 7 })
  subscribe(START)
  for (let renewals = 0; renewals < 101; renewals++) renew()
  stage.fixture.live.pageSize = 1
  expect((await known(id)).report.isWhole).toBe(false)
  expect(stage.fixture.live.requests).toHaveLength(102)
})

test('the queue of a transaction that belongs to a subscription asks for the subscription', async () => {
  const { subscribe, id, latest } = story()
  subscribe(START)
  expect((await reports(latest().id)).map(({ lineage }) => lineage)).toEqual([id])
})

test.each([
  'sub_1',
  paddleId('ctm', START),
  'txn_../subscriptions',
  `event:${paddleId('evt', START)}`,
  '',
])('a queue that Paddle cannot know is unknown, unasked: %j', async queue => {
  expect(await stage.fixture.paddle.refresh(queue, stage.fixture.context)).toMatchObject({ is: 'unknown' })
  expect(stage.fixture.live.requests).toEqual([])
})
