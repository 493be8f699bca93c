import type { Db } from '../../store/connect.ts'

/** All environments of the projects that these environments belong to. */
export async function environmentsOfProjects(db: Db, environments: number[]): Promise<{ project: number; environment: number }[]> {
  const { rows } = await db.query<{ project: number; environment: number }>({
    name: 'environments-of-projects',
    text: `select e.project, e.id as environment from environments e
           where e.project in (select project from environments where id = any ($1::int[])) order by e.id`,
    values: [environments],
  })
  return rows
}
