import { environmentsOfProjects } from '../domain/projects/environments.ts'
import type { Pool } from '../store/connect.ts'

/** Finds the project of an environment without a query, for counts that change with every job. An environment never changes its project. */
export function knownProjects(pool: Pool) {
  const projects = new Map<number, number>()
  const environments = new Map<number, number[]>()
  function remember(environment: number, project: number): number {
    projects.set(environment, project)
    environments.set(project, [...(environments.get(project) ?? []), environment])
    return project
  }
  return {
    /**
     * The number of the project; negative if it could not be read: the environment then counts as a project of its own. The first result
     * for an environment never changes: a job must be subtracted from the count to which it was added.
     */
    projectOf: (environment: number): number => projects.get(environment) ?? remember(environment, -environment),
    environmentsOf: (project: number): number[] => environments.get(project) ?? [],
    /** Reads the projects of the environments that are not known yet. Never rejects: the execution of jobs does not depend on the result. */
    async learn(some: Iterable<number>): Promise<void> {
      const unknown = [...new Set(some)].filter(environment => !projects.has(environment))
      if (unknown.length === 0) return
      const rows = await environmentsOfProjects(pool, unknown).catch(() => [])
      for (const { project, environment } of rows) if (!projects.has(environment)) remember(environment, project)
    },
  }
}

export type KnownProjects = ReturnType<typeof knownProjects>
