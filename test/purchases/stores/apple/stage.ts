import { afterAll, beforeAll } from 'vitest'
import { type AppleFixture, appleFixture, NOW, reportedBy } from '../../../harness/stores/apple-fixture.ts'
import type { AppleNotification } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription } from '../../../harness/stores/apple-subscription.ts'

export const DAY_MS = 86_400_000
/** When the subscriptions of these tests begin. */
export const BEGIN = NOW - 10 * DAY_MS

/** A client of the App Store for the tests of a file, beside a server of its own. */
export function appleStage() {
  let fixture: AppleFixture
  beforeAll(async () => {
    fixture = await appleFixture()
  })
  afterAll(() => fixture.close())
  return {
    get fixture() {
      return fixture
    },
    get chain() {
      return fixture.chain
    },
    says: (notification: AppleNotification) => reportedBy(fixture, notification),
    /** A subscription that has begun. */
    begun(setup = {}) {
      const subscription = appleSubscription(fixture.chain, setup)
      subscription.subscribe(BEGIN)
      return subscription
    },
  }
}
