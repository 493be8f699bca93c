import { audit } from '../../domain/kernel/audit/record.ts'
import { findClient } from '../../domain/operators/grants/clients.ts'
import { type Exchanged, exchangeCode } from '../../domain/operators/grants/codes.ts'
import { ACCESS_SECONDS, revokeToken, rotateTokens, type TokenPair } from '../../domain/operators/grants/tokens.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { answerJson, type OAuthFields, OAuthProblem, readFields } from './answer.ts'
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
    return exchanged
  })
  if (outcome.is === 'issued') return outcome.pair
  const why =
    outcome.is === 'reused' ? 'the code was used before: its tokens are revoked' : 'the code is unknown, expired or of another request'
  throw new OAuthProblem('invalid_grant', why)
}

async function refresh(deps: OAuthDeps, fields: OAuthFields, clientId: string): Promise<TokenPair> {
  const [token, wanted] = [fields.need('refresh_token'), fields.get('scope')?.split(' ').filter(Boolean)]
  const outcome = await transaction(deps.pool, tx => rotateTokens(tx, token, clientId, wanted))
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

export async function postToken(deps: OAuthDeps, ctx: Context): Promise<void> {
  const fields = await readFields(ctx)
  const type = fields.need('grant_type')
  if (type !== 'authorization_code' && type !== 'refresh_token')
    throw new OAuthProblem('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token')
  const clientId = await knownClient(deps, fields)
  const resource = fields.get('resource')
  if (resource !== undefined && resource !== resourceOf(deps))
    throw new OAuthProblem('invalid_target', `resource must be ${resourceOf(deps)}`)
  const pair = type === 'refresh_token' ? await refresh(deps, fields, clientId) : await takeCode(deps, ctx, fields, clientId)
  const { accessToken, refreshToken, scopes } = pair
  const tokens = { access_token: accessToken, token_type: 'Bearer', expires_in: ACCESS_SECONDS, refresh_token: refreshToken }
  answerJson(ctx, { ...tokens, scope: scopes.join(' ') })
}

/** RFC 7009, for the whole grant. */
export async function postRevoke(deps: OAuthDeps, ctx: Context): Promise<void> {
  const fields = await readFields(ctx)
  const clientId = await knownClient(deps, fields)
  const token = fields.need('token')
  await transaction(deps.pool, tx => revokeToken(tx, token, clientId))
  answerJson(ctx, {})
}
