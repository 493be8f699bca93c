import { CliError } from '../failure.ts'
import type { ImportBatch, Rejection } from './batches.ts'
import type { Send } from './send.ts'

export type PostedRows = { created: number; duplicates: number; rejections: Rejection[] }

type Items = ImportBatch['items']
type Detail = { field?: string; message?: string }
type Result = { index: number; status: string; error: { message: string; details?: Detail[] } | null }
type Stored = { created: number; duplicates: number; results: Result[] }
type Refused = { error?: { message?: string; details?: Detail[] } }

/** Posts the items of a batch. The rejections are in the order of the rows. */
export async function postBatch(send: Send, { items, bad }: ImportBatch, trigger: boolean): Promise<PostedRows> {
  const posted = items.length > 0 ? await postItems(send, items, trigger) : { created: 0, duplicates: 0, rejections: [] }
  return { ...posted, rejections: [...posted.rejections, ...bad].sort((a, b) => a.row.n - b.row.n) }
}

async function postItems(send: Send, items: Items, trigger: boolean): Promise<PostedRows> {
  const { status, body } = await send(`{"events":[${items.map(({ json }) => json).join(',')}]${trigger ? '' : ',"trigger":false'}}`)
  if (status === 200) {
    const { created, duplicates, results } = body as Stored
    const rejections = results
      .filter(result => result.status === 'rejected')
      .map(({ index, error }) => rejection(items[index]!, error?.details ?? [], error?.message ?? ''))
    return { created, duplicates, rejections }
  }
  return allRejected(send, items, trigger, body as Refused)
}

/** 400: every item was rejected. An answer has at most 100 details, so a large batch is posted again in halves until each row has its reason. */
async function allRejected(send: Send, items: Items, trigger: boolean, { error }: Refused): Promise<PostedRows> {
  const byIndex = Map.groupBy(error?.details ?? [], ({ field }) => Number(/^events\[(\d+)\]/.exec(field ?? '')?.[1] ?? -1))
  if (byIndex.has(-1) || byIndex.size === 0) throw new CliError(`the service refuses the request: ${error?.message ?? 'without a reason'}`)
  if (byIndex.size === items.length || items.length === 1) {
    const details = (i: number) =>
      (byIndex.get(i) ?? []).map(({ field = '', message = '' }) => ({ field: field.replace(/^events\[\d+\]\.?/, ''), message }))
    return { created: 0, duplicates: 0, rejections: items.map((item, i) => rejection(item, details(i), error?.message ?? '')) }
  }
  const middle = Math.ceil(items.length / 2)
  const first = await postItems(send, items.slice(0, middle), trigger)
  const second = await postItems(send, items.slice(middle), trigger)
  return {
    created: first.created + second.created,
    duplicates: first.duplicates + second.duplicates,
    rejections: [...first.rejections, ...second.rejections],
  }
}

function rejection({ row }: Items[number], details: Detail[], message: string): Rejection {
  const [first, ...others] = details
  if (first === undefined) return { row, field: '', reason: message }
  const reason = [first.message, ...others.map(({ field, message }) => `${field} ${message}`)].join('; ')
  return { row, field: first.field === 'body' ? '' : (first.field ?? ''), reason }
}
