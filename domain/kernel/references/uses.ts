import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Holder } from '../refusal.ts'

export type UseKind = 'automation' | 'entitlement' | 'experiment' | 'offering' | 'remote_configuration' | 'screen' | 'segment'
/** What names an object. `parts`: of a user that has parts, those that name it. `blocks`: the object cannot be deleted meanwhile. */
export type Use = {
  object: UseKind
  id: string
  name: string | null
  status: string | null
  parts: { id: string; name: string | null }[]
  blocks: boolean
}
/** `more`: of one kind at least there are more. */
export type Uses = { uses: Use[]; more: boolean }

/**
 * In SQL: the objects of one kind that name the object $2 of the environment $1, with the columns id, name, status, parts and blocks. `scanned`:
 * no index tells which rows name it, so the rows of the table `rows` are looked at one by one.
 */
export type UseSource = { object: UseKind; scanned: boolean; statement: (rows: string) => string }

/** The tables of the kinds. */
const TABLES: Record<UseKind, string> = {
  automation: 'automations',
  entitlement: 'entitlements',
  experiment: 'experiments',
  offering: 'offerings',
  remote_configuration: 'remote_configurations',
  screen: 'screens',
  segment: 'segments',
}

/** What an answer has of each kind. */
export const MOST_USES = 50
/** How many rows of each kind are looked at one by one, the newest first. */
const SCANNED = 2_000

const newest = (table: string) => `(select * from ${table} where environment = $1 order by created_at desc, id desc limit ${SCANNED})`

const listed = ({ object, scanned, statement }: UseSource) => `
  (select '${object}' as object, id, name, status, parts, blocks from (${statement(scanned ? newest(TABLES[object]) : TABLES[object])}) s
   order by blocks desc, id limit ${MOST_USES + 1})`
/** A row without an id: not all rows of the kind were looked at. */
const unread = ({ object }: UseSource) => `
  select '${object}', null, null, null, null, null
  where (select count(*) from (select from ${TABLES[object]} where environment = $1 limit ${SCANNED + 1}) s) > ${SCANNED}`

/** Of each kind those that prevent a deletion first, then in the order of their ids. */
export async function readUses(db: Db, environment: Environment, id: string, sources: readonly UseSource[]): Promise<Uses> {
  const text = [...sources.map(listed), ...sources.filter(({ scanned }) => scanned).map(unread)].join(' union all ')
  const { rows } = await db.query<Use | { object: UseKind; id: null }>(text, [environment, id])
  const found = rows.filter(row => row.id !== null)
  const ofKinds = [...Map.groupBy(found, ({ object }) => object).values()]
  const more = found.length < rows.length || ofKinds.some(uses => uses.length > MOST_USES)
  return { uses: ofKinds.flatMap(uses => uses.slice(0, MOST_USES)), more }
}

/** The first object that prevents the deletion, in the order of the sources; null when there is none. */
export async function firstBlocking(
  tx: Tx,
  environment: Environment,
  id: string,
  { object, statement }: UseSource,
): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select '${object}' as kind, id, name as title from (${statement(TABLES[object])}) s where blocks limit 1`,
    [environment, id],
  )
  return rows[0] ?? null
}
