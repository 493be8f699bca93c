import type { Pool } from '../../store/connect.ts'

/** By table: the number of rows, and a digest of their content. */
export type Rows = Record<string, { count: number; digest: string }>

async function tablesWith(pool: Pool, column: string): Promise<string[]> {
  const { rows } = await pool.query<{ table_name: string }>(
    `select table_name from information_schema.columns where table_schema = 'public' and column_name = $1 order by table_name`,
    [column],
  )
  return rows.map(row => row.table_name)
}

async function digests(pool: Pool, parts: { table: string; where: string }[], id: number): Promise<Rows> {
  const selects = parts.map(
    ({ table, where }) =>
      `select '${table}' as name, count(*)::int as count, coalesce(md5(string_agg(r::text, '|' order by r::text)), '') as digest from ${table} r where ${where}`,
  )
  const { rows } = await pool.query<{ name: string; count: number; digest: string }>(selects.join(' union all '), [id])
  return Object.fromEntries(rows.map(({ name, count, digest }) => [name, { count, digest }]))
}

/** All rows of an environment. */
export async function rowsOf(pool: Pool, environment: number): Promise<Rows> {
  const tables = await tablesWith(pool, 'environment')
  return digests(
    pool,
    [...tables.map(table => ({ table, where: 'environment = $1' })), { table: 'environments', where: 'id = $1' }],
    environment,
  )
}

/** All rows that belong to a project as a whole. */
export async function projectRowsOf(pool: Pool, project: number): Promise<Rows> {
  const ofEnvironments = new Set(await tablesWith(pool, 'environment'))
  const tables = (await tablesWith(pool, 'project')).filter(table => table !== 'environments')
  const where = (table: string) => (ofEnvironments.has(table) ? 'project = $1 and environment is null' : 'project = $1')
  return digests(pool, [...tables.map(table => ({ table, where: where(table) })), { table: 'projects', where: 'id = $1' }], project)
}

/** Every id of at least eight characters in the rows of the environment: shorter ids occur in other texts, too. */
export async function idsOf(pool: Pool, environment: number): Promise<string[]> {
  const { rows: columns } = await pool.query<{ table_name: string; column_name: string }>(
    `select c.table_name, c.column_name from information_schema.columns c
       join information_schema.columns e on e.table_schema = c.table_schema and e.table_name = c.table_name and e.column_name = 'environment'
     where c.table_schema = 'public' and c.data_type = 'text' and (c.column_name = 'id' or c.column_name like '%\\_id' or c.column_name like '%\\_uid')
       and c.column_name not in ('actor_id', 'request_id')`,
  )
  const selects = columns.map(({ table_name, column_name }) => `select ${column_name} as id from ${table_name} where environment = $1`)
  const { rows } = await pool.query<{ id: string }>(`select distinct id from (${selects.join(' union ')}) x where length(id) >= 8`, [
    environment,
  ])
  return rows.map(row => row.id)
}
