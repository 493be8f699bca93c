import { afterAll, beforeAll, beforeEach } from 'vitest'
import { periodsOf, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type PaddleFixture, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { type PaddleStoryOptions, paddleStory } from '../../../harness/stores/paddle-story.ts'

/** When the stories of these tests begin, and the time before each test. */
export const START = Date.parse('2026-01-01T10:00:00Z')

/** A client beside a Paddle that is empty before each test of the file. */
export function paddleStage() {
  let now = START
  let fixture: PaddleFixture
  /** The server’s `Date` header and our own clock. */
  function setNow(ms: number) {
    now = ms
    fixture.live.date = new Date(ms).toUTCString()
  }
  beforeAll(async () => {
    fixture = await paddleFixture(() => now)
  })
  afterAll(() => fixture.close())
  beforeEach(() => {
    const { live } = fixture
    Object.assign(live, { pageSize: null, forbidden: [] })
    live.requests.length = 0
    for (const kind of [live.subscriptions, live.transactions, live.adjustments]) kind.clear()
    setNow(START)
  })
  const reports = async (queue: string) => reportsOf(await fixture.paddle.refresh(queue, fixture.context))
  return {
    get fixture() {
      return fixture
    },
    setNow,
    story: (options?: PaddleStoryOptions) => paddleStory(fixture.live, options),
    reports,
    /** What Paddle answers about the first lineage of a queue. */
    async known(queue: string) {
      const [report] = await reports(queue)
      return { periods: periodsOf(report!.statements), renewal: renewalOf(report!.statements), report: report! }
    },
  }
}
