import { parseArgs } from 'node:util'
import { readConfig } from '../app/config.ts'
import type { Trail } from '../domain/audit/record.ts'
import { listSetAside, replaySetAside, type SetAsideEvent } from '../domain/log/replay-set-aside.ts'
import { CONSUMERS } from '../domain/reconciliation/log-handlers.ts'
import type { Command, Context } from './command.ts'
import { withDatabase } from './database.ts'
import { UsageError } from './failure.ts'
import { table } from './table.ts'

const HEADERS = ['event', 'reader', 'project', 'environment', 'set aside', 'replayed', 'why']
const row = ({ event_id, consumer, project, environment_kind, set_aside_at, replayed_at, error }: SetAsideEvent) => [
  event_id,
  consumer,
  String(project),
  environment_kind,
  set_aside_at,
  replayed_at ?? '-',
  error.split('\n')[0]!,
]

async function list(args: string[], { env, out }: Context): Promise<number> {
  const { values } = parseArgs({ args, options: { all: { type: 'boolean' } } })
  const events = await withDatabase(readConfig(env), pool => listSetAside(pool, { all: values.all ?? false }))
  if (events.length === 0) out('No events were set aside.')
  else for (const line of table(HEADERS, events.map(row), ['project'])) out(line)
  return 0
}

const trailOf = (env: Context['env'], { project, environment }: SetAsideEvent): Trail => ({
  project,
  environment,
  actor: { kind: 'cli', id: env.SUDO_USER || env.USER || null },
  operation: 'set-aside replay',
  requestId: null,
})

/** In the order of the log: what comes later may need what came before. One that fails again holds up no other. */
async function replay(args: string[], { env, signal, out, note }: Context): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { all: { type: 'boolean' } } })
  const everything = values.all ?? false
  if (everything ? positionals.length > 0 : positionals.length === 0) throw new UsageError('set-aside replay EVENT … or --all?')
  return withDatabase(readConfig(env), async pool => {
    const events = await listSetAside(pool, everything ? {} : { ids: positionals })
    for (const id of positionals) if (!events.some(({ event_id }) => event_id === id)) note(`${id}: no such event is set aside`)
    let failed = positionals.filter(id => !events.some(({ event_id }) => event_id === id)).length
    for (const event of events) {
      if (signal.aborted) break
      const done = await replaySetAside(pool, CONSUMERS, trailOf(env, event), event)
      if (done.is === 'failed') {
        failed++
        note(`${event.event_id} (${event.consumer}): ${done.why}`)
      } else out(`${event.event_id} (${event.consumer}): ${done.is === 'replayed' ? 'handled' : 'somebody else has handled it'}`)
    }
    return failed > 0 ? 2 : 0
  })
}

export const setAside: Command = async ([verb, ...args], context) => {
  if (verb === 'list') return list(args, context)
  if (verb === 'replay') return replay(args, context)
  throw new UsageError('set-aside list or replay?')
}
