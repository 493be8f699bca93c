import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Holder } from '../refusal.ts'

export type UsingKind =
  | 'analytics_view'
  | 'automation'
  | 'entitlement'
  | 'experiment'
  | 'export'
  | 'offering'
  | 'remote_configuration'
  | 'screen'
  | 'segment'
/** What names an object. `parts`: of a user that has parts, those that name it. `blocks`: the object cannot be deleted meanwhile. */
export type Use = {
  object: UsingKind
  id: string
  name: string | null
  status: string | null
  parts: { id: string; name: string | null }[]
  blocks: boolean
}
/** `more`: of one kind at least there are more. */
export type Uses = { uses: Use[]; more: boolean }

/** What an answer has of each kind. */
const MOST_USES = 50
/** What a statement reads of one kind for `usesOfKind`, which tells by it whether there are more. */
export const READ_USES = MOST_USES + 1

/** Of one kind, as they were read. */
export const usesOfKind = (read: readonly Use[] = []): Uses => ({ uses: read.slice(0, MOST_USES), more: read.length > MOST_USES })

/**
 * In SQL: the objects of one kind that name the object $2 of the environment $1, with the columns id, name, status, parts and blocks. `scanned`:
 * no index tells which rows name it, so the rows of the table `rows` are looked at one by one.
 */
export type UseSource = { object: UsingKind; scanned: boolean; statement: (rows: string) => string }

/** In SQL: the row with the id of a table. */
export const rowById = (table: string, id: string): string =>
  `select * from ${table} where environment = $1 and id >= ${id} and id <= ${id} order by environment, id limit 1`

/** The tables of the kinds. */
const TABLES: Record<UsingKind, string> = {
  analytics_view: 'analytics_views',
  automation: 'automations',
  entitlement: 'entitlements',
  experiment: 'experiments',
  export: 'exports',
  offering: 'offerings',
  remote_configuration: 'remote_configurations',
  screen: 'screens',
  segment: 'segments',
}

/** How many rows of each kind are looked at one by one, the newest first. */
const SCANNED = 2_000

const newest = (table: string) => `(select * from ${table} where environment = $1 order by created_at desc, id desc limit ${SCANNED})`

const listed = ({ object, scanned, statement }: UseSource) => `
  (select '${object}' as object, id, name, status, parts, blocks from (${statement(scanned ? newest(TABLES[object]) : TABLES[object])}) s
   order by blocks desc, id limit ${READ_USES})`
/** A row without an id: not all rows of the kind were looked at. */
const unread = ({ object }: UseSource) => `
  select '${object}', null, null, null, null, null
  where (select count(*) from (select from ${TABLES[object]} where environment = $1 order by created_at limit ${SCANNED + 1}) s) > ${SCANNED}`

/** `more`: not all rows were looked at. */
export type BoundedCount = { count: number; more: boolean }
/** How many rows are looked at for a count. */
const COUNTED = 5_000

const counted = (rows: string) => `
  (select json_build_object('count', count(*) filter (where gives), 'more', count(*) > ${COUNTED}) from (
     select gives from (${rows}) r limit ${COUNTED + 1}) looked_at)`

/**
 * What names an object: of each kind what prevents its deletion first, then in the order of the ids. `counts`: in SQL, rows with the column
 * `gives`; those that give are counted, up to a bound.
 */
export async function readUses<Name extends string = never>(
  db: Db,
  environment: Environment,
  id: string,
  sources: readonly UseSource[],
  counts = {} as Record<Name, string>,
): Promise<Uses & Record<Name, BoundedCount>> {
  const read = [...sources.map(listed), ...sources.filter(({ scanned }) => scanned).map(unread)].join(' union all ')
  const columns = Object.entries<string>(counts).map(([name, rows]) => `, ${counted(rows)} as ${name}`)
  const { rows } = await db.query<{ found: (Use | { object: UsingKind; id: null })[] } & Record<Name, BoundedCount>>(
    `select (select coalesce(json_agg(u), '[]') from (${read}) u) as found${columns.join('')}`,
    [environment, id],
  )
  const { found, ...rest } = rows[0]!
  const uses = found.filter(row => row.id !== null)
  const ofKinds = [...Map.groupBy(uses, ({ object }) => object).values()].map(usesOfKind)
  return {
    uses: ofKinds.flatMap(({ uses: some }) => some),
    more: uses.length < found.length || ofKinds.some(({ more }) => more),
    ...(rest as unknown as Record<Name, BoundedCount>),
  }
}

/** Of each source the first object that prevents the deletion, in the order of the sources. */
export async function allBlocking(tx: Tx, environment: Environment, id: string, sources: readonly UseSource[]): Promise<Holder[]> {
  const first = sources.map(
    ({ object, statement }) =>
      `(select '${object.replace('_', ' ')}' as kind, id, name as title from (${statement(TABLES[object])}) s where blocks limit 1)`,
  )
  const { rows } = await tx.query<Holder>(first.join(' union all '), [environment, id])
  return rows
}

/** The first object that prevents the deletion; null when there is none. */
export const firstBlocking = async (tx: Tx, environment: Environment, id: string, source: UseSource): Promise<Holder | null> =>
  (await allBlocking(tx, environment, id, [source]))[0] ?? null
