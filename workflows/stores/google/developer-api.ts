import type { StoreWord } from '../../../domain/purchases/verification.ts'
import { type GoogleTokens, requestWithToken, serviceAccount } from '../../outgoing/google-token.ts'
import type { Outgoing, OutgoingResponse } from '../../outgoing/outgoing.ts'
import { jsonObject, laterAfter } from '../http-answer.ts'
import { overQuota } from '../quota.ts'
import type { FetchContext, NoAnswer } from '../store-client.ts'
import { storeTime } from '../store-time.ts'
import { storeWord } from '../store-word.ts'

export type { NoAnswer } from '../store-client.ts'

export const PUBLISHER_SCOPE = 'https://www.googleapis.com/auth/androidpublisher'
/** A thousand orders have over a megabyte. */
const ANSWER_BYTES = 8 * 1024 * 1024

export type PlayDeps = {
  outgoing: Outgoing
  tokens: GoogleTokens
  apiUrl: string
  certsUrl: string
  now: () => number
  /** Is called with an unknown value of an enumeration. The value is read as if the store stated nothing. */
  unknownWord?: (field: string, word: string) => void
}

/** `statedAt`: store time of the answer in ms. forbidden: the service account lacks a permission for this address alone. */
export type ApiAnswer<Body> = { is: 'answer'; body: Body; statedAt: number } | { is: 'forbidden' } | NoAnswer

export type PlayRequest = { method: 'GET' | 'POST'; path: string; query?: URLSearchParams; body?: object }

/** Google also answers 403 when a quota is used up. */
const isQuota = (text: string) => /rateLimitExceeded|quotaExceeded|RATE_LIMIT_EXCEEDED|RESOURCE_EXHAUSTED/i.test(text)

function withoutToken(response: OutgoingResponse): NoAnswer {
  const isRefusal = response.is === 'response' && [400, 401, 403].includes(response.status)
  return isRefusal ? { is: 'refused', why: 'no_access_token' } : laterAfter(response)
}

/** Google has separate quotas for orders and for purchases. */
const familyOf = (path: string) => (path.startsWith('orders') ? 'orders' : 'purchases')

/** Error codes of a quota that is used up; see `isQuota` for the second one. */
const USED_UP = new Set(['http_429', 'http_403'])

/** One request to the Developer API about the project's app. */
export async function fetchFromPlay<Body extends object>(
  deps: PlayDeps,
  sent: PlayRequest,
  { settings, signal, quota }: Pick<FetchContext, 'settings' | 'signal' | 'quota'>,
): Promise<ApiAnswer<Body>> {
  const family = familyOf(sent.path)
  const waitMs = (await quota?.take(family)) ?? null
  if (waitMs !== null) return overQuota(waitMs)
  const answer = await request<Body>(deps, sent, { settings, signal })
  if (answer.is === 'later' && USED_UP.has(answer.why)) await quota?.rest(answer.afterMs, family)
  return answer
}

async function request<Body extends object>(
  { outgoing, tokens, apiUrl, now }: PlayDeps,
  { method, path, query, body }: PlayRequest,
  { settings, signal }: Pick<FetchContext, 'settings' | 'signal'>,
): Promise<ApiAnswer<Body>> {
  const packageName = settings.value('package_name')
  const account = serviceAccount(settings.value('service_account_key'))
  if (packageName === null || !account) return { is: 'refused', why: 'not_connected' }
  const url = `${apiUrl}/androidpublisher/v3/applications/${encodeURIComponent(packageName)}/${path}${query ? `?${query}` : ''}`
  const { hasToken, response } = await requestWithToken(
    { outgoing, tokens, account, scope: PUBLISHER_SCOPE, signal },
    {
      method,
      url,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      answerBytes: ANSWER_BYTES,
    },
  )
  if (!hasToken) return withoutToken(response)
  if (response.is === 'error') return laterAfter(response)
  switch (response.status) {
    case 200:
    case 204: {
      const read = jsonObject(response.text)
      if (!read) return { is: 'later', why: 'answer_unreadable', afterMs: null }
      return { is: 'answer', body: read as Body, statedAt: storeTime(response.headers?.date, now()) }
    }
    // Google answers 400 to a token that it cannot even parse.
    case 400:
    case 404:
      return { is: 'unknown', word: wordOf(response) }
    case 410:
      return { is: 'gone', word: wordOf(response) }
    case 401:
      return { is: 'refused', why: 'http_401' }
    case 403:
      return isQuota(response.text) ? laterAfter(response) : { is: 'forbidden' }
    default:
      return laterAfter(response)
  }
}

/** Google answers an error with `{"error": {"message"}}`. */
function wordOf({ status, text }: OutgoingResponse & { is: 'response' }): StoreWord {
  const { error } = (jsonObject(text) ?? {}) as { error?: { message?: unknown } }
  return storeWord(`http_${status}`, error?.message)
}

export const FORBIDDEN: NoAnswer = { is: 'refused', why: 'http_403' }
