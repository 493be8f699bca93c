import { createHash } from 'node:crypto'
import type { TestApi } from './api.ts'
import type { Described } from './described.ts'
import { type OperationRequests, operationRequests, SANDBOX_ONLY } from './operation-requests.ts'
import { projectRowsOf, type Rows, rowsOf } from './rows.ts'

export type OperationProject = {
  requests: OperationRequests
  environment: number
  project: number
  /** All rows of the environment and of its project, but the records that a refusal itself leaves. */
  rows(): Promise<{ environment: Rows; project: Rows }>
}

async function rowsButRefusals(api: TestApi, environment: number): Promise<Rows> {
  const { purchase_attempts: _, ...rows } = await rowsOf(api.pool, environment)
  return rows
}

/** A new project, so that every change of its rows comes from the test. */
export async function projectFor(api: TestApi, operation: Described): Promise<OperationProject> {
  const project = await api.newProject()
  const inSandbox = SANDBOX_ONLY.includes(operation.id)
  const environment = inSandbox ? project.sandboxEnvironment : project.production
  return {
    requests: operationRequests(api, inSandbox ? project.sandbox : project.secret),
    environment,
    project: project.id,
    rows: async () => ({ environment: await rowsButRefusals(api, environment), project: await projectRowsOf(api.pool, project.id) }),
  }
}

export const countsOf = ({ environment, project }: Awaited<ReturnType<OperationProject['rows']>>) =>
  Object.fromEntries([...Object.entries(environment), ...Object.entries(project)].map(([table, { count }]) => [table, count]))

/** An Idempotency-Key that no other test uses. */
export const idempotencyKey = (...about: string[]) => ({ 'Idempotency-Key': createHash('sha256').update(about.join()).digest('hex') })
