import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { findNamedLineages, type NamedLineage, readLineage } from '../../domain/purchases/find-lineages.ts'
import { findQueues } from '../../domain/purchases/store-inbox/queues.ts'
import { notificationsOfQueues, type ShownNotification } from '../../domain/purchases/store-inbox/status.ts'
import { CONFIGURATION_OF_STORE } from '../../domain/purchases/stores/config.ts'
import { transaction } from '../../store/transaction.ts'
import { CliError } from '../failure.ts'
import { textTable } from '../table.ts'
import type { OpenProject } from './open.ts'
import { STORE_PLATFORMS } from './words.ts'

/** At most this many notifications of a lineage are shown. */
const SHOWN = 100

const HEADERS = ['notification', "store's id", 'type', 'source', 'received', 'state', 'attempts', 'reason']

/** A table of notifications, by their numbers. */
export const notificationTable = (rows: ShownNotification[]): string[] =>
  textTable(
    HEADERS,
    rows.map(({ id, notificationId, type, source, receivedAt, state, attempts, reason }) => [
      String(id),
      notificationId,
      type,
      source,
      receivedAt,
      state.replace('_', ' '),
      String(attempts),
      reason ?? '-',
    ]),
    ['notification', 'attempts'],
  )

const lineageQueues = ({ project }: OpenProject, { kind, platform }: NamedLineage, names: string[], pool: OpenProject['pool']) =>
  findQueues(pool, { project, platform: CONFIGURATION_OF_STORE[platform], environment: kind }, names)

/** The queues of a name of which no lineage is recorded yet: nothing of it could be read. */
async function bareQueues({ pool, project }: OpenProject, kind: EnvironmentKind | null, name: string): Promise<number[]> {
  const queues: number[] = []
  for (const platform of STORE_PLATFORMS) queues.push(...(await findQueues(pool, { project, platform, environment: kind }, [name])))
  return queues
}

const unknown = (project: number, given: string) => new CliError(`project ${project} has no lineage ${given}`)

/** The queues of the lineages that a row number or a name of the store's means. Throws when there are none. */
export async function queuesOfGiven(open: OpenProject, kind: EnvironmentKind | null, given: string): Promise<number[]> {
  const { pool, project } = open
  const lineages = await findNamedLineages(pool, project, kind, given)
  const queues = new Set(await bareQueues(open, kind, given))
  for (const lineage of lineages) {
    const { names } = await transaction(pool, tx => readLineage(tx, lineage))
    for (const queue of await lineageQueues(open, lineage, names, pool)) queues.add(queue)
  }
  if (lineages.length === 0 && queues.size === 0) throw unknown(project, given)
  return [...queues]
}

const PERIODS = ['purchase', 'product', 'transaction', 'from', 'to', 'price', 'refunded', 'renews']

async function readOne(open: OpenProject, lineage: NamedLineage) {
  const recorded = await transaction(open.pool, tx => readLineage(tx, lineage))
  const queues = await lineageQueues(open, lineage, recorded.names, open.pool)
  const { id, name, platform, kind: environment, owner } = lineage
  return { id, name, platform, environment, owner, ...recorded, notifications: await notificationsOfQueues(open.pool, queues, SHOWN) }
}

type ReadLineages = { lineages: Awaited<ReturnType<typeof readOne>>[]; notifications: ShownNotification[] }

/**
 * Everything that is recorded of the lineages that a row number or a name of the store's means. `notifications`: those of a name of which no
 * lineage is recorded yet. Throws when there is nothing.
 */
export async function readLineages(open: OpenProject, kind: EnvironmentKind | null, given: string): Promise<ReadLineages> {
  const lineages: ReadLineages['lineages'] = []
  for (const lineage of await findNamedLineages(open.pool, open.project, kind, given)) lineages.push(await readOne(open, lineage))
  if (lineages.length > 0) return { lineages, notifications: [] }
  const queues = await bareQueues(open, kind, given)
  if (queues.length === 0) throw unknown(open.project, given)
  return { lineages, notifications: await notificationsOfQueues(open.pool, queues, SHOWN) }
}

function printLineage(lineage: ReadLineages['lineages'][number], out: (line: string) => void): void {
  const { id, name, platform, environment, owner, aliases, shares, purchases, statements, notifications } = lineage
  out(`Lineage ${id}: ${platform}, ${environment}`)
  out(`  name       ${name}`)
  for (const alias of aliases) out(`  alias      ${alias}`)
  out(`  owner      ${owner ?? 'nobody yet'}`)
  for (const share of shares) out(`  shared to  ${share}`)
  for (const { kind: of, origin, count, lastAt } of statements) out(`  statements ${count} of a ${of} by ${origin}, the last of ${lastAt}`)
  if (purchases.length > 0) {
    const rows = purchases.map(one => [
      String(one.id),
      one.base_plan_id === null ? one.store_product_id : `${one.store_product_id}:${one.base_plan_id}`,
      one.transaction_id ?? one.order_id ?? '-',
      one.purchased_at,
      one.expires_at ?? '-',
      `${one.price} ${one.currency}`,
      one.refunded_amount ?? '-',
      one.is_subscription ? (one.auto_renewing ? 'yes' : 'no') : '-',
    ])
    for (const line of textTable(PERIODS, rows, ['purchase'])) out(`  ${line}`)
  }
  for (const line of notifications.length > 0 ? notificationTable(notifications) : ['no notifications']) out(`  ${line}`)
}

/** Tells everything that is recorded of the lineages that were given. */
export function printLineages(given: string, { lineages, notifications }: ReadLineages, out: (line: string) => void): void {
  for (const lineage of lineages) printLineage(lineage, out)
  if (lineages.length > 0) return
  out(`Nothing is recorded of ${given} yet but its notifications:`)
  for (const line of notificationTable(notifications)) out(`  ${line}`)
}
