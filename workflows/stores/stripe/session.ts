import Stripe from 'stripe'
import { storeKeys } from '../../../domain/purchases/stores/config.ts'
import { FetchFailed, outgoingFetch } from '../../outgoing/fetch.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'
import { retryAfterSeconds } from '../../outgoing/response.ts'
import { overQuota } from '../quota.ts'
import type { FetchContext, NoAnswer } from '../store-client.ts'
import { storeTime } from '../store-time.ts'
import { storeWord } from '../store-word.ts'

/** Answers have the shape of this version. The compiler refuses it when an update of the SDK changes the types to those of another one. */
const API_VERSION: Stripe.LatestApiVersion = '2026-10-28.endive'
/** A hundred invoices with ten lines each have over a megabyte. */
const ANSWER_BYTES = 8 * 1024 * 1024
const LIMIT_MS = 10_000
const PAGE = 100
/** 2,000 of a list: more are not read at once. */
const MOST_PAGES = 20

/** `now`: real time in ms. */
export type StripeDeps = { outgoing: Outgoing; apiUrl: string; now: () => number }

/** Stripe's SDK for one question. `statedAt`: store time of the earliest answer, in ms. */
export type StripeSession = { stripe: Stripe; statedAt(): number }

class NotAnswered extends Error {
  readonly answer: NoAnswer
  constructor(answer: NoAnswer) {
    super(answer.is)
    this.answer = answer
  }
}

const later = (why: string, afterMs: number | null = null): NoAnswer => ({ is: 'later', why, afterMs })

/** `code` null: Stripe names none. */
async function errorOf(response: Response): Promise<{ code: string | null; message: unknown }> {
  try {
    const { error } = (await response.json()) as { error?: { code?: unknown; message?: unknown } }
    return { code: typeof error?.code === 'string' ? error.code : null, message: error?.message }
  } catch {
    return { code: null, message: undefined }
  }
}

async function noAnswer(response: Response): Promise<NoAnswer> {
  const { status, headers } = response
  const { code, message } = await errorOf(response)
  const why = code === null ? `http_${status}` : `http_${status}_${code}`
  if (status === 401 || status === 403) return { is: 'refused', why }
  // Filters of lists answer an id that does not exist with 400.
  if (status === 404 || (status === 400 && code === 'resource_missing')) return { is: 'unknown', word: storeWord(why, message) }
  const seconds = retryAfterSeconds(headers.get('retry-after'))
  return later(why, seconds === null ? null : seconds * 1000)
}

function sessionWith(deps: StripeDeps, apiKey: string, { signal, quota }: Pick<FetchContext, 'signal' | 'quota'>): StripeSession {
  const bounded = outgoingFetch(deps.outgoing, { answerBytes: ANSWER_BYTES, limitMs: LIMIT_MS })
  const { protocol, hostname, port } = new URL(deps.apiUrl)
  let statedAt = Number.POSITIVE_INFINITY
  // The SDK takes an error answer without its JSON for a success.
  const boundedFetch: typeof fetch = async (input, init) => {
    const waitMs = (await quota?.take()) ?? null
    if (waitMs !== null) throw new NotAnswered(overQuota(waitMs))
    const response = await bounded(input, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal })
    if (!response.ok) {
      const answer = await noAnswer(response)
      if (response.status === 429) await quota?.rest(answer.is === 'later' ? answer.afterMs : null)
      throw new NotAnswered(answer)
    }
    statedAt = Math.min(statedAt, storeTime(response.headers.get('date'), deps.now()))
    return response
  }
  const stripe = new Stripe(apiKey, {
    apiVersion: API_VERSION,
    httpClient: Stripe.createFetchHttpClient(boundedFetch),
    maxNetworkRetries: 0,
    timeout: LIMIT_MS,
    telemetry: false,
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
  })
  return { stripe, statedAt: () => Math.min(statedAt, deps.now()) }
}

/** The SDK wraps what its HTTP client throws. */
function answerTo(error: unknown): NoAnswer {
  const cause = error instanceof Stripe.errors.StripeConnectionError ? (error.detail as unknown) : error
  if (cause instanceof NotAnswered) return cause.answer
  if (cause instanceof FetchFailed) return later(cause.code)
  if (error instanceof Stripe.errors.StripeError) return later('answer_unreadable')
  throw error
}

export type StripeAnswer<Value> = { is: 'answer'; value: Value } | NoAnswer

/** Fetches from Stripe. Throws for a defect or when the signal aborts. */
export async function fetchFromStripe<Value>(
  deps: StripeDeps,
  context: FetchContext,
  question: (session: StripeSession) => Promise<Value>,
): Promise<StripeAnswer<Value>> {
  const { apiKey } = storeKeys(context.environment, context.settings.value)
  context.signal.throwIfAborted()
  // A key with other characters could not be sent.
  if (!context.settings.enabled || apiKey === null || !/^\w+$/.test(apiKey)) return { is: 'refused', why: 'not_connected' }
  try {
    return { is: 'answer', value: await question(sessionWith(deps, apiKey, context)) }
  } catch (error) {
    context.signal.throwIfAborted()
    return answerTo(error)
  }
}

/** An answer that is another object, or none, says nothing. */
export function expectObject<Value extends { object: string }>(value: Value, object: Value['object']): Value {
  if (value?.object !== object) throw new NotAnswered(later('answer_unreadable'))
  return value
}

/** Null where Stripe does not answer for the reason `is`. */
export async function unless<Value>(is: NoAnswer['is'], retrieved: Promise<Value>): Promise<Value | null> {
  try {
    return await retrieved
  } catch (error) {
    if (answerTo(error).is === is) return null
    throw error
  }
}

type Page<Item> = { object: string; data: Item[]; has_more: boolean }
export type PageParams = { limit: number; starting_after?: string }

/** The pages of a list, one after the other. */
async function* stripePages<Item extends { id: string }>(
  list: (params: PageParams) => Promise<Page<Item>>,
  first?: Page<Item>,
): AsyncGenerator<Page<Item>, void, void> {
  let page = first ?? expectObject(await list({ limit: PAGE }), 'list')
  for (;;) {
    yield page
    const last = page.data.at(-1)
    if (!page.has_more || !last) return
    page = expectObject(await list({ limit: PAGE, starting_after: last.id }), 'list')
  }
}

/** All of a list, the first 2,000 of it; `isWhole` false: there are more. `first`: its first page, where it is known. */
export async function allOf<Item extends { id: string }>(
  list: (params: PageParams) => Promise<Page<Item>>,
  first?: Page<Item>,
): Promise<{ all: Item[]; isWhole: boolean }> {
  const all: Item[] = []
  let pages = 0
  for await (const { data, has_more } of stripePages(list, first)) {
    all.push(...data)
    pages += 1
    if (pages === MOST_PAGES) return { all, isWhole: !has_more }
  }
  return { all, isWhole: true }
}
