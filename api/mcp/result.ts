import type { CallToolResult } from '@modelcontextprotocol/server'
import type { OperationDescription, OperationId } from '../../schemas/generated/operations.ts'
import type { Problem } from '../errors.ts'
import { REVEAL_HEADER } from '../reveal.ts'
import type { HttpAnswer } from '../run.ts'

/** `current`: the protocol since 2026-07-28, whose clients read the structured content. */
export type Lane = 'current' | 'earlier'

/** What a tool answers, beside the text. */
export type Structured = { status: number; result: unknown } & Record<string, unknown>

/** `texts`: for the assistant. `json`: that of the structured content, null for an error. */
export type ToolAnswer = { texts: string[]; json: string | null }

/** Bytes of a result. */
const MOST_OF_RESULT = 100_000
/** Bytes of a text that repeats the structured content. */
const MOST_OF_TEXT = 2_000
const MOST_IDS = 20

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** The longest list among the fields, and among those of objects in the fields. */
function longestList(body: Fields): { of: Fields; name: string; items: unknown[] } | null {
  const found = [body, ...Object.values(body).filter(isObject)].flatMap(of =>
    Object.entries(of).flatMap(([name, items]) =>
      Array.isArray(items) && items.length > 0 ? [{ of, name, items, size: bytes(items) }] : [],
    ),
  )
  return found.sort((a, b) => b.size - a.size)[0] ?? null
}

/** How many of the items fit into so many bytes. */
function fitting(items: readonly unknown[], most: number): number {
  let size = 0
  const over = items.findIndex(item => {
    size += bytes(item) + 1
    return size > most
  })
  return over < 0 ? items.length : over
}

/** The cursors of these lists are not the ids of items. */
const OWN_CURSORS: ReadonlySet<string> = new Set<OperationId>(['v4ListCustomerTimeline'])

/** With which arguments a list goes on that was cut after `kept` items: at the next one, or with these items and their cursor. */
function nextOf(
  { id, pagination, query: known }: OperationDescription,
  query: Fields,
  items: readonly unknown[],
  kept: number,
): Fields | null {
  const last = items[kept - 1]
  const offset = Number(query.offset ?? 0)
  // A list that takes either refuses an offset with a filter, and a cursor with an offset.
  const isByCursor = pagination === 'cursor' || (offset === 0 && known.some(({ name }) => name === 'starting_after'))
  if (pagination === 'offset' && !isByCursor) return { offset: offset + kept }
  if (OWN_CURSORS.has(id)) return { limit: kept }
  return isByCursor && isObject(last) && typeof last.id === 'string' ? { starting_after: last.id } : null
}

/** Cuts a result that is too long at a whole item, and says where it goes on. Null where no list can be cut short enough. */
function cut(description: OperationDescription, query: Fields, body: Fields): { result: unknown; truncated: Fields } | null {
  const list = longestList(body)
  if (!list) return null
  const { of, name, items } = list
  const kept = fitting(items, MOST_OF_RESULT - (bytes(body) - bytes(items)))
  if (kept === 0) return null
  const isPage = of === body && name === 'data'
  const next = isPage ? nextOf(description, query, items, kept) : null
  const shorter = { ...of, [name]: items.slice(0, kept) }
  // The cursor of the whole page would leave out what was cut off.
  const more = isPage && { has_more: true, next_cursor: next?.starting_after }
  const result =
    of === body
      ? { ...shorter, ...more }
      : Object.fromEntries(Object.entries(body).map(([key, value]) => [key, value === of ? shorter : value]))
  return { result, truncated: { field: name, left_out: items.length - kept, ...(next && { next }) } }
}

/** The structured content of a result whose JSON is known, which is neither read nor written again. */
const around = (status: number, result: string, rest: Fields): string => `{"status":${status},"result":${result}${members(rest)}}`

/** The fields of an object as they stand behind another one. */
function members(fields: Fields): string {
  const inner = JSON.stringify(fields).slice(1, -1)
  return inner && `,${inner}`
}

/** The answer of an operation as a tool gives it, as JSON. */
export function structured(description: OperationDescription, query: Fields, { status, headers, body }: HttpAnswer): string {
  const rest = {
    ...(headers.Location !== undefined && { location: headers.Location }),
    ...(headers['Retry-After'] !== undefined && { retry_after: Number(headers['Retry-After']) }),
    ...(headers['X-Qon-Pagination-Restarted'] !== undefined && { pagination_restarted: true }),
  }
  if (body === null) return around(status, 'null', rest)
  const reveal = headers[REVEAL_HEADER]
  const whole = () => JSON.parse(body) as unknown
  if (reveal !== undefined) return around(status, JSON.stringify({ ...(whole() as Fields), reveal_url: reveal }), rest)
  const size = Buffer.byteLength(body)
  if (size <= MOST_OF_RESULT) return around(status, body, rest)
  const long = whole()
  const shorter = isObject(long) ? cut(description, query, long) : null
  const { result, truncated } = shorter ?? { result: null, truncated: { field: 'result', left_out: size, unit: 'bytes' } }
  return around(status, JSON.stringify(result), shorter ? { truncated, ...rest } : { ...rest, truncated })
}

/** A long result in a line: how many items, their ids, where it goes on. */
function summary({ status, result, truncated }: Structured): string {
  const { object, id, data, has_more, next_cursor } = isObject(result) ? result : ({} as Fields)
  const ids = Array.isArray(data) ? data.flatMap(item => (isObject(item) && typeof item.id === 'string' ? [item.id] : [])) : []
  return JSON.stringify({
    status,
    object,
    id,
    ...(Array.isArray(data) && { count: data.length, ids: ids.slice(0, MOST_IDS), has_more, next_cursor }),
    truncated,
    note: 'structuredContent has all of it',
  })
}

/** `json`: that of the structured content. `say`: for the assistant, in place of the JSON. */
export function toolAnswer(lane: Lane, json: string, say?: string): ToolAnswer {
  const text = lane === 'current' && Buffer.byteLength(json) > MOST_OF_TEXT ? summary(JSON.parse(json)) : json
  return { texts: say === undefined ? [text] : [say, text], json }
}

export const errorAnswer = ({ status, body, headers }: Pick<Problem, 'status' | 'body' | 'headers'>): ToolAnswer => {
  const retryAfter = headers['Retry-After']
  const text = JSON.stringify({ status, ...body, ...(retryAfter !== undefined && { retry_after: Number(retryAfter) }) })
  return { texts: [text], json: null }
}

const contentOf = (texts: readonly string[]) => texts.map(text => ({ type: 'text' as const, text }))

/** For the package of the protocol. */
export const resultOf = ({ texts, json }: ToolAnswer): CallToolResult => ({
  content: contentOf(texts),
  ...(json === null ? { isError: true } : { structuredContent: JSON.parse(json) }),
})

/** The same as JSON. `rest`: further fields. */
export const resultJson = ({ texts, json }: ToolAnswer, rest: Fields): string =>
  `{"content":${JSON.stringify(contentOf(texts))},${json === null ? '"isError":true' : `"structuredContent":${json}`}${members(rest)}}`
