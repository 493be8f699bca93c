import { audit } from '../../domain/kernel/audit/record.ts'
import { lookAtBeginnings, recomputeBeginnings } from '../../domain/oversight/reconciliation/beginnings.ts'
import { listEnvironments, type ProjectEnvironment } from '../../domain/projects/environments.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { actorOf, type CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { action, type CommandInput, JSON_OPTION } from '../definition.ts'
import { CliError } from '../failure.ts'
import { counted } from '../import/progress.ts'
import { jsonText, textTable } from '../table.ts'

const OPTIONS = {
  apply: { says: 'move them; without it nothing is changed' },
  ...JSON_OPTION,
} as const

/** Between two lines of progress. */
const REPORT_EVERY_MS = 5_000
/** Days of the table that is printed; `--json` has all. */
const MOST_DAYS = 40

/** Who began on one day so far: how many of them move, and between which days. */
type MovedDay = { from: string; customers: number; first: string; last: string }
type Found = { environment: string; customers: number; moved: number; days: MovedDay[] }

async function recomputeOne(
  pool: Pool,
  { id, kind, name }: ProjectEnvironment,
  isApplied: boolean,
  { signal, note }: CommandContext,
): Promise<Found> {
  const days = new Map<string, MovedDay>()
  let [customers, moved, reportedAt] = [0, 0, performance.now()]
  for (let after: number | null = 0; after !== null; ) {
    if (signal.aborted) throw new CliError(`stopped after ${counted(customers)} customers; the same command goes on`)
    const step = await (isApplied ? recomputeBeginnings : lookAtBeginnings)(pool, id, after)
    for (const { from, to } of step.moved) {
      const day = days.get(from) ?? { from, customers: 0, first: to, last: to }
      days.set(from, { from, customers: day.customers + 1, first: to < day.first ? to : day.first, last: to > day.last ? to : day.last })
    }
    customers += step.users
    moved += step.moved.length
    after = step.last
    if (performance.now() - reportedAt < REPORT_EVERY_MS) continue
    reportedAt = performance.now()
    note(`${name}, ${kind}: ${counted(customers)} customers so far`)
  }
  return {
    environment: kind,
    customers,
    moved,
    days: [...days.values()].sort((a, b) => b.customers - a.customers || (a.from < b.from ? -1 : 1)),
  }
}

function print({ environment, customers, moved, days }: Found, isApplied: boolean, out: (line: string) => void): void {
  out(
    `${environment}: ${counted(moved)} of ${counted(customers)} customers ${isApplied ? 'begin' : 'would begin'} when their history begins.`,
  )
  if (moved === 0) return
  const rows = days.slice(0, MOST_DAYS).map(({ from, customers, first, last }) => [from, counted(customers), first, last])
  for (const line of textTable(['began on', 'customers', 'history from', 'history to'], rows, ['customers'])) out(`  ${line}`)
  if (days.length > MOST_DAYS) out(`  and ${counted(days.length - MOST_DAYS)} more days with fewer customers each`)
}

async function recompute({ args: [given], values }: CommandInput<typeof OPTIONS>, context: CommandContext): Promise<number> {
  const project = projectId(given)
  const { env, signal, out } = context
  return withDatabase({ env, signal }, async pool => {
    const environments = await listEnvironments(pool, project)
    if (environments.length === 0) throw new CliError(`there is no project ${project}`)
    const found: Found[] = []
    for (const environment of environments) found.push(await recomputeOne(pool, environment, values.apply, context))
    const moved = Object.fromEntries(found.map(one => [one.environment, one.moved]))
    const trail = { project, environment: null, actor: actorOf(env), operation: 'users recompute-created', requestId: null }
    if (values.apply) await transaction(pool, tx => audit(tx, trail, { resource: 'project', id: String(project), after: { moved } }))
    if (values.json) out(jsonText(found))
    else {
      for (const one of found) print(one, values.apply, out)
      if (!values.apply && found.some(one => one.moved > 0)) out('Nothing is changed: --apply moves them.')
    }
    return 0
  })
}

const DETAILS = `For customers who were imported before the service let them begin with their history (see "Import a CSV file" in docs/operating.md): created_at
moves back to the first event or purchase that was recorded as history before something showed the customer live. Without --apply the command only says how
many customers move, from which days to which.

What was more than 72 hours old when it was recorded counts as history. Requests of apps leave no trace, so a customer whom an app had shown before the
history was imported moves, too. Old purchases that an app may have restored count only where they were recorded as a backfill.

--apply works in steps of 200 customers; charts follow within seconds to minutes. Who was looked at once is left alone by the next call.`

export const recomputeCreatedAction = action({
  name: 'recompute-created',
  summary: 'let customers who were imported begin when their history begins',
  arguments: [PROJECT],
  options: OPTIONS,
  details: DETAILS,
  examples: ['users recompute-created 1', 'users recompute-created 1 --apply'],
  run: recompute,
})
