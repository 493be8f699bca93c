import { audit } from '../../domain/kernel/audit/record.ts'
import { transferLineage } from '../../domain/purchases/transfer.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { actorOf, type CommandContext } from '../command.ts'
import { action, type CommandInput } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { oneLineage } from './find-lineage.ts'
import { withProject } from './open.ts'
import { LINEAGE_ARGUMENT } from './words.ts'

const OPTIONS = {
  to: { value: 'USER', says: 'the id of the user who gets it' },
  sandbox: { says: 'a lineage of the sandbox' },
} as const

/** Moves a lineage to a user, whatever the transfer policy says. */
async function transfer(
  { args: [given, named], values }: CommandInput<typeof OPTIONS>,
  { env, signal, out }: CommandContext,
): Promise<number> {
  const project = projectId(given)
  if (named === undefined) throw new UsageError('which lineage? "stores status PROJECT" shows numbers and names')
  const { to } = values
  if (!to) throw new UsageError('--to USER is missing: the id of the user who gets the lineage')
  const kind = values.sandbox ? 'sandbox' : 'production'
  return withProject({ env, signal }, project, async ({ pool, environments }) => {
    const environment = environments[kind]
    const { id, name } = await oneLineage(pool, project, kind, named)
    const former = await transaction(pool, async tx => {
      const owner = await transferLineage(tx, environment, id, to)
      const trail = { project, environment, actor: actorOf(env), operation: 'stores transfer', requestId: null }
      const [before, after] = [owner, to].map(user_id => ({ object: 'lineage', id: String(id), user_id }))
      if (owner !== to) await audit(tx, trail, { resource: 'lineage', id: String(id), before: before!, after: after!, user: to })
      return owner
    })
    out(
      former === to
        ? `Lineage ${id} (${name}) belongs to ${to} already.`
        : `Lineage ${id} (${name}) belongs to ${to} now${former === null ? '' : `, and no longer to ${former}`}.`,
    )
    return 0
  })
}

export const storesTransfer = action({
  name: 'transfer',
  summary: 'give a lineage to a user, whatever the transfer policy says',
  arguments: [PROJECT, LINEAGE_ARGUMENT],
  options: OPTIONS,
  examples: ['stores transfer 1 2000000123456789 --to anna'],
  run: transfer,
})
