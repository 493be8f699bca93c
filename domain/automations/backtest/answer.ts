import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { loadTriggers } from '../automation-runs/trigger.ts'
import { meetsConditions } from '../branch.ts'
import { isAboutUser } from '../conditions.ts'
import { usersMeeting } from '../members.ts'
import type { Answer, Question } from './simulate.ts'

type EventQuestion = Extract<Question, { is: 'event' }>
type BranchQuestion = Extract<Question, { is: 'branch' }>

// The user's events are read first, whatever other index there is: a partition may be long, and the event may never have come.
const FIRST = `
  select k.i::int as i, e.log_offset, e.received_at::text as received_at
  from unnest($2::text[], $3::smallint[], $4::jsonb[], $5::bigint[], $6::timestamptz[], $7::timestamptz[]) with ordinality
    k(user_id, partition, names, after, since, before, i)
  cross join lateral (
    select log_offset, received_at from (
      select log_offset, received_at, partition, name, triggers from events where environment = $1 and user_id = k.user_id offset 0) u
    where k.names ? name and partition = k.partition and triggers and log_offset > k.after
      and received_at >= coalesce(k.since, '-infinity') and received_at < k.before
    order by log_offset limit 1) e`

async function firstEvents(db: Db, environment: Environment, questions: readonly EventQuestion[]): Promise<Answer[]> {
  if (questions.length === 0) return []
  const of = (value: (wait: EventQuestion['wait']) => unknown) => questions.map(({ wait }) => value(wait))
  const { rows } = await db.query<{ i: number; log_offset: number; received_at: string }>({
    name: 'backtest-first-events',
    text: FIRST,
    values: [
      environment,
      of(w => w.user),
      of(w => w.partition),
      of(w => JSON.stringify(w.names)),
      of(w => w.after),
      of(w => w.since),
      of(w => w.before),
    ],
  })
  const answers: Answer[] = questions.map(() => null)
  for (const { i, ...found } of rows) answers[i - 1] = found
  return answers
}

/** For each branch, whether its conditions about the user are true: one statement for all branches with the same conditions. */
async function userConditions(
  db: Db,
  environment: Environment,
  questions: readonly BranchQuestion[],
): Promise<(question: BranchQuestion) => boolean> {
  const groups = Map.groupBy(questions, ({ conditions }) => conditions)
  const usersByConditions = new Map<BranchQuestion['conditions'], Set<string> | null>()
  for (const [conditions, some] of groups) {
    const aboutUser = conditions.filter(isAboutUser)
    const users = [...new Set(some.flatMap(({ user }) => user ?? []))]
    usersByConditions.set(conditions, aboutUser.length === 0 ? null : await usersMeeting(db, environment, aboutUser, users))
  }
  return ({ conditions, user }) => {
    const users = usersByConditions.get(conditions)!
    return users === null || (user !== null && users.has(user))
  }
}

async function branches(db: Db, environment: Environment, questions: readonly BranchQuestion[]): Promise<Answer[]> {
  if (questions.length === 0) return []
  const meetsUserConditions = await userConditions(db, environment, questions)
  const isAboutEvent = ({ conditions }: BranchQuestion) => conditions.some(({ metric }) => metric.startsWith('event:'))
  const withEvent = questions.filter(question => isAboutEvent(question) && meetsUserConditions(question))
  const occurrences = await loadTriggers(
    db,
    withEvent.map(({ trigger }) => trigger),
  )
  const occurrenceOf = new Map(withEvent.map((question, i) => [question, occurrences[i] ?? null]))
  return Promise.all(
    questions.map(async question => {
      if (!meetsUserConditions(question)) return false
      const aboutRun = question.conditions.filter(condition => !isAboutUser(condition))
      return meetsConditions(db, environment, aboutRun, {
        user: null,
        event: async () => occurrenceOf.get(question) ?? null,
        steps: question.steps,
      })
    }),
  )
}

/** Answers the questions of many runs in a few statements. */
export async function answerQuestions(db: Db, environment: Environment, questions: readonly Question[]): Promise<Map<Question, Answer>> {
  const events = questions.filter(question => question.is === 'event')
  const branchQuestions = questions.filter(question => question.is === 'branch')
  const found = await firstEvents(db, environment, events)
  const taken = await branches(db, environment, branchQuestions)
  return new Map<Question, Answer>([
    ...events.map((question, i) => [question, found[i]!] as const),
    ...branchQuestions.map((question, i) => [question, taken[i]!] as const),
  ])
}
