import type * as OpenId from 'openid-client'
import type { Away, NotConfirmed, ProvidedPerson, ProviderTrip, SignInProvider } from '../../domain/operators/provider.ts'
import { FetchFailed, outgoingFetch } from './fetch.ts'
import type { Outgoing } from './outgoing.ts'

export type OpenIdOptions = {
  issuer: string
  clientId: string
  /** Absent: a public client, which has PKCE alone. */
  clientSecret: string | undefined
  /** How the secret is sent. */
  clientAuth: 'basic' | 'post'
  name: string
  isRequired: boolean
}

const LIMIT_SECONDS = 10
/** Some providers have keys for years in one document. */
const ANSWER_BYTES = 256 * 1024
/** The provider's own description is read again after so long. */
const KEPT_MS = 60 * 60_000
/** By how much the clocks of service and provider may differ. */
const CLOCK_SECONDS = 60
/** Our own sessions last as long. A provider that is asked for this must say when the person has signed in. */
const LONGEST_SIGN_IN_SECONDS = 7 * 24 * 3600
const MOST_OF_SUBJECT = 255
/** The longest e-mail address that SMTP transmits. */
const MOST_OF_EMAIL = 254
/** In the year 2096: what is later is no time in seconds. */
const LATEST_SECONDS = 4_000_000_000
const MOST_OF_WHY = 500

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Plain http does not prove who answers, neither for the keys of the provider nor for an e-mail address: it stays within this host. */
export const isProvidersAddress = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))

type Known = { library: typeof OpenId; configuration: OpenId.Configuration; until: number }

/**
 * A provider that speaks OpenID Connect: authorization code with PKCE. The library checks state, nonce, issuer, audience, signature and times of the
 * ID token. `outgoing` may reach private addresses: whoever runs the installation has chosen the provider.
 */
export function openIdProvider(options: OpenIdOptions, outgoing: Outgoing): SignInProvider {
  let known: Promise<Known> | null = null

  const discover = async (): Promise<Known> => {
    const library = await import('openid-client')
    const fetchAny = outgoingFetch(outgoing, { answerBytes: ANSWER_BYTES, limitMs: LIMIT_SECONDS * 1000 })
    const fetch: OpenId.CustomFetch = async (url, init) => {
      if (!isProvidersAddress(new URL(url))) throw new FetchFailed('address_refused')
      return fetchAny(url, init as RequestInit)
    }
    const { clientId, clientSecret, clientAuth } = options
    const send = clientAuth === 'post' ? library.ClientSecretPost : library.ClientSecretBasic
    const issuer = new URL(options.issuer)
    const configuration = await library.discovery(
      issuer,
      clientId,
      { [library.clockTolerance]: CLOCK_SECONDS },
      clientSecret === undefined ? library.None() : send(clientSecret),
      {
        [library.customFetch]: fetch,
        timeout: LIMIT_SECONDS,
        execute: [
          // Without this the library does not look at the signature of the ID token.
          library.enableNonRepudiationChecks,
          // With https all addresses that the provider names must be https as well.
          ...(issuer.protocol === 'http:' ? [library.allowInsecureRequests] : []),
        ],
      },
    )
    // The library takes two notations of one address for the same, and for some providers a pattern: the links would have another name.
    const named = configuration.serverMetadata().issuer
    if (named !== options.issuer) throw new Error(`the provider calls itself ${named}: OIDC_ISSUER must be exactly that`)
    return { library, configuration, until: performance.now() + KEPT_MS }
  }

  /** One request for all who wait. */
  const knownProvider = async (): Promise<Known> => {
    known ??= discover()
    const mine = known
    const found = await mine.catch(error => {
      forget(mine)
      throw error
    })
    if (found.until > performance.now()) return found
    forget(mine)
    return knownProvider()
  }
  const forget = (what: Promise<Known>) => {
    if (known === what) known = null
  }

  return {
    issuer: options.issuer,
    name: options.name,
    isRequired: options.isRequired,
    async begin({ redirectUri, state, nonce, verifier, provedSince }) {
      try {
        const { library, configuration } = await knownProvider()
        const url = library.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: 'openid email',
          state,
          nonce,
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(provedSince === null ? { max_age: String(LONGEST_SIGN_IN_SECONDS) } : { max_age: '0', prompt: 'login' }),
        })
        return { is: 'begun', url: url.href }
      } catch (error) {
        known = null
        return away(error)
      }
    },
    async finish(query, trip) {
      try {
        const person = await personOf(await knownProvider(), query, trip)
        const { authenticatedAt: at } = person
        const since = trip.provedSince ?? Date.now() / 1000 - LONGEST_SIGN_IN_SECONDS
        // Some providers never say when: then a sign-in counts, and nothing that must be recent.
        if (at === null ? trip.provedSince !== null : at < since - CLOCK_SECONDS)
          return refused(`auth_time is ${at}: the provider has not asked the person again`)
        return { is: 'person', person }
      } catch (error) {
        if (!isAway(error)) return refused(whyOf(error), isCodeWrong(error))
        // Its addresses may be other ones by now.
        known = null
        return away(error)
      }
    },
  }
}

