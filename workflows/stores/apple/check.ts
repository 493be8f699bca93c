import type { FetchContext, PermissionCheck } from '../store-client.ts'
import { type AppleAnswer, type AppleDeps, fetchFromApple } from './app-store-api.ts'

const HOUR_MS = 3_600_000

const TODO = {
  key: 'enter iap_key_identifier, iap_private_key and iap_issuer_id of one key of the kind In-App Purchase (App Store Connect, Users and Access, Integrations)',
  unapproved: 'in production Apple answers 401 as well until the app has been approved for the first time',
  bundle: "bundle_id must be the app's, and the key must be of the same team",
  later: 'Apple gave no answer: try again, and see whether this machine reaches the address',
}

function todoOf({ is }: AppleAnswer<unknown>, why: string, isProduction: boolean): string {
  if (is === 'later') return TODO.later
  if (why === 'http_401' || why === 'http_403') return isProduction ? `${TODO.key}; ${TODO.unapproved}` : TODO.key
  return why === 'not_connected' ? TODO.key : TODO.bundle
}

/** Requests the notifications that Apple could not deliver within the last hour, as the sweeps do. */
export async function checkAppleApi(deps: AppleDeps, context: FetchContext): Promise<PermissionCheck[]> {
  const permission = `App Store Server API, ${context.environment}`
  const now = deps.rules.now()
  const answer = await fetchFromApple(deps, context, api =>
    api.getNotificationHistory(null, { startDate: now - HOUR_MS, endDate: now, onlyFailures: true }),
  )
  if (answer.is === 'answer') return [{ is: 'granted', permission }]
  const why = 'why' in answer ? answer.why : answer.is
  const todo = todoOf(answer, why, context.environment === 'production')
  return [{ is: answer.is === 'later' ? 'no_answer' : 'refused', permission, why, todo }]
}
