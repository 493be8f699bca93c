import { STATEMENT_TIMEOUT_MS, type Tx } from '../../../store/connect.ts'
import { type AutomationData, placedSteps, stepsOf } from '../../automation-runs/definition.ts'
import { SKIP_REASONS, type SkipReason, Starts, skipReason } from '../../automation-runs/starting.ts'
import type { Environment } from '../../environment.ts'
import { slugOf } from '../../events/catalogue.ts'
import type { LogEvent } from '../../log/consumer.ts'
import { Refusal } from '../../refusal.ts'
import { logMicros } from '../../time/instant.ts'
import { initiatorSlugs } from '../create.ts'
import { membersOf } from '../members.ts'
import { answerAll } from './answer.ts'
import { type Ask, type Place, pagesOf, play, type Told, type Window } from './play.ts'

export type Backtest = {
  events: number
  runs_started: number
  users: number
  skipped: Record<SkipReason, number>
  steps: Record<string, number>
}
export type BacktestOptions = { limitMs?: number }

const LIMIT_MS = STATEMENT_TIMEOUT_MS
const tooLong = () => new Refusal('upstream_timeout', 'the window is too long to be played out within 30 seconds')

/** Whether an event finds the run at its end. */
const isOverAt = ({ after, since, isOver }: Place, { log_offset, received_at }: LogEvent) =>
  isOver && log_offset > after && (since === null || logMicros(received_at) >= Date.parse(since) * 1000)

/**
 * What would have happened in the window had the automation been active: the rules of starting, and each run played out on the log.
 * `db` must be a transaction that shows one state of the database throughout. What is kept in mind grows with the users, not with the events. Throws
 * `upstream_timeout`.
 */
export async function backtest(
  db: Tx,
  environment: Environment,
  data: AutomationData,
  window: Window,
  { limitMs = LIMIT_MS }: BacktestOptions = {},
): Promise<Backtest> {
  const until = performance.now() + limitMs
  /** No statement may go on for longer than what is left. */
  async function hurry(): Promise<void> {
    const left = Math.floor(until - performance.now())
    if (left <= 0) throw tooLong()
    await db.query({ name: 'backtest-limit', text: `select set_config('statement_timeout', $1, true)`, values: [String(left)] })
  }
  await hurry()
  const { rows } = await db.query<{ now: string }>('select environment_now($1)::text as now', [environment])
  const steps = stepsOf(data)
  const told: Backtest = {
    events: 0,
    runs_started: 0,
    users: 0,
    skipped: Object.fromEntries(SKIP_REASONS.map(reason => [reason, 0])) as Backtest['skipped'],
    steps: Object.fromEntries(placedSteps(steps).map(({ step }) => [step.id, 0])),
  }
  const stage = {
    environment,
    steps,
    now: logMicros(rows[0]!.now) / 1000,
    slug: (event: string) => slugOf(event)!,
    reach: (step: string) => {
      told.steps[step]!++
    },
  }
  const users = new Set<string>()
  const ends = new Map<string, Place>()
  const starts = new Map<string, Starts>()
  let members = new Set<string>()

  function historyOf(user: string, event: LogEvent) {
    const last = ends.get(user)
    return {
      isRunning: last !== undefined && !isOverAt(last, event),
      started: starts.get(user)?.within(logMicros(event.received_at)) ?? 0,
    }
  }

  function noteStart(user: string, event: LogEvent): void {
    told.runs_started++
    users.add(user)
    if (!data.frequency) return
    const some = starts.get(user) ?? new Starts(data.frequency)
    some.add(logMicros(event.received_at))
    starts.set(user, some)
  }

  /** What becomes of events one after the other: the next is judged when it is known how long the run before it took. */
  function* track(events: readonly LogEvent[]): Generator<Ask, void, Told> {
    for (const event of events) {
      const { user_id: user, platform } = event
      const history = () => historyOf(user!, event)
      const reason = skipReason(data, { user, platform, isPaused: false, isMember: user !== null && members.has(user), history })
      if (reason !== null) {
        told.skipped[reason]++
        continue
      }
      noteStart(user!, event)
      const end = yield* play(stage, event)
      if (!data.reentry) ends.set(user!, end)
    }
  }

  for await (const page of pagesOf(db, environment, initiatorSlugs(data), window)) {
    told.events += page.length
    const known = [...new Set(page.flatMap(({ user_id }) => user_id ?? []))]
    if (data.segments !== null) members = await membersOf(db, environment, data.segments, known)
    // Where runs may overlap, none has to wait for the end of another.
    const tracks = data.reentry ? page.map(event => [event]) : [...Map.groupBy(page, event => event.user_id ?? event.id).values()]
    await runTogether(tracks.map(track), async asks => {
      await hurry()
      return answerAll(db, environment, asks)
    })
    // Before the next page is read.
    await hurry()
  }
  return { ...told, users: users.size }
}

/** Takes all of them to their next question, answers these together, and so on until none has any. */
async function runTogether(
  tracks: Generator<Ask, void, Told>[],
  answers: (asks: readonly Ask[]) => Promise<Map<Ask, Told>>,
): Promise<void> {
  let open = tracks.flatMap(track => {
    const { value, done } = track.next(null)
    return done ? [] : [{ track, ask: value }]
  })
  while (open.length > 0) {
    const told = await answers(open.map(({ ask }) => ask))
    open = open.flatMap(({ track, ask }) => {
      const { value, done } = track.next(told.get(ask)!)
      return done ? [] : [{ track, ask: value }]
    })
  }
}