async function personOf(
  { library, configuration }: Known,
  query: string,
  { redirectUri, state, nonce, verifier }: ProviderTrip,
): Promise<ProvidedPerson> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
  const tokens = await library.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), checks)
  const claims = tokens.claims()!
  const { iss: issuer, sub: subject, auth_time: authenticatedAt } = claims
  if (!isStorable(subject, MOST_OF_SUBJECT)) throw new Error('the subject is no name')
  // Many providers have the address in the answer of their userinfo endpoint alone.
  const isElsewhere = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
  const { email, email_verified: isVerified } = isElsewhere
    ? await library.fetchUserInfo(configuration, tokens.access_token, subject)
    : claims
  return {
    issuer,
    subject,
    email: isStorable(email, MOST_OF_EMAIL) ? email : null,
    isEmailVerified: isVerified === true,
    authenticatedAt: isSeconds(authenticatedAt) ? authenticatedAt : null,
  }
}

/** Postgres takes no NUL and no half of a surrogate pair. */
const isStorable = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most && !/\p{C}/u.test(value)

const isSeconds = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LATEST_SECONDS

function* causesOf(error: unknown): Generator<Error & { code?: unknown; status?: unknown; error?: unknown; error_description?: unknown }> {
  for (let one = error; one instanceof Error; one = one.cause) yield one
}

/** The provider fails, or refuses the service and not the person. */
const isOfService = (status: unknown) => typeof status === 'number' && (status >= 500 || [401, 404, 429].includes(status))
const OF_SERVICE = new Set(['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable'])
const OF_TIME = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT'])

function isAway(error: unknown): boolean {
  for (const one of causesOf(error)) {
    if (one instanceof FetchFailed || OF_TIME.has(String(one.code)) || OF_SERVICE.has(String(one.error))) return true
    if (isOfService(one.status) || (one.cause instanceof Response && isOfService(one.cause.status))) return true
  }
  return false
}

/** Messages and codes, without the answers that they speak of: those may have tokens. */
function whyOf(error: unknown): string {
  const said = [...causesOf(error)].map(one => [one.message, one.code, one.error, one.error_description].filter(Boolean).join(' '))
  return said.join(': ').slice(0, MOST_OF_WHY) || String(error).slice(0, MOST_OF_WHY)
}

const isCodeWrong = (error: unknown): boolean => [...causesOf(error)].some(one => one.error === 'invalid_grant')

const refused = (why: string, isWrong = false): NotConfirmed => ({ is: 'refused', why, isCodeWrong: isWrong })
const away = (error: unknown): Away => ({ is: 'away', why: whyOf(error) })
