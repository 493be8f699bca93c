import type { Db, Tx } from '../../../store/connect.ts'
import { opaqueId } from '../../../store/ids.ts'
import { hashKey, type Secrets } from '../../projects/secrets.ts'
import { roleIn } from '../roles.ts'

/** So long the operator may look at the secret. */
const REVEAL_SECONDS = 600

const contextOf = (operator: string) => `reveal:${operator}`

/** Keeps a secret of a project that an assistant may not see for its operator. Returns the code by which the operator gets it, once. */
export async function keepRevealed(
  tx: Tx,
  secrets: Secrets,
  { operator, project }: { operator: string; project: number },
  secret: string,
): Promise<string> {
  const code = opaqueId()
  await tx.query(
    `insert into mcp_reveals (hash, operator, project, sealed, expires_at)
     values ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))`,
    [hashKey(code), operator, project, secrets.seal(secret, contextOf(operator)), REVEAL_SECONDS],
  )
  return code
}

const IS_FOR = 'hash = $1 and operator = $2 and expires_at > clock_timestamp()'

/** Whether the code shows a secret to the operator, who has still a role in its project. */
export async function isRevealable(db: Db, code: string, operator: string): Promise<boolean> {
  const { rows } = await db.query<{ project: number }>(`select project from mcp_reveals where ${IS_FOR}`, [hashKey(code), operator])
  return rows[0] !== undefined && (await roleIn(db, operator, rows[0].project)) !== null
}

/** The secret of the code, for the only time; null for an unknown or used code, after its time, and for another operator, who does not use it up. */
export async function takeRevealed(tx: Tx, secrets: Secrets, code: string, operator: string): Promise<string | null> {
  if (!(await isRevealable(tx, code, operator))) return null
  const { rows } = await tx.query<{ sealed: Buffer }>(`delete from mcp_reveals where ${IS_FOR} returning sealed`, [hashKey(code), operator])
  return rows[0] ? secrets.open(rows[0].sealed, contextOf(operator)) : null
}
