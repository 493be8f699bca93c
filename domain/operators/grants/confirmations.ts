import type { Db } from '../../../store/connect.ts'
import { opaqueToken } from '../../../store/ids.ts'
import { hashKey } from '../../projects/secrets.ts'

/** Real time, as for tokens. */
const CONFIRM_SECONDS = 300

/** A call that waits for its confirmation. `arguments`: the hash of all arguments but those that confirm. */
export type Confirmable = { grant: string; tool: string; arguments: Buffer }

/** A token that allows the same call once, within five minutes. */
export async function createConfirmation(db: Db, call: Confirmable): Promise<{ token: string; expires_at: string }> {
  const token = opaqueToken('pnc')
  const { rows } = await db.query<{ expires_at: string }>(
    `insert into mcp_confirmations (hash, grant_id, tool, arguments, expires_at)
     values ($1, $2, $3, $4, date_trunc('second', clock_timestamp()) + make_interval(secs => $5)) returning expires_at`,
    [hashKey(token), call.grant, call.tool, call.arguments, CONFIRM_SECONDS],
  )
  return { token, expires_at: rows[0]!.expires_at }
}

/** Uses the token up. False when it does not allow this call; of two uses at the same time one is true. */
export async function useConfirmation(db: Db, token: string, call: Confirmable): Promise<boolean> {
  const { rowCount } = await db.query(
    `update mcp_confirmations set used_at = clock_timestamp() where hash = $1 and grant_id = $2 and tool = $3 and arguments = $4
       and used_at is null and expires_at > clock_timestamp()`,
    [hashKey(token), call.grant, call.tool, call.arguments],
  )
  return rowCount === 1
}
