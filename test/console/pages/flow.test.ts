// Where the boxes of a flow stand.
import { expect, test } from 'vitest'
import type { AutomationStep } from '../../../clients/typescript/src/index.ts'
import { BOX, END, layoutOf, START } from '../../../web/console/pages/automation/layout.ts'

const delay = (id: string): AutomationStep => ({ id, type: 'delay', duration: 'PT1H' })
const branch = (id: string, yes: AutomationStep[], no: AutomationStep[]): AutomationStep => ({
  ...{ id, type: 'branch', conditions: [] },
  then: yes,
  else: no,
})
const waits = (id: string, onTimeout: AutomationStep[]): AutomationStep => ({
  ...{ id, type: 'wait_for_event', event: 'paid', timeout: 'P1D' },
  on_timeout: onTimeout,
})

/** Steps nested to the depth that is allowed, on all sides. */
const deep = (depth: number, name = 's'): AutomationStep[] =>
  depth === 0
    ? [delay(`${name}-end`)]
    : [
        branch(`${name}-b`, deep(depth - 1, `${name}y`), depth % 2 ? deep(depth - 1, `${name}n`) : []),
        waits(`${name}-w`, deep(depth - 1, `${name}t`)),
        delay(`${name}-d`),
      ]

test('no box stands on another one, and none outside of the drawing', () => {
  const { boxes, width, left, height } = layoutOf(deep(3))
  expect(new Set(boxes.map(({ id }) => id)).size).toBe(boxes.length)
  for (const [n, one] of boxes.entries()) {
    expect([one.id, one.x - BOX.width / 2 >= left, one.x + BOX.width / 2 <= left + width, one.y + BOX.height <= height]).toEqual([
      one.id,
      true,
      true,
      true,
    ])
    for (const other of boxes.slice(n + 1)) {
      const isApart = Math.abs(one.x - other.x) >= BOX.width || Math.abs(one.y - other.y) >= BOX.height
      expect([one.id, other.id, isApart]).toEqual([one.id, other.id, true])
    }
  }
})

test('every way leads on: from the start through each step to the end', () => {
  const { lines } = layoutOf([waits('w', [branch('b', [{ id: 'out', type: 'exit' }], [])]), delay('d')])
  expect(lines.map(({ from, to, way }) => [from, way, to])).toEqual([
    [START, null, 'w'],
    ['w', 'timeout', 'b'],
    ['b', 'then', 'out'],
    ['w', 'event', 'd'],
    ['b', 'else', 'd'],
    ['d', null, END],
    ['out', null, END],
  ])
})
