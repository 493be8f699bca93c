// Where a result goes on that was cut.
import { expect, test } from 'vitest'
import { structured } from '../../api/mcp/result.ts'
import { routes } from '../../api/routes.ts'

const byCursor = routes.find(({ description }) => description.pagination === 'cursor')!.description
const text = 'x'.repeat(9_000)
const cutOf = (items: object[]) => {
  const body = JSON.stringify({ object: 'list', data: items, has_more: true, next_cursor: 'end-of-the-page' })
  return structured(byCursor, {}, { status: 200, headers: {}, body }) as unknown as { result: Record<string, unknown>; truncated: object }
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
