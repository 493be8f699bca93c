import { connect, type Pool } from '../../store/connect.ts'

/** By table: the number of rows, and a digest of their content. */
export type Rows = Record<string, { count: number; digest: string }>

type Column = { table: string; column: string; type: string }

/** Of each database once: no test changes the schema, and the catalog takes 10 ms each time. */
const known = new WeakMap<Pool, Promise<Column[]>>()

function columnsOf(pool: Pool): Promise<Column[]> {
  const columns =
    known.get(pool) ??
    pool
      .query<Column>(
        `select relname as table, attname as column, format_type(atttypid, null) as type from pg_attribute join pg_class c on c.oid = attrelid
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and attnum > 0 and not attisdropped order by relname, attnum`,
      )
      .then(({ rows }) => rows)
  known.set(pool, columns)
  return columns
}

async function tablesWith(pool: Pool, column: string): Promise<string[]> {
  return (await columnsOf(pool)).filter(one => one.column === column).map(({ table }) => table)
}

const readers = new WeakMap<Pool, Pool>()

/**
 * A connection to the same database that plans each of these statements once: to plan a hundred tables takes 50 ms of a processor, to read them
 * 5 ms. The drop of the database closes it.
 */
function readerOf(pool: Pool): Pool {
  const reader = readers.get(pool) ?? connect({ url: pool.options.connectionString!, max: 1, planOnce: true })
  readers.set(pool, reader)
  return reader
}

async function digests(pool: Pool, name: string, parts: { table: string; where: string }[], id: number): Promise<Rows> {
  const selects = parts.map(
    ({ table, where }) =>
      `select '${table}' as name, count(*)::int as count, coalesce(md5(string_agg(r::text, '|' order by r::text)), '') as digest from ${table} r where ${where}`,
  )
  const text = selects.join(' union all ')
  const { rows } = await readerOf(pool).query<{ name: string; count: number; digest: string }>({ name, text, values: [id] })
  return Object.fromEntries(rows.map(({ name, count, digest }) => [name, { count, digest }]))
}

/** All rows of an environment. */
export async function rowsOf(pool: Pool, environment: number): Promise<Rows> {
  const tables = await tablesWith(pool, 'environment')
  const parts = tables.map(table => ({ table, where: 'environment = $1' }))
  return digests(pool, 'rows-of-environment', [...parts, { table: 'environments', where: 'id = $1' }], environment)
}

/** All rows that belong to a project as a whole. */
export async function projectRowsOf(pool: Pool, project: number): Promise<Rows> {
  const ofEnvironments = new Set(await tablesWith(pool, 'environment'))
  const tables = (await tablesWith(pool, 'project')).filter(table => table !== 'environments')
  const where = (table: string) => (ofEnvironments.has(table) ? 'project = $1 and environment is null' : 'project = $1')
  const parts = tables.map(table => ({ table, where: where(table) }))
  return digests(pool, 'rows-of-project', [...parts, { table: 'projects', where: 'id = $1' }], project)
}

/** Every id of at least eight characters in the rows of the environment: shorter ids occur in other texts, too. */
export async function idsOf(pool: Pool, environment: number): Promise<string[]> {
  const tables = new Set(await tablesWith(pool, 'environment'))
  const isId = ({ column, type }: Column) => type === 'text' && /^id$|_u?id$/.test(column) && !['actor_id', 'request_id'].includes(column)
  const columns = (await columnsOf(pool)).filter(one => tables.has(one.table) && isId(one))
  const selects = columns.map(
    ({ table, column }) => `select ${column} as id from ${table} where environment = $1 and length(${column}) >= 8`,
  )
  const { rows } = await readerOf(pool).query<{ id: string }>({
    name: 'ids-of-environment',
    text: selects.join(' union all '),
    values: [environment],
  })
  return [...new Set(rows.map(({ id }) => id))]
}
