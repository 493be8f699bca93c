import type { Asking } from '../store-client.ts'
import { type AppleAnswer, type AppleDeps, askApple } from './app-store-api.ts'
import { UnreadableContent } from './signed-payload.ts'

/** Asks Apple to post a test notification to the address that is entered at the App Store. The answer is its token. */
export const requestAppleTest = (deps: AppleDeps, asking: Asking): Promise<AppleAnswer<string>> =>
  askApple(deps, asking, async api => {
    const { testNotificationToken } = await api.requestTestNotification()
    if (testNotificationToken === undefined) throw new UnreadableContent('an answer has no testNotificationToken')
    return testNotificationToken
  })

/** What became of a test notification at Apple's attempts to post it, in Apple's words such as SUCCESS; empty: not attempted yet. */
export const appleTestAttempts = (deps: AppleDeps, token: string, asking: Asking): Promise<AppleAnswer<string[]>> =>
  askApple(deps, asking, async api => {
    const { sendAttempts = [] } = await api.getTestNotificationStatus(encodeURIComponent(token))
    return sendAttempts.flatMap(({ sendAttemptResult }) => (sendAttemptResult === undefined ? [] : [sendAttemptResult]))
  })
