import type { Db } from '../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../kernel/environment.ts'

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

export type ProjectEnvironment = { id: Environment; kind: EnvironmentKind; project: number; name: string }

/** The environments of a project, or of all of them (null). `name`: of the project. */
export async function listEnvironments(db: Db, project: number | null): Promise<ProjectEnvironment[]> {
  const { rows } = await db.query<ProjectEnvironment>(
    `select e.id, e.kind, p.id as project, p.name from environments e join projects p on p.id = e.project
     where $1::int is null or p.id = $1 order by e.id`,
    [project],
  )
  return rows
}
