import { audit } from '../../domain/kernel/audit/record.ts'
import { findClient } from '../../domain/operators/grants/clients.ts'
import { type Exchanged, exchangeCode } from '../../domain/operators/grants/codes.ts'
import { endGrant } from '../../domain/operators/grants/grant.ts'
import { ACCESS_SECONDS, grantOfToken, rotateTokens, type TokenPair } from '../../domain/operators/grants/tokens.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { Problem } from '../errors.ts'
import { rateLimiter } from '../rate-limit.ts'
import { answerJson, type OAuthFields, OAuthProblem, readFields } from './answer.ts'
import { auditEndedGrant } from './audit-ended-grant.ts'
import { isDocumentAddress } from './client.ts'
import type { OAuthDeps } from './deps.ts'
import { resourceOf } from './metadata.ts'

/** A client that is named by a document is known by the code or token that it holds: the document is not fetched again. */
async function knownClient(deps: OAuthDeps, fields: OAuthFields): Promise<string> {
  const id = fields.need('client_id')
  if (!isDocumentAddress(id) && !(await findClient(deps.pool, id)))
    throw new OAuthProblem('invalid_client', 'the client is not known', { status: 401 })
  return id
}

async function auditGrant(tx: Tx, ctx: Context, { grant: id, given }: Exchanged & { is: 'issued' }): Promise<void> {
  const { operator, clientId: client_id, clientName: client_name, project, environment, scopes } = given
  const trail = { project, environment, actor: { kind: 'grant' as const, id }, operation: 'oauth token', requestId: ctx.state.requestId }
  await audit(tx, trail, { resource: 'grant', id, after: { id, operator, client_id, client_name, scopes } })
}

async function takeCode(deps: OAuthDeps, ctx: Context, fields: OAuthFields, clientId: string): Promise<TokenPair> {
  const verifier = fields.need('code_verifier')
  if (!/^[\w.~-]{43,128}$/.test(verifier)) throw new OAuthProblem('invalid_request', 'code_verifier must have 43 to 128 characters')
  const use = { code: fields.need('code'), clientId, redirectUri: fields.need('redirect_uri'), verifier }
  const outcome = await transaction(deps.pool, async tx => {
    const exchanged = await exchangeCode(tx, use)
    if (exchanged.is === 'issued') await auditGrant(tx, ctx, exchanged)
    if (exchanged.is === 'reused' && exchanged.ended) await auditEndedGrant(tx, ctx, 'oauth reuse', exchanged.ended)
    return exchanged
  })
  if (outcome.is === 'issued') return outcome.pair
  const why =
    outcome.is === 'reused' ? 'the code was used before: its tokens are revoked' : 'the code is unknown, expired or of another request'
  throw new OAuthProblem('invalid_grant', why)
}

/** Of a grant in an hour: a client needs one. */
const MOST_REFRESHES = 60
const MOST_GRANTS = 10_000

/** Counts the refreshes of each grant in this process: a client that does nothing else fills no table. */
function refreshLimit(): (grant: string) => void {
  const take = rateLimiter({ perSecond: MOST_REFRESHES / 3_600, burst: MOST_REFRESHES }, undefined, MOST_GRANTS)
  return grant => {
    try {
      take(grant, 1)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { 'Retry-After': retryAfter = '60' } = error.headers
      throw new OAuthProblem('temporarily_unavailable', `more than ${MOST_REFRESHES} refreshes an hour`, {
        status: 429,
        headers: { 'Retry-After': retryAfter },
      })
    }
  }
}

type Refresh = { fields: OAuthFields; clientId: string; take: (grant: string) => void }

async function refresh(deps: OAuthDeps, ctx: Context, { fields, clientId, take }: Refresh): Promise<TokenPair> {
  const [token, wanted] = [fields.need('refresh_token'), fields.get('scope')?.split(' ').filter(Boolean)]
  const grant = await grantOfToken(deps.pool, token, clientId)
  if (grant !== null) take(grant)
  const outcome = await transaction(deps.pool, async tx => {
    const rotated = await rotateTokens(tx, token, clientId, wanted)
    if (rotated.is === 'reused' && rotated.ended) await auditEndedGrant(tx, ctx, 'oauth reuse', rotated.ended)
    return rotated
  })
  switch (outcome.is) {
    case 'refreshed':
      return outcome.pair
    case 'scope':
      throw new OAuthProblem('invalid_scope', 'the grant has not all of these scopes')
    case 'reused':
      throw new OAuthProblem('invalid_grant', 'the refresh token was used before: the grant has ended')
    case 'invalid':
      throw new OAuthProblem('invalid_grant', 'the refresh token is unknown or expired, or its grant has ended')
    default:
      return outcome satisfies never
  }
}

export function tokens(): (deps: OAuthDeps, ctx: Context) => Promise<void> {
  const take = refreshLimit()
  return async (deps, ctx) => {
    const fields = await readFields(ctx)
    const type = fields.need('grant_type')
    if (type !== 'authorization_code' && type !== 'refresh_token')
      throw new OAuthProblem('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token')
    const clientId = await knownClient(deps, fields)
    const resource = fields.get('resource')
    if (resource !== undefined && resource !== resourceOf(deps))
      throw new OAuthProblem('invalid_target', `resource must be ${resourceOf(deps)}`)
    const pair =
      type === 'refresh_token' ? await refresh(deps, ctx, { fields, clientId, take }) : await takeCode(deps, ctx, fields, clientId)
    const { accessToken, refreshToken, scopes } = pair
    const body = { access_token: accessToken, token_type: 'Bearer', expires_in: ACCESS_SECONDS, refresh_token: refreshToken }
    answerJson(ctx, { ...body, scope: scopes.join(' ') })
  }
}

/** RFC 7009, for the whole grant. */
export async function postRevoke(deps: OAuthDeps, ctx: Context): Promise<void> {
  const fields = await readFields(ctx)
  const clientId = await knownClient(deps, fields)
  const token = fields.need('token')
  await transaction(deps.pool, async tx => {
    const grant = await grantOfToken(tx, token, clientId)
    const ended = grant === null ? null : await endGrant(tx, grant)
    if (ended) await auditEndedGrant(tx, ctx, 'oauth revoke', ended)
  })
  answerJson(ctx, {})
}
