import type { Consumer } from '../domain/durable/log/consume.ts'
import { listSetAside, type Replayed, replaySetAside, type SetAsideEvent } from '../domain/durable/log/replay-set-aside.ts'
import { audit, type Trail } from '../domain/kernel/audit/record.ts'
import { CONSUMERS } from '../domain/oversight/reconciliation/log-handlers.ts'
import type { Pool } from '../store/connect.ts'
import { actorOf, type CommandContext } from './command.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition, JSON_OPTION } from './definition.ts'
import { UsageError } from './failure.ts'
import { commandOf } from './program.ts'
import { jsonText, textTable } from './table.ts'

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

const listAction = action({
  name: 'list',
  summary: 'events that automations or integrations could not handle',
  options: { all: { says: 'also those that were handled since' }, ...JSON_OPTION },
  examples: ['set-aside list', 'set-aside list --all --json'],
  async run({ values: { all, json } }, { env, signal, out }) {
    const events = await withDatabase({ env, signal }, pool => listSetAside(pool, { all }))
    if (json) out(jsonText(events))
    else if (events.length === 0) out('No events were set aside.')
    else for (const line of textTable(HEADERS, events.map(row), ['project'])) out(line)
    return 0
  },
})

/** Handles the event again and records it in the audit log, in one transaction. */
export function replayEvent(pool: Pool, consumers: readonly Consumer[], actor: Trail['actor'], event: SetAsideEvent): Promise<Replayed> {
  const { project, environment, event_id: id } = event
  const trail = { project, environment, actor, operation: 'set-aside replay', requestId: null }
  return replaySetAside(pool, consumers, event, (tx, user) => audit(tx, trail, { resource: 'event', id, ...(user && { user }) }))
}

/** In the order of the log, because a later event may depend on an earlier one. An event that fails again does not stop the others. */
async function replay(given: string[], all: boolean, { env, signal, out, note }: CommandContext): Promise<number> {
  if (all ? given.length > 0 : given.length === 0) throw new UsageError('set-aside replay EVENT … or --all?')
  return withDatabase({ env, signal }, async pool => {
    const events = await listSetAside(pool, all ? {} : { ids: given })
    const unknown = given.filter(id => !events.some(({ event_id }) => event_id === id))
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

const replayAction = action({
  name: 'replay',
  summary: 'handle such events again',
  arguments: [{ name: 'EVENT', says: 'the ids of events that "set-aside list" shows', isOptional: true, isMany: true }],
  options: { all: { says: 'all of them' } },
  exits: '0 all are handled, 1 failed, 2 some are not known or failed again',
  examples: ['set-aside replay --all', 'set-aside replay evt_1 evt_2'],
  run: ({ args, values }, context) => replay(args, values.all, context),
})

export const setAsideGroup: GroupDefinition = {
  name: 'set-aside',
  summary: 'events that automations or integrations could not handle',
  commands: [listAction, replayAction],
}

export const setAside = commandOf(setAsideGroup)
