import { audit } from '../../domain/kernel/audit/record.ts'
import {
  findNotifications,
  type NamedNotification,
  type ReplaySelection,
  replayNotifications,
} from '../../domain/purchases/store-inbox/replay.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { actorOf, type CommandContext } from '../command.ts'
import { action, type CommandInput } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { counted } from '../import/progress.ts'
import { printable } from '../table.ts'
import { queuesOfGiven } from './lineage.ts'
import { type OpenProject, withProject } from './open.ts'

/** Why what an operator has named cannot be replayed; null: it can. */
function faultOf(named: NamedNotification[]): string | null {
  const [only, ...others] = named
  if (!only) return 'no such notification is recorded'
  if (others.length > 0) return `names the notifications ${named.map(({ id }) => id).join(' and ')}: give the other one of number and id`
  if (only.state === 'pending') return 'is pending already'
  return only.state === 'ignored' ? 'is of no interest: there is nothing to read in it' : null
}

/** Row numbers of the notifications that can be replayed; the others are printed. */
async function replayable({ pool, project }: OpenProject, given: string[], { note }: CommandContext): Promise<number[]> {
  const found = await findNotifications(pool, project, given)
  return [...new Set(given)].flatMap(name => {
    const named = found.filter(one => one.given === name)
    const fault = faultOf(named)
    if (fault === null) return [named[0]!.id]
    note(printable(`${name}: ${fault}`))
    return []
  })
}

const OPTIONS = {
  'set-aside': { says: 'all that were set aside' },
  lineage: { value: 'LINEAGE', says: "all of a lineage, by its row number or the store's own name" },
} as const

/** Makes notifications pending again: a worker reads them as if they had just come. Exit code 2: some of those named cannot be. */
async function replay({ args: [given, ...ids], values }: CommandInput<typeof OPTIONS>, context: CommandContext): Promise<number> {
  const project = projectId(given)
  const ways = [ids.length > 0, values['set-aside'], values.lineage !== undefined].filter(way => way)
  if (ways.length !== 1) throw new UsageError('stores replay PROJECT ID …, --set-aside or --lineage LINEAGE?')
  return withProject(context, project, async open => {
    const { pool } = open
    const selection = async (): Promise<ReplaySelection> => {
      if (values.lineage !== undefined) return { is: 'queues', queues: await queuesOfGiven(open, null, values.lineage) }
      return values['set-aside'] ? { is: 'set_aside' } : { is: 'ids', ids: await replayable(open, ids, context) }
    }
    const selected = await selection()
    const replayed = await transaction(pool, async tx => {
      const again = await replayNotifications(tx, project, selected)
      const trail = { project, environment: null, actor: actorOf(context.env), operation: 'stores replay', requestId: null }
      if (again.length > 0) await audit(tx, trail, { resource: 'project', id: String(project), after: { notifications: again.length } })
      return again
    })
    const word = replayed.length === 1 ? 'notification is' : 'notifications are'
    context.out(`${counted(replayed.length)} ${word} pending again${replayed.length === 0 ? '' : ': a worker reads them now'}.`)
    return replayed.length < new Set(ids).size ? 2 : 0
  })
}

export const storesReplay = action({
  name: 'replay',
  summary: 'read notifications again; nothing is told twice',
  arguments: [PROJECT, { name: 'ID', says: "notifications, by number or by the store's id", isOptional: true, isMany: true }],
  options: OPTIONS,
  exits: '0 done, 1 failed, 2 some of those named cannot be read again',
  examples: ['stores replay 1 4711', 'stores replay 1 --set-aside', 'stores replay 1 --lineage 2000000123456789'],
  run: replay,
})
