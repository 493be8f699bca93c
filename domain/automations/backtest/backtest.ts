import { STATEMENT_TIMEOUT_MS, type Tx } from '../../../store/connect.ts'
import type { LogEvent } from '../../durable/log/consumer.ts'
import { slugOf } from '../../events/catalogue.ts'
import type { Environment } from '../../kernel/environment.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { logMicros } from '../../kernel/time/instant.ts'
import { type AutomationData, locatedSteps, stepsOf } from '../automation-runs/definition.ts'
import { SKIP_REASONS, type SkipReason, Starts, skipReason } from '../automation-runs/start-rules.ts'
import { initiatorSlugs } from '../create.ts'
import { membersOf } from '../members.ts'
import { answerQuestions } from './answer.ts'
import { type Answer, type BacktestWindow, pagesOf, type Question, type SimulatedPosition, simulateRun } from './simulate.ts'

export type Backtest = {
  events: number
  runs_started: number
  users: number
  skipped: Record<SkipReason, number>
  steps: Record<string, number>
}
export type BacktestOptions = { limitMs?: number }

const LIMIT_MS = STATEMENT_TIMEOUT_MS
const tooLong = () => new Refusal('upstream_timeout', 'the window is too long for a backtest within 30 seconds')

/** Whether the run has ended when the event arrives. */
const hasEndedBefore = ({ after, since, isOver }: SimulatedPosition, { log_offset, received_at }: LogEvent) =>
  isOver && log_offset > after && (since === null || logMicros(received_at) >= Date.parse(since) * 1000)

/**
 * The runs that the automation would have started in the window had it been active: the rules of starting, and each run simulated on the
 * log. `db` must be a transaction with one snapshot. The memory that it needs grows with the users, not with the events. Throws
 * `upstream_timeout`.
 */
export async function backtest(
  db: Tx,
  environment: Environment,
  data: AutomationData,
  window: BacktestWindow,
  { limitMs = LIMIT_MS }: BacktestOptions = {},
): Promise<Backtest> {
  const until = performance.now() + limitMs
  /** Limits the next statements to the time that is left. */
  async function limitStatements(): Promise<void> {
    const left = Math.floor(until - performance.now())
    if (left <= 0) throw tooLong()
    await db.query({ name: 'backtest-limit', text: `select set_config('statement_timeout', $1, true)`, values: [String(left)] })
  }
  await limitStatements()
  const { rows } = await db.query<{ now: string }>('select environment_now($1)::text as now', [environment])
  const steps = stepsOf(data)
  const result: Backtest = {
    events: 0,
    runs_started: 0,
    users: 0,
    skipped: Object.fromEntries(SKIP_REASONS.map(reason => [reason, 0])) as Backtest['skipped'],
    steps: Object.fromEntries(locatedSteps(steps).map(({ step }) => [step.id, 0])),
  }
  const simulation = {
    environment,
    steps,
    now: logMicros(rows[0]!.now) / 1000,
    slug: (event: string) => slugOf(event)!,
    reach: (step: string) => {
      result.steps[step]!++
    },
  }
  const users = new Set<string>()
  const ends = new Map<string, SimulatedPosition>()
  const starts = new Map<string, Starts>()
  let members = new Set<string>()

  function historyOf(user: string, event: LogEvent) {
    const last = ends.get(user)
    return {
      isRunning: last !== undefined && !hasEndedBefore(last, event),
      started: starts.get(user)?.within(logMicros(event.received_at)) ?? 0,
    }
  }

  function countStart(user: string, event: LogEvent): void {
    result.runs_started++
    users.add(user)
    if (!data.frequency) return
    const some = starts.get(user) ?? new Starts(data.frequency)
    some.add(logMicros(event.received_at))
    starts.set(user, some)
  }

  /** Handles events one after the other: the next decision depends on whether the run before it had ended. */
  function* track(events: readonly LogEvent[]): Generator<Question, void, Answer> {
    for (const event of events) {
      const { user_id: user, platform } = event
      const history = () => historyOf(user!, event)
      const reason = skipReason(data, { user, platform, isPaused: false, isMember: user !== null && members.has(user), history })
      if (reason !== null) {
        result.skipped[reason]++
        continue
      }
      countStart(user!, event)
      const end = yield* simulateRun(simulation, event)
      if (!data.reentry) ends.set(user!, end)
    }
  }

  for await (const page of pagesOf(db, environment, initiatorSlugs(data), window)) {
    result.events += page.length
    const known = [...new Set(page.flatMap(({ user_id }) => user_id ?? []))]
    if (data.segments !== null) members = await membersOf(db, environment, data.segments, known)
    // With re-entry runs may overlap: no run waits for the end of another.
    const tracks = data.reentry ? page.map(event => [event]) : [...Map.groupBy(page, event => event.user_id ?? event.id).values()]
    await runTogether(tracks.map(track), async questions => {
      await limitStatements()
      return answerQuestions(db, environment, questions)
    })
    // For the statement that reads the next page.
    await limitStatements()
  }
  return { ...result, users: users.size }
}

/** Runs all tracks to their next question, answers the questions together, and repeats until no track has a question. */
async function runTogether(
  tracks: Generator<Question, void, Answer>[],
  answers: (questions: readonly Question[]) => Promise<Map<Question, Answer>>,
): Promise<void> {
  let open = tracks.flatMap(track => {
    const { value, done } = track.next(null)
    return done ? [] : [{ track, question: value }]
  })
  while (open.length > 0) {
    const given = await answers(open.map(({ question }) => question))
    open = open.flatMap(({ track, question }) => {
      const { value, done } = track.next(given.get(question)!)
      return done ? [] : [{ track, question: value }]
    })
  }
}
