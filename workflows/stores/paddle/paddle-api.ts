import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { storeKeys } from '../../../domain/purchases/stores/config.ts'
import type { StoreWord } from '../../../domain/purchases/verification.ts'
import type { Outgoing, OutgoingResponse } from '../../outgoing/outgoing.ts'
import { jsonObject, laterAfter } from '../http-answer.ts'
import { overQuota } from '../quota.ts'
import type { FetchContext, NoAnswer } from '../store-client.ts'
import { storeTime } from '../store-time.ts'
import { storeWord } from '../store-word.ts'

/** 30 transactions with their items and payments have some 200 KiB. */
const ANSWER_BYTES = 8 * 1024 * 1024
/** Pages of one list for one refresh: 3,000 transactions, which is more than a weekly subscription of 57 years has. */
const MOST_PAGES = 100

/** `urls`: the bases of Paddle's API. `now`: real time in ms. */
export type PaddleDeps = { outgoing: Outgoing; urls: Record<EnvironmentKind, string>; now: () => number }

/** `statedAt`: store time of the answer in ms. */
type PaddleAnswer<Value> = { is: 'answer'; value: Value; statedAt: number } | NoAnswer

type Page<Entity> = { entities: Entity[]; hasMore: boolean }
type WithId = { id: string }

const hasId = (value: unknown): value is WithId => typeof value === 'object' && value !== null && typeof (value as WithId).id === 'string'

/** One GET. `undefined` from `read`: the answer has another shape than requested, which must not be taken for "nothing is known". */
async function fetchOne<Value>(
  { outgoing, urls, now }: PaddleDeps,
  path: string,
  { settings, environment, signal, quota }: FetchContext,
  read: (answer: object) => Value | undefined,
): Promise<PaddleAnswer<Value>> {
  const { apiKey } = storeKeys(environment, settings.value)
  if (!settings.enabled || apiKey === null) return { is: 'refused', why: 'not_connected' }
  const waitMs = (await quota?.take()) ?? null
  if (waitMs !== null) return overQuota(waitMs)
  const response = await outgoing.request({
    method: 'GET',
    url: `${urls[environment]}${path}`,
    headers: { accept: 'application/json', authorization: `Bearer ${apiKey}`, 'paddle-version': '1' },
    answerBytes: ANSWER_BYTES,
    signal,
  })
  if (response.is === 'error') return laterAfter(response)
  switch (response.status) {
    case 200: {
      const answer = jsonObject(response.text)
      const value = answer ? read(answer) : undefined
      if (value === undefined) return { is: 'later', why: 'answer_unreadable', afterMs: null }
      return { is: 'answer', value, statedAt: storeTime(response.headers?.date, now()) }
    }
    case 404:
      return { is: 'unknown', word: wordOf(response) }
    case 410:
      return { is: 'gone', word: wordOf(response) }
    // Paddle answers a key that it does not know with 403, too.
    case 401:
    case 403:
      return { is: 'refused', why: `http_${response.status}` }
    default: {
      const answer = laterAfter(response)
      if (answer.is === 'later' && answer.why === 'http_429') await quota?.rest(answer.afterMs)
      return answer
    }
  }
}

/** Paddle answers an error with `{"error": {"code", "detail"}}`. */
function wordOf({ status, text }: OutgoingResponse & { is: 'response' }): StoreWord {
  const { error } = (jsonObject(text) ?? {}) as { error?: { code?: unknown; detail?: unknown } }
  return storeWord(typeof error?.code === 'string' ? `http_${status}_${error.code.slice(0, 60)}` : `http_${status}`, error?.detail)
}

/** One entity by its id. */
export const fetchPaddleEntity = <Entity extends WithId>(
  deps: PaddleDeps,
  path: string,
  context: FetchContext,
): Promise<PaddleAnswer<Entity>> =>
  fetchOne(deps, path, context, answer => ('data' in answer && hasId(answer.data) ? (answer.data as Entity) : undefined))

function pageOf<Entity>(answer: object, isEntity: (value: unknown) => boolean): Page<Entity> | undefined {
  const { data, meta } = answer as { data?: unknown; meta?: { pagination?: { has_more?: unknown } } }
  if (!Array.isArray(data) || !data.every(isEntity)) return undefined
  return { entities: data, hasMore: meta?.pagination?.has_more === true && data.length > 0 }
}

/** One page of a list. The address of the next page is not followed: it would get the key, wherever it leads. Its parameter is the last id. */
export const fetchPaddlePage = <Entity>(
  deps: PaddleDeps,
  path: string,
  query: Record<string, string>,
  context: FetchContext,
  isEntity: (value: unknown) => boolean = hasId,
): Promise<PaddleAnswer<Page<Entity>>> =>
  fetchOne(deps, `${path}?${new URLSearchParams(query)}`, context, answer => pageOf<Entity>(answer, isEntity))

/** `isWhole` false: the list is longer than what was requested. `statedAt`: the earliest of the answers. */
export type PaddleList<Entity> = { is: 'list'; entities: Entity[]; isWhole: boolean; statedAt: number } | NoAnswer

/** All pages of a list. */
export async function fetchPaddleList<Entity extends WithId>(
  deps: PaddleDeps,
  path: string,
  query: Record<string, string>,
  context: FetchContext,
): Promise<PaddleList<Entity>> {
  const entities: Entity[] = []
  let statedAt = Number.POSITIVE_INFINITY
  let after: Record<string, string> = {}
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await fetchPaddlePage<Entity>(deps, path, { order_by: 'id[ASC]', ...query, ...after }, context)
    if (answer.is !== 'answer') return answer
    entities.push(...answer.value.entities)
    statedAt = Math.min(statedAt, answer.statedAt)
    if (!answer.value.hasMore) return { is: 'list', entities, isWhole: true, statedAt }
    after = { after: answer.value.entities.at(-1)!.id }
  }
  return { is: 'list', entities, isWhole: false, statedAt }
}

/**
 * Whether the account of the environment accepts the project's key: older keys do not say whose they are. Any other answer than a refusal of the
 * key comes from behind it.
 */
export async function checkPaddleKey(deps: PaddleDeps, context: FetchContext): Promise<{ is: 'accepted' } | NoAnswer> {
  const answer = await fetchOne(deps, '/', context, one => one)
  const isAccepted = answer.is === 'answer' || answer.is === 'unknown' || (answer.is === 'later' && answer.why === 'answer_unreadable')
  return isAccepted ? { is: 'accepted' } : answer
}

const ID = /^(sub|txn)_[a-z\d]{26}$/

/** Ids come from callers: what does not look like one is not put into an address. */
export const isPaddleId = (id: string, kind: 'sub' | 'txn'): boolean => ID.exec(id)?.[1] === kind
