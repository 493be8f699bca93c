import type { Pool } from '../../store/connect.ts'

export type StoredUser = { id: string } & Record<string, unknown>

/** Users with stored values as facts would have left them; what is left out has the table's default. */
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
