import { parseArgs } from 'node:util'
import { readConfig } from '../app/config.ts'
import { audit, type Trail } from '../domain/audit/record.ts'
import type { Consumer } from '../domain/log/consume.ts'
import { listSetAside, type Replayed, replaySetAside, type SetAsideEvent } from '../domain/log/replay-set-aside.ts'
import { CONSUMERS } from '../domain/reconciliation/log-handlers.ts'
import type { Pool } from '../store/connect.ts'
import { actorOf, type CliCommand, type CommandContext } from './command.ts'
import { withDatabase } from './database.ts'
import { UsageError } from './failure.ts'
import { textTable } from './table.ts'

const HEADERS = ['event', 'consumer', 'project', 'environment', 'set aside', 'replayed', 'why']
const row = ({ event_id, consumer, project, environment_kind, set_aside_at, replayed_at, error }: SetAsideEvent) => [
  event_id,
  consumer,
  String(project),
  environment_kind,
  set_aside_at,
  replayed_at ?? '-',
  error.split('\n')[0]!,
]

async function list(args: string[], { env, out }: CommandContext): Promise<number> {
  const { values } = parseArgs({ args, options: { all: { type: 'boolean' } } })
  const events = await withDatabase(readConfig(env), pool => listSetAside(pool, { all: values.all ?? false }))
  if (events.length === 0) out('No events were set aside.')
  else for (const line of textTable(HEADERS, events.map(row), ['project'])) out(line)
  return 0
}

/** Handles the event again and records it in the audit log, in one transaction. */
export function replayEvent(pool: Pool, consumers: readonly Consumer[], actor: Trail['actor'], event: SetAsideEvent): Promise<Replayed> {
  const { project, environment, event_id: id } = event
  const trail = { project, environment, actor, operation: 'set-aside replay', requestId: null }
  return replaySetAside(pool, consumers, event, (tx, user) => audit(tx, trail, { resource: 'event', id, ...(user && { user }) }))
}

/** In the order of the log, because a later event may depend on an earlier one. An event that fails again does not stop the others. */
async function replay(args: string[], { env, signal, out, note }: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { all: { type: 'boolean' } } })
  const all = values.all ?? false
  if (all ? positionals.length > 0 : positionals.length === 0) throw new UsageError('set-aside replay EVENT … or --all?')
  return withDatabase(readConfig(env), async pool => {
    const events = await listSetAside(pool, all ? {} : { ids: positionals })
    const unknown = positionals.filter(id => !events.some(({ event_id }) => event_id === id))
    for (const id of unknown) note(`${id}: no such event is set aside`)
    let failed = unknown.length
    for (const event of events) {
      if (signal.aborted) break
      const done = await replayEvent(pool, CONSUMERS, actorOf(env), event)
      if (done.is === 'failed') {
        failed++
        note(`${event.event_id} (${event.consumer}): ${done.why}`)
      } else out(`${event.event_id} (${event.consumer}): ${done.is === 'replayed' ? 'handled' : 'another process has handled it'}`)
    }
    return failed > 0 ? 2 : 0
  })
}

export const setAside: CliCommand = async ([verb, ...args], context) => {
  if (verb === 'list') return list(args, context)
  if (verb === 'replay') return replay(args, context)
  throw new UsageError('set-aside list or replay?')
}
