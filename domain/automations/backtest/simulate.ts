import type { Db } from '../../../store/connect.ts'
import type { Condition } from '../../audience/segments/condition.ts'
import type { LogEvent } from '../../durable/log/consumer.ts'
import type { Environment } from '../../kernel/environment.ts'
import { deadlineAfter, nextInstantAt } from '../automation-runs/deadline.ts'
import { awaitedEvents, type Step } from '../automation-runs/definition.ts'
import { nextStep, type Passed } from '../automation-runs/next-step.ts'
import type { TriggerKey } from '../automation-runs/trigger.ts'

export type BacktestWindow = { from: string; to: string }

const PAGE = 1_000

const NEXT = `
  select partition, log_offset, id, name, user_id, platform, happened_at::text, received_at::text, triggers from events
  where environment = $1 and (received_at, partition, log_offset) > ($2, $3, $4) and received_at < $5 and name = any ($6::text[]) and triggers
  order by received_at, partition, log_offset limit ${PAGE}`

/** The events of the window that may start a run, page by page in the order in which they were received. */
export async function* pagesOf(
  db: Db,
  environment: Environment,
  names: readonly string[],
  { from, to }: BacktestWindow,
): AsyncGenerator<LogEvent[], void> {
  // Before the first event of the first instant: there is no partition -1.
  let after: unknown[] = [from, -1, -1]
  for (;;) {
    const { rows } = await db.query<LogEvent>({ name: 'backtest-page', text: NEXT, values: [environment, ...after, to, names] })
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) return
    after = [last.received_at, last.partition, last.log_offset]
  }
}

/** The question of a simulated run that must be answered before it continues: whether an event came, or which branch it takes. */
export type Question =
  | { is: 'event'; wait: { user: string | null; partition: number; names: string[]; after: number; since: string | null; before: string } }
  | { is: 'branch'; conditions: readonly Condition[]; user: string | null; trigger: TriggerKey; steps: readonly Passed[] }
/** To 'event': the event, or null; to 'branch': whether all conditions hold. */
export type Answer = { log_offset: number; received_at: string } | boolean | null

/** A run's position in its partition: it waits for events after the offset `after` and not received before `since`. `isOver`: it has ended. */
export type SimulatedPosition = { after: number; since: string | null; isOver: boolean }

/** `now`: later times have not come yet. `reach`: called for each step. */
export type Simulation = { environment: number; steps: Step[]; now: number; slug: (event: string) => string; reach: (step: string) => void }

const isPast = (time: string, now: number) => Date.parse(time) <= now

/** Simulates a run on the log: effects take no time, waits take as long as they would have taken. */
export function* simulateRun(
  { environment, steps, now, slug, reach }: Simulation,
  event: LogEvent,
): Generator<Question, SimulatedPosition, Answer> {
  const { partition, log_offset, user_id: user } = event
  const timeline: Passed[] = []
  const position: SimulatedPosition = { after: log_offset, since: null, isOver: false }
  let begin = event.received_at
  const pass = (step: Step, result: unknown) => timeline.push({ step_id: step.id, status: 'succeeded', result })
  const waited = (step: Step, until: string, result: unknown) => {
    position.since = until
    begin = until
    pass(step, result)
  }
  for (;;) {
    const { next } = nextStep(steps, timeline)
    if (!next) return { ...position, isOver: true }
    const { step } = next
    reach(step.id)
    if (step.type === 'delay' || step.type === 'wait_until') {
      const until = step.type === 'delay' ? deadlineAfter(begin, step.duration) : nextInstantAt(begin, step.time, step.timezone)
      if (!isPast(until, now)) return position
      waited(step, until, null)
    } else if (step.type === 'wait_for_event') {
      const before = deadlineAfter(begin, step.timeout)
      const { after, since } = position
      const found = (yield {
        is: 'event',
        wait: { user, partition, names: awaitedEvents(step).map(slug), after, since, before },
      }) as Exclude<Answer, boolean>
      if (found) {
        position.after = found.log_offset
        begin = found.received_at
        pass(step, { outcome: 'event' })
      } else if (!isPast(before, now)) return position
      else waited(step, before, { outcome: 'timeout' })
    } else if (step.type === 'branch') {
      const trigger = { environment, partition, log_offset, user_id: user }
      const isTrue = yield { is: 'branch', conditions: step.conditions, user, trigger, steps: timeline }
      pass(step, { taken: isTrue === true ? 'then' : 'else' })
    } else pass(step, null)
  }
}
