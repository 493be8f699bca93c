import { createHash, timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../../store/connect.ts'
import { opaqueToken } from '../../../store/ids.ts'
import { hashKey } from '../../projects/secrets.ts'
import { roleIn } from '../roles.ts'
import { createGrant, endGrant, endGrants, type GrantInput, type ListedGrant } from './grant.ts'
import { issueTokens, type TokenPair } from './tokens.ts'

const CODE_SECONDS = 60

/** What an operator has allowed. `challenge`: SHA-256 of a secret of the client, in base64url. */
export type Allowed = GrantInput & { redirectUri: string; challenge: string }

/** A code with which the client takes what was allowed, once, within a minute. */
export async function createCode(db: Db, allowed: Allowed): Promise<string> {
  const { operator, clientId, clientName, redirectUri, challenge, project, environment, scopes, findsTools } = allowed
  const code = opaqueToken('pnc')
  await db.query(
    `insert into oauth_codes (hash, operator, client_id, client_name, redirect_uri, challenge, project, environment, scopes, finds_tools, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + make_interval(secs => $11))`,
    [hashKey(code), operator, clientId, clientName, redirectUri, challenge, project, environment, scopes, findsTools, CODE_SECONDS],
  )
  return code
}

export type CodeUse = { code: string; clientId: string; redirectUri: string; verifier: string }

export type Exchanged =
  | { is: 'issued'; pair: TokenPair; grant: string; given: GrantInput }
  /** Unknown, expired, or of another client, redirect URI or challenge. The code is not used up. */
  | { is: 'invalid' }
  /** The code was used before: its grant has ended, now (`ended`) or earlier. Commit the transaction. */
  | { is: 'reused'; ended: ListedGrant | null }

function isAnswered(challenge: string, verifier: string): boolean {
  const [wanted, given] = [Buffer.from(challenge), Buffer.from(createHash('sha256').update(verifier).digest('base64url'))]
  return wanted.length === given.length && timingSafeEqual(wanted, given)
}

/** Makes the grant and its first tokens. The code is locked first, so of two uses at the same time the second one sees the first. */
export async function exchangeCode(tx: Tx, { code, clientId, redirectUri, verifier }: CodeUse): Promise<Exchanged> {
  type Row = {
    operator: string
    client_name: string
    redirect_uri: string
    challenge: string
    project: number
    environment: number
    scopes: string[]
    finds_tools: boolean
    is_expired: boolean
    grant_id: string | null
  }
  const { rows } = await tx.query<Row>(
    `select operator, client_name, redirect_uri, challenge, project, environment, scopes, finds_tools, expires_at <= clock_timestamp() as is_expired, grant_id
     from oauth_codes where hash = $1 and client_id = $2 for update`,
    [hashKey(code), clientId],
  )
  const row = rows[0]
  if (!row) return { is: 'invalid' }
  if (row.grant_id !== null) return { is: 'reused', ended: await endGrant(tx, row.grant_id) }
  if (row.is_expired || row.redirect_uri !== redirectUri || !isAnswered(row.challenge, verifier)) return { is: 'invalid' }
  const { operator, client_name: clientName, project, environment, scopes, finds_tools: findsTools } = row
  if ((await roleIn(tx, operator, project)) === null) return { is: 'invalid' }
  const given = { operator, clientId, clientName, project, environment, scopes, findsTools }
  const grant = await createGrant(tx, given)
  const pair = await issueTokens(tx, grant, scopes)
  await tx.query('update oauth_codes set grant_id = $2 where hash = $1', [hashKey(code), grant])
  await tx.query('update oauth_clients set granted_at = clock_timestamp() where id = $1', [clientId])
  return pair ? { is: 'issued', pair, grant, given } : { is: 'invalid' }
}

/** Ends what an operator has allowed assistants, also what none of them has taken yet. The operator is locked, so nothing more is allowed meanwhile. */
export async function endAllowed(tx: Tx, operator: string): Promise<void> {
  // Waits for a client that is taking a code: its grant is among those that end here.
  await tx.query('delete from oauth_codes where operator = $1 and grant_id is null', [operator])
  await endGrants(tx, 'operator', operator)
}
