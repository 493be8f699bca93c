import { afterAll, beforeAll, beforeEach } from 'vitest'
import { periodsOf, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type StripeFixture, stripeFixture } from '../../../harness/stores/stripe-fixture.ts'
import type { ItemSetup } from '../../../harness/stores/stripe-objects.ts'
import { DAY_MS, HOUR_MS, type StoryOptions, stripeStory } from '../../../harness/stores/stripe-story.ts'

/** When the stories of these tests begin. */
export const START = Date.parse('2026-01-01T10:00:00Z')
/** The middle of the first period. */
export const HALF = START + 15 * DAY_MS

/** Two plans of the same item, and a further item. */
export const PRO: ItemSetup = { id: 'si_1', product: 'prod_pro', amount: 1000 }
export const MAX: ItemSetup = { id: 'si_1', product: 'prod_max', amount: 3000 }
export const SEATS: ItemSetup = { id: 'si_2', product: 'prod_seats', amount: 200, quantity: 3 }

/** A client beside a Stripe that is empty before each test of the file. The client's clock is then `afterMs` behind the start. */
export function stripeStage(afterMs = DAY_MS) {
  let fixture: StripeFixture
  beforeAll(async () => {
    fixture = await stripeFixture()
  })
  afterAll(() => fixture.close())
  beforeEach(() => {
    fixture.server.clear()
    fixture.clock.now = START + afterMs
  })
  const story = (options: StoryOptions = {}) => stripeStory(fixture.server, options)
  async function reports(at: number, queue = 'sub_1') {
    fixture.clock.now = at
    return reportsOf(await fixture.store.refresh(queue, fixture.context))
  }
  return {
    get fixture() {
      return fixture
    },
    story,
    subscribed(options: StoryOptions = {}) {
      const one = story({ userId: 'user-1', ...options })
      one.subscribe(START)
      return one
    },
    /** What Stripe answers at a time about the first lineage of a queue. */
    async known(at: number, queue?: string) {
      const [report, ...others] = await reports(at, queue)
      return { periods: periodsOf(report!.statements), renewal: renewalOf(report!.statements), report: report!, others }
    },
    /** The same of each lineage of the subscription. */
    async lineages(at = HALF + HOUR_MS) {
      return (await reports(at)).map(({ lineage, accountId, statements }) => ({
        ...{ lineage, accountId, periods: periodsOf(statements), renewal: renewalOf(statements) },
      }))
    },
  }
}
