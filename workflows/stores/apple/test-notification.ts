import type { FetchContext } from '../store-client.ts'
import { type AppleAnswer, type AppleDeps, fetchFromApple } from './app-store-api.ts'
import { UnreadableContent } from './signed-payload.ts'

/** Requests from Apple a test notification to the address that is entered at the App Store. The answer is its token. */
export const requestAppleTest = (deps: AppleDeps, context: FetchContext): Promise<AppleAnswer<string>> =>
  fetchFromApple(deps, context, async api => {
    const { testNotificationToken } = await api.requestTestNotification()
    if (testNotificationToken === undefined) throw new UnreadableContent('an answer has no testNotificationToken')
    return testNotificationToken
  })

/** The result of Apple's attempts to post a test notification, as Apple names it, such as SUCCESS; empty: not attempted yet. */
export const appleTestAttempts = (deps: AppleDeps, token: string, context: FetchContext): Promise<AppleAnswer<string[]>> =>
  fetchFromApple(deps, context, async api => {
    const { sendAttempts = [] } = await api.getTestNotificationStatus(encodeURIComponent(token))
    return sendAttempts.flatMap(({ sendAttemptResult }) => (sendAttemptResult === undefined ? [] : [sendAttemptResult]))
  })
