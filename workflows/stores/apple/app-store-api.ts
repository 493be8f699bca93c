import { createPrivateKey } from 'node:crypto'
import { APIError, APIException, AppStoreServerAPIClient, VerificationException } from '@apple/app-store-server-library'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { FetchFailed } from '../../outgoing/fetch.ts'
import { retryAtSeconds } from '../../outgoing/response.ts'
import { OVER_QUOTA, overQuota } from '../quota.ts'
import type { FetchContext, StoreAnswer, StoreSettings } from '../store-client.ts'
import { storeWord } from '../store-word.ts'
import { APPLE_ENVIRONMENT, type SignatureRules } from './signed-data.ts'
import { UnreadableContent } from './signed-payload.ts'

/**
 * `fetch` limits the address, the time and the size of an answer, follows no redirect and rejects with `FetchFailed` when there is no
 * answer. `urls`: the bases of the App Store Server API. `rules.now`: real time in ms. `patienceMs`: how long a signed claim waits for
 * Apple; 8 s unless given.
 */
export type AppleDeps = {
  fetch: typeof globalThis.fetch
  urls: Record<EnvironmentKind, string>
  rules: SignatureRules
  patienceMs?: number
}

type NoAppleAnswer = Exclude<StoreAnswer, { is: 'reports' }>
export type AppleAnswer<Value> = { is: 'answer'; value: Value } | NoAppleAnswer

/** Apple requires a pause. */
class TooManyRequests extends Error {
  readonly afterMs: number | null
  constructor(afterMs: number | null) {
    super('too many requests')
    this.afterMs = afterMs
  }
}

/** The budget grants no request yet. */
class OverQuota extends Error {
  readonly afterMs: number
  constructor(afterMs: number) {
    super(OVER_QUOTA)
    this.afterMs = afterMs
  }
}

type LibraryResponse = Awaited<ReturnType<AppStoreServerAPIClient['makeFetchRequest']>>
type ApiKey = { key: string; keyId: string; issuerId: string; bundleId: string }

/** Apple's client with its signed tokens, answers and errors, over the given `fetch`. One client for each request. */
export class AppStoreApi extends AppStoreServerAPIClient {
  readonly #deps: AppleDeps
  readonly #context: FetchContext

  constructor(deps: AppleDeps, { key, keyId, issuerId, bundleId }: ApiKey, context: FetchContext) {
    super(key, keyId, issuerId, bundleId, APPLE_ENVIRONMENT[context.environment])
    this.#deps = deps
    this.#context = context
  }

  protected override async makeFetchRequest(
    ...[path, query, method, body, headers]: Parameters<AppStoreServerAPIClient['makeFetchRequest']>
  ): Promise<LibraryResponse> {
    const { fetch, urls, rules } = this.#deps
    const { environment, signal, quota } = this.#context
    const waitMs = (await quota?.take()) ?? null
    if (waitMs !== null) throw new OverQuota(waitMs)
    const response = await fetch(`${urls[environment]}${path}?${query}`, { method, headers, body, signal })
    if (response.status === 429) {
      const seconds = retryAtSeconds(response.headers.get('retry-after'), rules.now())
      const afterMs = seconds === null ? null : seconds * 1000
      await quota?.rest(afterMs)
      throw new TooManyRequests(afterMs)
    }
    // The library reads only what both kinds of responses have: `ok`, `status`, `json()`.
    return response as unknown as LibraryResponse
  }
}

/** The key of the App Store Server API; null when the project has not connected the store, or when its key cannot be a key of Apple's. */
function apiKey(settings: StoreSettings): ApiKey | null {
  const [key, keyId, issuerId, bundleId] = ['iap_private_key', 'iap_key_identifier', 'iap_issuer_id', 'bundle_id'].map(name =>
    settings.enabled ? settings.value(name) : null,
  )
  if (key == null || keyId == null || issuerId == null || bundleId == null) return null
  try {
    return createPrivateKey(key).asymmetricKeyDetails?.namedCurve === 'prime256v1' ? { key, keyId, issuerId, bundleId } : null
  } catch {
    return null
  }
}

/** Errors of Apple with status 404 that end by themselves. */
const FOR_NOW = new Set<number | null>([
  APIError.ACCOUNT_NOT_FOUND_RETRYABLE,
  APIError.APP_NOT_FOUND_RETRYABLE,
  APIError.ORIGINAL_TRANSACTION_ID_NOT_FOUND_RETRYABLE,
])
const MALFORMED_ID = new Set<number | null>([APIError.INVALID_TRANSACTION_ID, APIError.INVALID_ORIGINAL_TRANSACTION_ID])

const later = (why: string, afterMs: number | null = null): NoAppleAnswer => ({ is: 'later', why, afterMs })

function ofStatus({ httpStatusCode: status, apiError, errorMessage }: APIException): NoAppleAnswer {
  const code = typeof apiError === 'number' ? apiError : null
  const why = code === null ? `http_${status}` : `http_${status}_${code}`
  if (status === 401 || status === 403 || code === APIError.APP_NOT_FOUND) return { is: 'refused', why }
  const unknown = { is: 'unknown', word: storeWord(why, errorMessage) } as const
  if (MALFORMED_ID.has(code)) return unknown
  if (status === 404 || status === 410) return FOR_NOW.has(code) ? later(why) : unknown
  return later(why)
}

/** The library throws a bare Error for an answer of another shape. */
const isUnreadable = (error: unknown) =>
  error instanceof UnreadableContent ||
  error instanceof SyntaxError ||
  (error instanceof Error && error.message === 'Unexpected response body format')

function noAnswer(error: unknown): NoAppleAnswer {
  if (error instanceof OverQuota) return overQuota(error.afterMs)
  if (error instanceof TooManyRequests) return later('http_429', error.afterMs)
  if (error instanceof APIException) return ofStatus(error)
  if (error instanceof FetchFailed) return later(error.code)
  if (error instanceof VerificationException) return later('signature_invalid')
  if (isUnreadable(error)) return later('answer_unreadable')
  throw error
}

/** Fetches from Apple. An answer with an invalid signature counts as no answer. Throws for a defect or when the signal aborts. */
export async function fetchFromApple<Value>(
  deps: AppleDeps,
  context: FetchContext,
  question: (api: AppStoreApi, bundleId: string) => Promise<Value>,
): Promise<AppleAnswer<Value>> {
  const key = apiKey(context.settings)
  if (key === null) return { is: 'refused', why: 'not_connected' }
  try {
    return { is: 'answer', value: await question(new AppStoreApi(deps, key, context), key.bundleId) }
  } catch (error) {
    context.signal.throwIfAborted()
    return noAnswer(error)
  }
}
