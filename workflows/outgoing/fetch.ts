import type { Outgoing, OutgoingRequest } from './outgoing.ts'

/** No usable response arrived. `code`: as `error` of `OutgoingResponse`, or `answer_too_large`. */
export class FetchFailed extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

const METHODS: Record<string, OutgoingRequest['method']> = { POST: 'POST', PUT: 'PUT', GET: 'GET', DELETE: 'DELETE' }
/** Statuses of responses that have no body, and for which `Response` accepts none. */
const WITHOUT_BODY = new Set([204, 205, 304])
/** These headers describe the body as it was transmitted, and not the text that is handed on. */
const OF_TRANSMISSION = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive'])

/**
 * A `fetch` for the clients of vendors, over `Outgoing`: guarded addresses, no redirects (a 3xx is the response), bounded response and time.
 * The response is complete when the promise resolves. Rejects with `FetchFailed`, or with the signal's reason.
 */
export const outgoingFetch =
  (outgoing: Outgoing, limits: Pick<OutgoingRequest, 'answerBytes' | 'limitMs'> = {}): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    const method = METHODS[request.method]
    if (method === undefined) throw new FetchFailed('request_invalid')
    const signal = init?.signal ?? (input instanceof Request ? input.signal : null)
    const answer = await outgoing.request({
      method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      ...(request.body && { body: new Uint8Array(await request.arrayBuffer()) }),
      ...(signal && { signal }),
      ...limits,
    })
    if (answer.is === 'error') throw new FetchFailed(answer.error)
    // Half of a document must not be taken for the whole one.
    if (answer.isCut) throw new FetchFailed('answer_too_large')
    const { status } = answer
    if (status < 200 || status > 599) throw new FetchFailed('answer_unreadable')
    return new Response(WITHOUT_BODY.has(status) ? null : answer.text, { status, headers: headersOf(answer.headers ?? {}) })
  }

function headersOf(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given))
    if (!OF_TRANSMISSION.has(name)) for (const one of [value ?? []].flat()) headers.append(name, one)
  return headers
}
