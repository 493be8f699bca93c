import type { Db, Tx } from '../../../store/connect.ts'
import { opaqueToken } from '../../../store/ids.ts'
import { hashKey } from '../../projects/secrets.ts'
import { endGrant, type ListedGrant } from './grant.ts'

export const ACCESS_SECONDS = 3_600
/** A refresh token that nobody uses for so long ends. */
const REFRESH_SECONDS = 30 * 86_400
/** The answer to a refresh may have got lost: so long, the used token gives another pair. */
const GRACE_SECONDS = 30

/** Both in clear, for the only time. */
export type TokenPair = { accessToken: string; refreshToken: string; scopes: string[] }

/**
 * Stores a pair of tokens of the grant, in one statement. `scopes`: those of the grant, or fewer; `later`: those that the refresh token gives. Null when the
 * grant has ended.
 */
export async function issueTokens(
  tx: Tx,
  grant: string,
  scopes: readonly string[],
  later: readonly string[] = scopes,
): Promise<TokenPair | null> {
  const pair = { accessToken: opaqueToken('pna'), refreshToken: opaqueToken('pnr') }
  const { rows } = await tx.query<{ kind: string; scopes: string[] }>(
    `insert into mcp_tokens (hash, grant_id, kind, scopes, expires_at)
     select t.hash, g.id, t.kind, array(select s from unnest(g.scopes) s where s = any (case t.kind when 'access' then $2::text[] else $6 end) order by s),
       clock_timestamp() + make_interval(secs => t.seconds)
     from mcp_grants g, unnest($3::bytea[], $4::text[], $5::int[]) t (hash, kind, seconds)
     where g.id = $1 and g.ended_at is null returning kind, scopes`,
    [
      ...[grant, scopes],
      [hashKey(pair.accessToken), hashKey(pair.refreshToken)],
      ...[['access', 'refresh'], [ACCESS_SECONDS, REFRESH_SECONDS], later],
    ],
  )
  const access = rows.find(({ kind }) => kind === 'access')
  return access ? { ...pair, scopes: access.scopes } : null
}

export type Refreshed =
  | { is: 'refreshed'; pair: TokenPair }
  /** Unknown, expired, of another client, or of a grant that has ended or whose operator's account is closed. */
  | { is: 'invalid' }
  /** The token was used before: the grant has ended. Commit the transaction. */
  | { is: 'reused'; ended: ListedGrant | null }
  /** More than the token has. */
  | { is: 'scope' }

/**
 * A new pair for a refresh token, which is used up. `wanted`: fewer scopes for the access token; what the refresh token gives stays as it is (RFC 6749, section 6). The grant is locked first, so of two uses
 * at the same time the second one sees the first.
 */
export async function rotateTokens(tx: Tx, refreshToken: string, clientId: string, wanted?: readonly string[]): Promise<Refreshed> {
  const hash = hashKey(refreshToken)
  const locked = await tx.query<{ id: string }>(
    `select g.id from mcp_grants g where g.id = (select grant_id from mcp_tokens where hash = $1 and kind = 'refresh')
       and g.client_id = $2 and g.ended_at is null and exists (select from operators o where o.id = g.operator and o.closed_at is null)
     for no key update`,
    [hash, clientId],
  )
  const grant = locked.rows[0]?.id
  if (grant === undefined) return { is: 'invalid' }
  type Row = { scopes: string[]; is_used: boolean; is_late: boolean; is_expired: boolean }
  const { rows } = await tx.query<Row>(
    `select scopes, used_at is not null as is_used, used_at < clock_timestamp() - make_interval(secs => $2) as is_late,
       expires_at <= clock_timestamp() as is_expired
     from mcp_tokens where hash = $1`,
    [hash, GRACE_SECONDS],
  )
  const token = rows[0]
  if (!token) return { is: 'invalid' }
  if (token.is_used && token.is_late) return { is: 'reused', ended: await endGrant(tx, grant) }
  if (token.is_expired) return { is: 'invalid' }
  if (wanted && (wanted.length === 0 || wanted.some(scope => !token.scopes.includes(scope)))) return { is: 'scope' }
  await tx.query('update mcp_tokens set used_at = coalesce(used_at, clock_timestamp()) where hash = $1', [hash])
  const pair = await issueTokens(tx, grant, wanted ?? token.scopes, token.scopes)
  return pair ? { is: 'refreshed', pair } : { is: 'invalid' }
}

/** The grant of a token of the client, of either kind; null for an unknown token. It may have ended. */
export async function grantOfToken(db: Db, token: string, clientId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    'select g.id from mcp_tokens t join mcp_grants g on g.id = t.grant_id where t.hash = $1 and g.client_id = $2',
    [hashKey(token), clientId],
  )
  return rows[0]?.id ?? null
}
