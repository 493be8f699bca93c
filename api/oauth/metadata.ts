import { SCOPES } from '../../schemas/generated/operations.ts'
import type { Context } from '../context.ts'
import { answerJson } from './answer.ts'
import type { OAuthDeps } from './deps.ts'

const CACHE = 'public, max-age=300'

export const resourceOf = ({ publicUrl }: Pick<OAuthDeps, 'publicUrl'>): string => `${publicUrl}/mcp`

/** RFC 9728. */
export async function protectedResource(deps: OAuthDeps, ctx: Context): Promise<void> {
  const { publicUrl } = deps
  const body = {
    resource: resourceOf(deps),
    authorization_servers: [publicUrl],
    scopes_supported: SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Perennial',
    resource_documentation: `${publicUrl}/docs`,
  }
  answerJson(ctx, body, 200, CACHE)
}

/** RFC 8414. */
export async function authorizationServer({ publicUrl, oauthRegistration }: OAuthDeps, ctx: Context): Promise<void> {
  const body = {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    ...(oauthRegistration && { registration_endpoint: `${publicUrl}/oauth/register` }),
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    scopes_supported: SCOPES,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
  answerJson(ctx, body, 200, CACHE)
}
