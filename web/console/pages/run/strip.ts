import type { AutomationRunDetail, AutomationRunStep } from '../../../../clients/typescript/src/index.ts'
import { isWait } from './step-words.ts'

/** `done` was done, `wait` was waited, `ahead` is still to come; `bad` has failed, `retry` lies between attempts. */
export type PieceKind = 'done' | 'wait' | 'ahead' | 'bad' | 'retry'
/** Times in milliseconds. */
export type Piece = { kind: PieceKind; from: number; to: number }
export type Tick = { at: number; isBad: boolean; text: string }
/** `isOpen`: when the step begins is not known; it stands at the end. */
export type Lane = { id: string; type: string; pieces: Piece[]; ticks: Tick[]; isAhead: boolean; isReused: boolean; isOpen: boolean }
/** `last`: the last known time; what is behind it is open. */
export type Strip = { lanes: Lane[]; from: number; last: number; to: number; now: number | undefined }

const ms = (time: string) => Date.parse(time)

/** The attempts of a step: of a webhook, those of its delivery. */
const attemptsOf = ({ delivery, attempts }: AutomationRunStep): readonly AutomationRunStep['attempts'][number][] =>
  delivery ? delivery.attempts : attempts

/** One attempt that has gone well is the step itself. */
const ticksOf = (attempts: readonly AutomationRunStep['attempts'][number][]): Tick[] =>
  attempts.length === 1 && attempts[0]!.error === null
    ? []
    : attempts.map(({ started_at, error }) => ({ at: ms(started_at), isBad: error !== null, text: error ?? '' }))

function piecesOf(step: AutomationRunStep, now: number): Piece[] {
  const from = ms(step.started_at)
  const isBad = step.status === 'failed'
  const waits = isWait(step.type)
  if (step.finished_at !== null) return [{ kind: isBad ? 'bad' : waits ? 'wait' : 'done', from, to: ms(step.finished_at) }]
  const isRetried = step.status === 'running' || step.delivery?.status === 'retrying' || step.delivery?.status === 'held'
  const until = step.delivery ? step.delivery.next_attempt_at : (step.next_attempt_at ?? step.due_at)
  const past: Piece = { kind: isRetried ? 'retry' : 'wait', from, to: Math.max(from, now) }
  // A webhook looks at its delivery after a day: that is no time at which anything is due.
  if (until === null || (step.type === 'webhook' && !step.delivery) || ms(until) <= now) return [past]
  return [past, { kind: 'ahead', from: Math.max(from, now), to: ms(until) }]
}

/** Where everything of a run stands in time. `now`: of the environment's clock. */
export function stripOf(run: AutomationRunDetail, now: number): Strip {
  const isOver = run.finished_at !== null
  const begun: Lane[] = run.steps.map(step => ({
    id: step.step_id,
    type: step.type,
    pieces: step.reused ? [] : piecesOf(step, now),
    ticks: step.reused ? [] : ticksOf(attemptsOf(step)),
    isAhead: false,
    isReused: step.reused,
    isOpen: false,
  }))
  const ahead: Lane[] = run.ahead.map(({ step_id, type, begins_by }, n) => {
    const from = begins_by === null ? undefined : Math.max(now, ms(begins_by))
    const next = run.ahead[n + 1]?.begins_by
    const pieces: Piece[] = from === undefined ? [] : [{ kind: 'ahead', from, to: next ? Math.max(from, ms(next)) : from }]
    return { id: step_id, type, pieces, ticks: [], isAhead: true, isReused: false, isOpen: from === undefined }
  })
  const lanes = [...begun, ...ahead]
  const times = lanes.flatMap(({ pieces, ticks }) => [...pieces.flatMap(({ from, to }) => [from, to]), ...ticks.map(({ at }) => at)])
  const from = Math.min(ms(run.created_at), ...times)
  const last = Math.max(isOver ? ms(run.finished_at!) : now, ...times)
  // What takes no time at all still has a width; and what is ahead has room behind the last known time.
  const room = Math.max(last - from, 1_000)
  return { lanes, from, last, to: from + room * (isOver ? 1 : 1.06), now: isOver ? undefined : now }
}

/** A time as a part of the strip, from 0 to 100. */
export const placeOf = ({ from, to }: Pick<Strip, 'from' | 'to'>, at: number): number =>
  Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100))
