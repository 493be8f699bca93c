import type { Db } from '../../store/connect.ts'

/** The environment that a row belongs to. Every domain function takes it first, so no row can be read without naming its environment. */
export type Environment = number
export type EnvironmentKind = 'production' | 'sandbox'

/** The time of the environment's clock (sandbox: real time plus the test clock's offset), in whole seconds as the API shows it. */
export async function now(db: Db, environment: Environment): Promise<string> {
  const { rows } = await db.query<{ now: string }>({ name: 'now', text: 'select environment_now($1) as now', values: [environment] })
  return rows[0]!.now
}

/** The same of several environments. */
export async function nowIn(db: Db, environments: ReadonlySet<Environment>): Promise<Map<Environment, string>> {
  const { rows } = await db.query<{ id: Environment; now: string }>({
    name: 'now-in',
    text: `select e.id, clock_timestamp() + e.clock_offset as now
           from unnest($1::int[]) k(id) cross join lateral (select id, clock_offset from environments where id = k.id limit 1) e`,
    values: [[...environments]],
  })
  return new Map(rows.map(({ id, now }) => [id, now]))
}

/** The number of a project's environment. Every project has both. */
export async function environmentOf(db: Db, project: number, kind: EnvironmentKind): Promise<Environment> {
  const { rows } = await db.query<{ id: Environment }>({
    name: 'environment-of-kind',
    text: 'select id from environments where project = $1 and kind = $2',
    values: [project, kind],
  })
  return rows[0]!.id
}
