import type { AutomationStep } from '../../../../clients/typescript/src/index.ts'
import { waysOf } from './words.ts'

/** Size of a box and distance of boxes, in px. */
export const BOX = { width: 232, height: 86 }
const COLUMN = 268
const ROW = 132
export const ROW_GAP = ROW - BOX.height

/** `x`: of the middle of the box. */
export type Placed = { id: string; step: AutomationStep | null; x: number; y: number }
/** `way`: of a step with several ways on, the one that this is. */
export type Line = { from: string; to: string; way: string | null; says: string | null }
export type Layout = { boxes: Placed[]; lines: Line[]; width: number; height: number; left: number }

export const START = 'start of the run'
export const END = 'end of the run'

/** How far a list reaches to both sides of its axis, in columns. */
type Reach = { left: number; right: number }
const HALF: Reach = { left: 0.5, right: 0.5 }

const reachOf = (steps: readonly AutomationStep[]): Reach =>
  steps.map(stepReach).reduce((all, one) => ({ left: Math.max(all.left, one.left), right: Math.max(all.right, one.right) }), HALF)

function stepReach(step: AutomationStep): Reach {
  const sides = sidesOf(step)
  const width = (steps: readonly AutomationStep[]) => (steps.length === 0 ? 0 : reachOf(steps).left + reachOf(steps).right)
  return { left: Math.max(0.5, width(sides.left)), right: Math.max(0.5, width(sides.right)) }
}

/** *Yes* stands at the left of the axis, *no* and *not in time* at the right; a way without steps goes straight down. */
function sidesOf(step: AutomationStep): { left: readonly AutomationStep[]; right: readonly AutomationStep[] } {
  const [first, second] = waysOf(step)
  return { left: first?.steps ?? [], right: second?.steps ?? [] }
}

type End = Omit<Line, 'to'>

/** Places the boxes of a flow: steps one below the other on an axis, the lists in a step beside it, and one end below all. */
export function layoutOf(steps: readonly AutomationStep[]): Layout {
  const boxes: Placed[] = [{ id: START, step: null, x: 0, y: 0 }]
  const lines: Line[] = []
  const exits: End[] = []
  const place = (list: readonly AutomationStep[], x: number, top: number, before: End[]): { ends: End[]; bottom: number } => {
    let y = top
    let ends = before
    for (const step of list) {
      boxes.push({ id: step.id, step, x, y })
      lines.push(...ends.map(end => ({ ...end, to: step.id })))
      y += ROW
      if (step.type === 'exit') {
        exits.push({ from: step.id, way: null, says: null })
        ends = []
        continue
      }
      const ways = waysOf(step)
      ends = ways.length === 0 ? [{ from: step.id, way: null, says: null }] : []
      let bottom = y
      for (const [n, { way, says, steps: own }] of ways.entries()) {
        const reach = reachOf(own)
        const at = own.length === 0 ? x : n === 0 ? x - reach.right * COLUMN : x + reach.left * COLUMN
        const placed = place(own, at, y, [{ from: step.id, way, says }])
        ends.push(...placed.ends)
        bottom = Math.max(bottom, placed.bottom)
      }
      y = bottom
    }
    return { ends, bottom: y }
  }
  const { ends, bottom } = place(steps, 0, ROW, [{ from: START, way: null, says: null }])
  boxes.push({ id: END, step: null, x: 0, y: bottom })
  lines.push(...[...ends, ...exits].map(end => ({ ...end, to: END })))
  const reach = reachOf(steps)
  return { boxes, lines, width: (reach.left + reach.right) * COLUMN, height: bottom + BOX.height, left: -reach.left * COLUMN }
}
