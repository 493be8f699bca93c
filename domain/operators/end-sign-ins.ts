import type { Tx } from '../../store/connect.ts'

/** What opens something until a time, in an order that references allow. */
const OPENING = ['operator_sessions', 'operator_links', 'oauth_codes', 'mcp_confirmations', 'mcp_reveals', 'mcp_tokens'] as const

/** How much has ended. */
export type EndedSignIns = { sessions: number; links: number; grants: number }

/**
 * Ends whatever signs an operator in and all grants of assistants. Rows of a backup say what was in force when it was made: what was ended since
 * would open something again, and nobody can tell it from the rest. Accounts, roles and registered clients stay.
 */
export async function endSignIns(tx: Tx): Promise<EndedSignIns> {
  const dropped = new Map<string, number>()
  for (const table of OPENING) dropped.set(table, (await tx.query(`delete from ${table}`)).rowCount ?? 0)
  const grants = await tx.query('update mcp_grants set ended_at = clock_timestamp() where ended_at is null')
  return { sessions: dropped.get('operator_sessions')!, links: dropped.get('operator_links')!, grants: grants.rowCount ?? 0 }
}
