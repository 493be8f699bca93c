import { registerClient } from '../../domain/operators/grants/clients.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../sign-in/session.ts'
import { answerJson, OAuthProblem, readJson } from './answer.ts'
import type { OAuthDeps } from './deps.ts'
import { isRedirectUri } from './redirect-uri.ts'
import { registrationLimit } from './registration-limit.ts'

const MOST_URIS = 10
const MOST_OF_NAME = 100
const GRANT_TYPES = ['authorization_code', 'refresh_token']
const RESPONSE_TYPES = ['code']

const refuse = (description: string): never => {
  throw new OAuthProblem('invalid_client_metadata', description)
}

/** Name and redirect URIs of a client, as it says them in a registration or in a document of its own. Throws `OAuthProblem`. */
export function checkedClient(given: Record<string, unknown>): { name: string; redirectUris: string[] } {
  const { client_name: name, redirect_uris: uris, token_endpoint_auth_method: method = 'none' } = given
  if (typeof name !== 'string' || name.trim() === '' || [...name].length > MOST_OF_NAME || /\p{C}/u.test(name))
    return refuse(`client_name must have 1 to ${MOST_OF_NAME} characters, all of them printable`)
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MOST_URIS || !uris.every(isRedirectUri))
    throw new OAuthProblem(
      'invalid_redirect_uri',
      `redirect_uris must be 1 to ${MOST_URIS} addresses without a fragment: https, http on this machine, or a private scheme with a dot`,
    )
  if (method !== 'none') return refuse('token_endpoint_auth_method must be "none": clients have no secret')
  return { name, redirectUris: uris }
}

/** A list of which one at least is known here. Clients name more than they use. */
function known(given: unknown, name: string, here: readonly string[]): string[] {
  if (given === undefined) return [...here]
  if (!Array.isArray(given)) return refuse(`${name} must be a list`)
  const kept = here.filter(one => given.includes(one))
  return kept.includes(here[0]!) ? kept : refuse(`${name} must have "${here[0]}"`)
}

/** RFC 7591. Open to everybody: a client by itself opens nothing. */
export function registration(): (deps: OAuthDeps, ctx: Context) => Promise<void> {
  const take = registrationLimit()
  return async (deps, ctx) => {
    if (!deps.oauthRegistration) throw new OAuthProblem('invalid_request', 'clients do not register themselves here', { status: 404 })
    take(callerOf(ctx).network)
    const given = await readJson(ctx)
    const { name, redirectUris } = checkedClient(given)
    const grantTypes = known(given.grant_types, 'grant_types', GRANT_TYPES)
    const responseTypes = known(given.response_types, 'response_types', RESPONSE_TYPES)
    const { scope } = given
    if (scope !== undefined && (typeof scope !== 'string' || scope.length > 4_000)) refuse('scope must be a text')
    const { id, createdAt } = await registerClient(deps.pool, name, redirectUris)
    const body = {
      client_id: id,
      client_id_issued_at: Math.floor(Date.parse(createdAt) / 1000),
      client_name: name,
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: grantTypes,
      response_types: responseTypes,
      ...(scope !== undefined && { scope }),
    }
    answerJson(ctx, body, 201)
  }
}
