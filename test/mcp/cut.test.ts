// Where a result goes on that was cut.
import { expect, test } from 'vitest'
import { structured } from '../../api/mcp/result.ts'
import { routes } from '../../api/routes.ts'

const byCursor = routes.find(({ description }) => description.pagination === 'cursor')!.description
const text = 'x'.repeat(9_000)
const cutOf = (items: object[], description = byCursor, query = {}) => {
  const body = JSON.stringify({ object: 'list', data: items, has_more: true, next_cursor: 'end-of-the-page' })
  const cut: { result: Record<string, unknown>; truncated: object } = JSON.parse(
    structured(description, query, { status: 200, headers: {}, body }),
  )
  return cut
}
const twenty = (item: (at: number) => object) => Array.from({ length: 20 }, (_, at) => item(at))

test('at the last item that is left', () => {
  const { result, truncated } = cutOf(twenty(at => ({ id: `item-${at}`, text })))
  const { id } = (result.data as { id: string }[]).at(-1)!
  expect([result.has_more, result.next_cursor, truncated]).toMatchObject([true, id, { next: { starting_after: id } }])
})

test('nowhere, when its items have no id: the cursor of the page would leave some out', () => {
  const { result, truncated } = cutOf(twenty(() => ({ text })))
  expect(result.has_more).toBe(true)
  expect([result.next_cursor, JSON.stringify(truncated).includes('next')]).toEqual([undefined, false])
})

test('of events at the last one, or at its offset where the request has one: neither is refused beside the other arguments', () => {
  const { description } = routes.find(({ description }) => description.id === 'v4ListEvents')!
  const items = twenty(at => ({ id: `evt_${at}`, text }))
  const filtered = cutOf(items, description, { offset: 0, 'filter[customer_uid]': 'ada' })
  const { id } = (filtered.result.data as { id: string }[]).at(-1)!
  expect([filtered.result.next_cursor, filtered.truncated]).toMatchObject([id, { next: { starting_after: id } }])
  const far = cutOf(items, description, { offset: 40 })
  expect(far.truncated).toMatchObject({ next: { offset: 40 + (far.result.data as object[]).length } })
})

test('with as many entries of a timeline as are left: their cursor is no id', () => {
  const { description } = routes.find(({ description }) => description.id === 'v4ListCustomerTimeline')!
  const { result, truncated } = cutOf(
    twenty(at => ({ kind: 'event', id: `evt_${at}`, text })),
    description,
  )
  expect([result.has_more, result.next_cursor, truncated]).toMatchObject([
    true,
    undefined,
    { next: { limit: (result.data as object[]).length } },
  ])
})
