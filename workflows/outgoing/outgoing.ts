import type { Agent } from 'undici'
import { timeLimit } from '../../store/time-limit.ts'
import { isTracing, type OpenSpan, span, traceparent } from '../../store/tracing.ts'
import { AddressRefused, type Guard, guardedLookup, refuseLiteral } from './guard.ts'
import { networkErrorCode, readResponseBody, retryAfterSeconds } from './response.ts'

const LIMIT_MS = 10_000
const ANSWER_BYTES = 64 * 1024

/** One HTTP request to an external address. */
export type OutgoingRequest = {
  method: 'POST' | 'PUT' | 'GET' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Aborts with the lease or the process: `request` then throws the signal's reason, because the result of the attempt is unknown. */
  signal?: AbortSignal
  /** Time limit for the whole response; 10 s unless given. */
  limitMs?: number
  /** The most bytes that are read of the response's body; 64 KiB unless given. */
  answerBytes?: number
  /** Sends the trace under way in the header `traceparent`: to a customer's own server, and to nobody else. */
  isTraced?: boolean
}

/**
 * The result of a request. `error`: no response arrived; the code says why: `address_refused`, `timeout`, `connection_failed`, `tls_failed`,
 * `answer_unreadable`, `request_invalid` (a header that cannot be sent). `text`: the first `answerBytes` of the body; `isCut`: the body has that many or
 * more. `retryAfterSeconds` 1..86,400.
 */
export type OutgoingResponse =
  | {
      is: 'response'
      status: number
      retryAfterSeconds: number | null
      text: string
      isCut?: true
      durationMs: number
      /** Names in lower case. */
      headers?: Readonly<Record<string, string | string[] | undefined>>
    }
  | { is: 'error'; error: string; durationMs: number }

/** The only client for outgoing HTTP: guarded addresses, no redirects, bounded responses and time. Never throws for what the receiver does. */
export type Outgoing = {
  request(request: OutgoingRequest): Promise<OutgoingResponse>
  close(): Promise<void>
}

/** Opens the client; close it with the process. Allow private networks only where the operator trusts every user who may configure an address. */
export function outgoing(guard: Guard): Outgoing {
  // Loaded with the first request: it takes a quarter of the time in which the modules of a worker are loaded, and many processes send no
  // request.
  let opened: ReturnType<typeof open> | undefined
  const open = async () => {
    const undici = await import('undici')
    return { request: undici.request, agent: guardedAgent(undici, guard) }
  }
  async function send(options: OutgoingRequest): Promise<OutgoingResponse> {
    opened ??= open()
    const { request, agent } = await opened
    const started = performance.now()
    const durationMs = () => Math.round(performance.now() - started)
    options.signal?.throwIfAborted()
    const limit = timeLimit(options.limitMs ?? LIMIT_MS)
    const trace = options.isTraced ? traceparent() : null
    try {
      const response = await request(allowedUrl(options.url, guard), {
        dispatcher: agent,
        method: options.method,
        // Responses are not decompressed, so a small response cannot become a large one.
        headers: { ...options.headers, 'accept-encoding': 'identity', ...(trace !== null && { traceparent: trace }) },
        body: options.body ?? null,
        signal: options.signal ? AbortSignal.any([options.signal, limit.signal]) : limit.signal,
      })
      const { text, isCut } = await readResponseBody(response.body, options.answerBytes ?? ANSWER_BYTES)
      return {
        is: 'response',
        status: response.statusCode,
        retryAfterSeconds: retryAfterSeconds(response.headers['retry-after']),
        text,
        ...(isCut && { isCut }),
        durationMs: durationMs(),
        headers: response.headers,
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      return { is: 'error', error: limit.signal.aborted ? 'timeout' : networkErrorCode(error), durationMs: durationMs() }
    } finally {
      limit.end()
    }
  }
  return {
    request: options =>
      isTracing() ? span(options.method, {}, one => described(one, options, () => send(options)), 'client') : send(options),
    close: async () => (await opened)?.agent.destroy(),
  }
}

/** Host and status alone: path and query of an address may be secret. */
async function described(
  one: OpenSpan,
  { method, url }: OutgoingRequest,
  send: () => Promise<OutgoingResponse>,
): Promise<OutgoingResponse> {
  one.note({ 'http.request.method': method, 'server.address': URL.canParse(url) ? new URL(url).hostname : '' })
  const response = await send()
  if (response.is === 'error') one.failed(response.error)
  else {
    one.note({ 'http.response.status_code': response.status })
    if (response.status >= 400) one.failed(String(response.status))
  }
  return response
}

/**
 * Connects only to addresses that the guard allows. A request never waits for a connection: many tenants may call the same host, and a
 * request in a queue behind the hanging requests of others would use up its own time unsent. Callers limit their requests before the time of a
 * request begins: the capacity of the workers by project and destination, the turns of effects by environment.
 */
function guardedAgent({ Agent, buildConnector }: typeof import('undici'), guard: Guard): Agent {
  const connect = buildConnector({ lookup: guardedLookup(guard), timeout: LIMIT_MS, allowH2: false })
  return new Agent({
    connections: null,
    allowH2: false,
    connect(options, callback) {
      try {
        refuseLiteral(options.hostname, guard)
      } catch (error) {
        return callback(error as Error, null)
      }
      connect(options, callback)
    },
  })
}

/** Plain http shows secrets to every host on the way: it is allowed only within the operator's own network. */
function allowedUrl(text: string, { allowPrivateNetwork }: Guard): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && allowPrivateNetwork)) return url
  throw new AddressRefused('not an address that may be called')
}
