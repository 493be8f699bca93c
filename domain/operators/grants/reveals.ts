import type { Tx } from '../../../store/connect.ts'
import { opaqueId } from '../../../store/ids.ts'
import { hashKey, type Secrets } from '../../projects/secrets.ts'

/** So long the operator may look at the secret. */
const REVEAL_SECONDS = 600

const contextOf = (operator: string) => `reveal:${operator}`

/** Keeps a secret that an assistant may not see for its operator. Returns the code by which the operator gets it, once. */
export async function keepRevealed(tx: Tx, secrets: Secrets, operator: string, secret: string): Promise<string> {
  const code = opaqueId()
  await tx.query(
    `insert into mcp_reveals (hash, operator, sealed, expires_at) values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))`,
    [hashKey(code), operator, secrets.seal(secret, contextOf(operator)), REVEAL_SECONDS],
  )
  return code
}

/** The secret of the code, for the only time; null for an unknown or used code, after its time, and for another operator, who does not use it up. */
export async function takeRevealed(tx: Tx, secrets: Secrets, code: string, operator: string): Promise<string | null> {
  const { rows } = await tx.query<{ sealed: Buffer }>(
    'delete from mcp_reveals where hash = $1 and operator = $2 and expires_at > clock_timestamp() returning sealed',
    [hashKey(code), operator],
  )
  return rows[0] ? secrets.open(rows[0].sealed, contextOf(operator)) : null
}
