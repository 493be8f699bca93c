import { parseArgs } from 'node:util'
import { readConfig } from '../../app/config.ts'
import { audit } from '../../domain/audit/record.ts'
import { transferLineage } from '../../domain/purchases/transfer.ts'
import { transaction } from '../../store/transaction.ts'
import { projectId, refuseMore } from '../arguments.ts'
import { actorOf, type CliCommand } from '../command.ts'
import { UsageError } from '../failure.ts'
import { oneLineage } from './find-lineage.ts'
import { withProject } from './open.ts'

/** Moves a lineage to a user, whatever the transfer policy says. */
export const storesTransfer: CliCommand = async (args, { env, out }) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { to: { type: 'string' }, sandbox: { type: 'boolean' } },
  })
  const [given, named, ...rest] = positionals
  const project = projectId(given)
  if (named === undefined) throw new UsageError('which lineage? "stores status PROJECT" shows numbers and names')
  refuseMore(rest)
  const { to } = values
  if (!to) throw new UsageError('--to USER is missing: the id of the user who gets the lineage')
  const kind = values.sandbox ? 'sandbox' : 'production'
  return withProject(readConfig(env), project, async ({ pool, environments }) => {
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
