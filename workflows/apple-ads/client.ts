import { createHash } from 'node:crypto'
import type { Outgoing, OutgoingResponse } from '../outgoing/outgoing.ts'
import { type AppleAdsCredentials, clientSecret } from './credentials.ts'

/**
 * The answer of Apple to one request. `credentials`: Apple gives no token for them. `permission`: they do not open this. `refused`: Apple
 * does not accept the request. `unknown`: no answer arrived, or Apple failed: a change may have happened.
 */
export type AdsAnswer =
  | { is: 'data'; data: unknown; total: number | null }
  | { is: 'credentials' | 'permission' | 'absent' | 'refused'; why: string }
  | { is: 'unknown'; why: string; isTimeout: boolean; afterSeconds: number | null; wasSent: boolean }

export type AppleRequest = { method: 'GET' | 'POST' | 'PUT'; path: string; org?: string; body?: unknown; signal?: AbortSignal }

/** Apple's Campaign Management API, version 5. Never throws for what Apple does. */
export type AppleAds = { request(credentials: AppleAdsCredentials, request: AppleRequest): Promise<AdsAnswer> }

export type AppleAdsUrls = { api: string; id: string }

/** A page of a report has a thousand rows with thirty days each. */
const ANSWER_BYTES = 32 * 1024 * 1024
const LIMIT_MS = 15_000
const MARGIN_MS = 60_000
const MOST_CACHED = 1000

type Token = { is: 'token'; token: string } | Exclude<AdsAnswer, { is: 'data' }>

export function appleAds({ outgoing, urls, now = Date.now }: { outgoing: Outgoing; urls: AppleAdsUrls; now?: () => number }): AppleAds {
  const cached = new Map<string, { token: string; until: number }>()

  async function tokenFor(credentials: AppleAdsCredentials, name: string, signal: AbortSignal | undefined): Promise<Token> {
    const known = cached.get(name)
    if (known && known.until > now()) return { is: 'token', token: known.token }
    cached.delete(name)
    const secret = clientSecret(credentials, now())
    if (secret === null) return { is: 'credentials', why: 'private_key is no private key of the curve P-256 in PEM' }
    const response = await outgoing.request({
      method: 'POST',
      url: `${credentials.baseUrl ?? urls.id}/auth/oauth2/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: credentials.clientId,
        client_secret: secret,
        scope: 'searchadsorg',
      }).toString(),
      limitMs: LIMIT_MS,
      ...(signal && { signal }),
    })
    const got = response.is === 'response' && response.status === 200 ? tokenIn(response.text) : null
    if (got) {
      cached.set(name, { token: got.token, until: now() + got.seconds * 1000 - MARGIN_MS })
      if (cached.size > MOST_CACHED) cached.delete(cached.keys().next().value!)
      return { is: 'token', token: got.token }
    }
    if (response.is === 'response' && [400, 401, 403].includes(response.status))
      return { is: 'credentials', why: `Apple gives no token for these credentials (${errorIn(response.text) ?? response.status})` }
    return failure(response, false)
  }

  return {
    async request(credentials, { method, path, org, body, signal }) {
      const name = createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
      for (let isFirst = true; ; isFirst = false) {
        const got = await tokenFor(credentials, name, signal)
        if (got.is !== 'token') return got
        const response = await outgoing.request({
          method,
          url: `${credentials.baseUrl ?? urls.api}/api/v5${path}`,
          headers: {
            authorization: `Bearer ${got.token}`,
            accept: 'application/json',
            ...(org !== undefined && { 'x-ap-context': `orgId=${org}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          limitMs: LIMIT_MS,
          answerBytes: ANSWER_BYTES,
          ...(signal && { signal }),
        })
        const answer = read(response)
        // A token may have been withdrawn before its end.
        if (answer.is === 'credentials') {
          cached.delete(name)
          if (isFirst) continue
        }
        return answer
      }
    },
  }
}

function read(response: OutgoingResponse): AdsAnswer {
  if (response.is === 'error' || response.isCut) return failure(response, true)
  const why = errorIn(response.text) ?? `status ${response.status}`
  switch (response.status) {
    case 200: {
      const body = parsed(response.text)
      // Apple may also fail with this status: neither that there is nothing nor that a change was made.
      if (!body || !('data' in body) || (body.error !== null && body.error !== undefined))
        return unexpected(body ? (errorIn(response.text) ?? 'no data') : 'no JSON')
      const total = (body.pagination as { totalResults?: unknown } | null | undefined)?.totalResults
      return { is: 'data', data: body.data, total: typeof total === 'number' ? total : null }
    }
    case 401:
      return { is: 'credentials', why }
    case 403:
      return { is: 'permission', why }
    case 404:
      return { is: 'absent', why }
    default:
      return response.status >= 400 && response.status < 500 && response.status !== 408 && response.status !== 429
        ? { is: 'refused', why }
        : failure(response, true)
  }
}

/** A success whose content is none. Whether Apple has done what it was asked is unknown. */
export const unexpected = (why: string): Extract<AdsAnswer, { is: 'unknown' }> => ({
  is: 'unknown',
  why: `Apple answered 200: ${why}`,
  isTimeout: false,
  afterSeconds: null,
  wasSent: true,
})

/** A 429 was not carried out, everything else may have been. */
function failure(response: OutgoingResponse, wasAsked: boolean): Extract<AdsAnswer, { is: 'unknown' }> {
  if (response.is === 'error')
    return { is: 'unknown', why: response.error, isTimeout: response.error === 'timeout', afterSeconds: null, wasSent: wasAsked }
  return {
    is: 'unknown',
    why: `Apple answered ${response.status}`,
    isTimeout: false,
    afterSeconds: response.retryAfterSeconds,
    wasSent: wasAsked && response.status !== 429,
  }
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}

/** The words of Apple about a failure, for people. */
function errorIn(text: string): string | null {
  const body = parsed(text)
  const error = body?.error
  if (typeof error === 'string') return error.slice(0, 300)
  const errors = (error as { errors?: unknown } | null | undefined)?.errors
  const message = Array.isArray(errors) ? errors[0]?.message : undefined
  return typeof message === 'string' ? message.slice(0, 300) : null
}

function tokenIn(text: string): { token: string; seconds: number } | null {
  const body = parsed(text)
  const token = body?.access_token
  return typeof token === 'string' && token !== '' ? { token, seconds: Number(body?.expires_in) || 0 } : null
}
