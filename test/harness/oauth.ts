import { createHash, randomBytes } from 'node:crypto'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import { SCOPES } from '../../schemas/generated/operations.ts'
import type { TestApi, TestProjectKeys } from './api.ts'
import { newOperator, type Visitor, visitor } from './operators.ts'

export const REDIRECT = 'http://127.0.0.1:4567/callback'

export const pkce = (verifier = randomBytes(32).toString('base64url')) => ({
  verifier,
  challenge: createHash('sha256').update(verifier).digest('base64url'),
})

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export type OAuthAnswer = { status: number; headers: Headers; body: any }

export async function register(url: string, body: object = { client_name: 'Assistant', redirect_uris: [REDIRECT] }): Promise<OAuthAnswer> {
  const answer = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

export async function post(url: string, path: string, fields: Record<string, string>): Promise<OAuthAnswer> {
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

export const authorizePath = (clientId: string, challenge: string, more: Record<string, string> = {}) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'state of the client',
    ...more,
  })}`

/** An operator with a role in the project, signed in in a browser. */
export async function signedInOperator(api: TestApi, project: TestProjectKeys, role = 'admin') {
  const operator = await newOperator(api)
  await api.pool.query('insert into operator_roles (operator, project, role) values ($1, $2, $3)', [operator.id, project.id, role])
  const browser = visitor(api.url)
  await browser.signIn(operator.email)
  return { operator, browser }
}

/** The boxes of the page that can be ticked. */
const boxes = (text: string) => [...text.matchAll(/name="scope" value="([^"]+)"(?! disabled)/g)].map(([, scope]) => scope!)

/** Opens the consent page, ticks everything and presses a button of it. Returns the parameters of the redirect. */
export async function consent(browser: Visitor, path: string, { environment = 'production', decision = 'allow', tools = 'all' } = {}) {
  const page = await browser.open(path)
  const project = /name="project" value="(\d+)"/.exec(page.text)![1]!
  const answer = await browser.sendAll(path, [
    ['project', project],
    ['environment', environment],
    ['decision', decision],
    ['tools', tools],
    ...boxes(page.text).map(scope => ['scope', scope] as [string, string]),
  ])
  return { page, answer, query: new URL(answer.location ?? 'http://none').searchParams }
}

/** The request with which a client takes what was allowed. `query`: of the redirect. */
export const takeOf = (query: URLSearchParams, clientId: string, verifier: string) => ({
  grant_type: 'authorization_code',
  code: query.get('code')!,
  client_id: clientId,
  redirect_uri: REDIRECT,
  code_verifier: verifier,
})

/** Keeps in memory what a client keeps on disk, for the official clients of both packages. */
export function clientMemory(redirectUrl = REDIRECT) {
  // biome-ignore lint/suspicious/noExplicitAny: values of every shape
  const kept: Record<string, any> = {}
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Official client',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'state of the client',
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => Object.assign(kept, { client: client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => Object.assign(kept, { tokens: tokens }),
    redirectToAuthorization: (url: URL) => Object.assign(kept, { url: url }),
    saveCodeVerifier: (verifier: string) => Object.assign(kept, { verifier: verifier }),
    codeVerifier: () => kept.verifier,
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state: unknown) => Object.assign(kept, { discovery: state }),
  } as unknown as OAuthClientProvider
  return { kept, provider }
}

/** A client with tokens, as it gets them from an operator. */
export async function connectedClient(api: TestApi, project = api.project, role = 'admin') {
  const { operator, browser } = await signedInOperator(api, project, role)
  const clientId = (await register(api.url)).body.client_id as string
  const { verifier, challenge } = pkce()
  const { query } = await consent(browser, authorizePath(clientId, challenge, { scope: SCOPES.join(' ') }))
  const take = takeOf(query, clientId, verifier)
  const answer = await post(api.url, '/oauth/token', take)
  return { operator, browser, clientId, take, answer, tokens: answer.body }
}
