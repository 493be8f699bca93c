import type { Tx } from '../../../store/connect.ts'
import { opaqueToken } from '../../../store/ids.ts'
import { hashKey } from '../../projects/secrets.ts'
import { endGrant } from './grant.ts'

export const ACCESS_SECONDS = 3_600
/** A refresh token that nobody uses for so long ends. */
const REFRESH_SECONDS = 30 * 86_400
/** The answer to a refresh may have got lost: so long, the used token gives another pair. */
const GRACE_SECONDS = 30

/** Both in clear, for the only time. */
export type TokenPair = { accessToken: string; refreshToken: string; scopes: string[] }

/** Stores a pair of tokens of the grant, in one statement. `scopes`: those of the grant, or fewer. Null when the grant has ended. */
export async function issueTokens(tx: Tx, grant: string, scopes: readonly string[]): Promise<TokenPair | null> {
  const pair = { accessToken: opaqueToken('pna'), refreshToken: opaqueToken('pnr') }
  const { rows } = await tx.query<{ scopes: string[] }>(
    `insert into mcp_tokens (hash, grant_id, kind, scopes, expires_at)
     select t.hash, g.id, t.kind, array(select s from unnest(g.scopes) s where s = any ($2) order by s),
       clock_timestamp() + make_interval(secs => t.seconds)
     from mcp_grants g, unnest($3::bytea[], $4::text[], $5::int[]) t (hash, kind, seconds)
     where g.id = $1 and g.ended_at is null returning scopes`,
    [
      ...[grant, scopes],
      [hashKey(pair.accessToken), hashKey(pair.refreshToken)],
      ...[
        ['access', 'refresh'],
        [ACCESS_SECONDS, REFRESH_SECONDS],
      ],
    ],
  )
  return rows[0] ? { ...pair, scopes: rows[0].scopes } : null
}

export type Refreshed =
  | { is: 'refreshed'; pair: TokenPair }
  /** Unknown, expired, of another client, or of a grant that has ended or whose operator's account is closed. */
  | { is: 'invalid' }
  /** The token was used before: the grant has ended. Commit the transaction. */
  | { is: 'reused' }
  /** More than the token has. */
  | { is: 'scope' }

/**
 * A new pair for a refresh token, which is used up. `wanted`: fewer scopes, for the pair and all that come from it. The grant is locked first, so of two uses
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
  if (token.is_used && token.is_late) {
    await endGrant(tx, grant)
    return { is: 'reused' }
  }
  if (token.is_expired) return { is: 'invalid' }
  if (wanted && (wanted.length === 0 || wanted.some(scope => !token.scopes.includes(scope)))) return { is: 'scope' }
  await tx.query('update mcp_tokens set used_at = coalesce(used_at, clock_timestamp()) where hash = $1', [hash])
  const pair = await issueTokens(tx, grant, wanted ?? token.scopes)
  return pair ? { is: 'refreshed', pair } : { is: 'invalid' }
}

/** Ends the grant of a token of either kind. Nothing happens for an unknown one, or one of another client. */
export async function revokeToken(tx: Tx, token: string, clientId: string): Promise<void> {
  await tx.query(
    `update mcp_grants set ended_at = clock_timestamp()
     where id = (select grant_id from mcp_tokens where hash = $1) and client_id = $2 and ended_at is null`,
    [hashKey(token), clientId],
  )
}
