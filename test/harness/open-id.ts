import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { OpenIdOptions } from '../../workflows/outgoing/open-id.ts'
import type { Seen, Visitor } from './operators.ts'

const CLIENT_ID = 'perennial'
const CLIENT_SECRET = 'a secret of the provider, for tests'
export const CALLBACK = '/sign-in/oidc/callback'

/** What the provider says of a person, by subject. */
type Claims = { email?: string; email_verified?: boolean }

/** A provider of single sign-on in this process, on a port of its own. */
export type TestOpenId = {
  issuer: string
  options: OpenIdOptions
  people: Map<string, Claims>
  /** Answers 503 to everything. */
  isDown: boolean
  /** Publishes another key than the one with which it signs. */
  isForged: boolean
  /** The paths of the requests so far. */
  asked: string[]
  /** Where people come back to: the provider serves from now on. */
  serve(serviceUrl: string): void
  stop(): Promise<void>
}

export async function startOpenId(): Promise<TestOpenId> {
  let serve: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, given.issuer)
    given.asked.push(pathname)
    if (given.isForged && pathname === '/jwks') return void response.setHeader('Content-Type', 'application/json').end(otherKeys())
    if (serve && !given.isDown) return void serve(request, response)
    response.writeHead(503).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const given: TestOpenId = {
    issuer,
    options: { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, clientAuth: 'basic', name: 'Example ID', isRequired: false },
    people: new Map(),
    isDown: false,
    isForged: false,
    asked: [],
    serve(serviceUrl) {
      const provider = providerFor(issuer, serviceUrl, given.people)
      const rest = provider.callback()
      serve = (request, response) =>
        request.url!.startsWith('/interaction/') ? signIn(provider, request, response) : rest(request, response)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return given
}

/** Whoever the browser says that it is signs in, without a page; `X-Ago`: so many seconds ago. */
async function signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [subject, ago] = [String(request.headers['x-person'] ?? ''), Number(request.headers['x-ago'] ?? 0)]
  const login = { accountId: subject, ts: Math.floor(Date.now() / 1000) - ago }
  const result = subject === '' ? { error: 'access_denied', error_description: 'nobody is here' } : { login }
  await provider.interactionFinished(request, response, result)
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const SECRET_KEY = newKey().export({ format: 'jwk' })
const otherKeys = () =>
  JSON.stringify({ keys: [{ ...createPublicKey(newKey()).export({ format: 'jwk' }), use: 'sig', kid: 'one', alg: 'RS256' }] })

function providerFor(issuer: string, serviceUrl: string, people: Map<string, Claims>): Provider {
  return new Provider(issuer, {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [`${serviceUrl}${CALLBACK}`] }],
    jwks: { keys: [{ ...SECRET_KEY, use: 'sig', kid: 'one' }] },
    cookies: { keys: ['of the tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...people.get(subject) }) }),
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  })
}

/** The part of a browser that is at the provider: who it is, and since how many seconds. An empty `person` refuses to sign in. */
export type AtProvider = { person: string; ago?: number; cookies?: Map<string, string> }

/** Follows redirects until one leads back to the service. Returns the path there. */
async function atProvider(url: string, { person, ago = 0, cookies = new Map() }: AtProvider): Promise<string> {
  const issuer = new URL(url).origin
  for (let next = url; ; ) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { 'X-Person': person, 'X-Ago': String(ago), ...(cookie && { Cookie: cookie }) }
    const answer = await fetch(next, { headers, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`the provider has answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`)
    await answer.body?.cancel()
    const found = new URL(location, next)
    if (found.origin !== issuer) return found.pathname + found.search
    next = found.href
  }
}

/** A trip to the provider and back. `start`: query of the link; `tamper`: changes the address of the provider's page. */
export type TestTrip = AtProvider & { start?: string; tamper?: (url: URL) => void }

/** Opens the link for single sign-on, and signs in at the provider, or stays signed in there. Returns the path to which the provider leads back. */
export async function comingBack(browser: Visitor, { start = '', tamper, ...at }: TestTrip): Promise<string> {
  const begun = await browser.open(`/sign-in/oidc${start}`)
  if (begun.location === null) throw new Error(`no way to the provider: ${begun.status} ${begun.text}`)
  const url = new URL(begun.location)
  tamper?.(url)
  return atProvider(url.href, at)
}

/** The whole trip. Returns the answer when the browser is back. */
export const signInAt = async (browser: Visitor, trip: TestTrip): Promise<Seen> => browser.open(await comingBack(browser, trip))
