import type { Pool } from '../../store/connect.ts'
import type { TestApi } from './api.ts'
import type { Answer } from './client.ts'

export type StoredUser = { id: string } & Record<string, unknown>

/** Inserts users with the values that facts derive; a value that is left out has the table's default. */
export async function storeUsers(pool: Pool, environment: number, users: StoredUser[]): Promise<void> {
  for (const user of users) {
    const row: Record<string, unknown> = {
      environment,
      created_at: '2026-01-01T00:00:00Z',
      last_seen_at: '2026-02-01T00:00:00Z',
      ...user,
    }
    const columns = Object.keys(row)
    await pool.query(
      `insert into users (${columns.join(', ')}) values (${columns.map((_, i) => `$${i + 1}`).join(', ')})`,
      Object.values(row),
    )
  }
}

/** A project with these users in production, and requests for its list of customers. */
export async function projectOf(api: TestApi, users: StoredUser[]) {
  const project = await api.newProject()
  await storeUsers(api.pool, project.production, users)
  const list = (query: string): Promise<Answer> => api.call('GET', `/v4/customers${query}`, { key: project.secret })
  const ids = async (query: string): Promise<string[]> => (await list(query)).body.data.map((row: { id: string }) => row.id)
  return { project, list, ids }
}

/** Status, code and faulty fields of an error response. */
export const refusal = ({ status, body: { error } }: Answer): [number, string, string[] | undefined] => [
  status,
  error.code,
  error.details?.map((detail: { field: string }) => detail.field),
]
