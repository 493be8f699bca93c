import { classified } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import { nothingSent } from '../destinations/nothing-sent.ts'
import { type GoogleTokens, serviceAccount } from '../outgoing/google-token.ts'
import { keptText } from '../outgoing/kept.ts'
import type { Answer, Outgoing, Request } from '../outgoing/request.ts'
import { inSlices } from './in-slices.ts'
import { manifestOf, objectOf, testObject } from './object-name.ts'
import type { ReportDelivery, ReportDestination, ReportScope } from './report-destination.ts'
import { wholeFile } from './whole-file.ts'

const GOOGLE = 'https://storage.googleapis.com'
const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'
/** A multiple of 256 KiB, as Google asks; one is in memory. */
const SLICE_BYTES = 8 * 1024 * 1024
/** For a slice over a thin line. */
const SLICE_MS = 60_000
/** Google's word for "go on" with an upload in slices. */
const RESUME_INCOMPLETE = 308

type Asking = (request: Request) => Promise<Answer>
type Place = { ask: Asking; objects: string; uploads: string }

/** What a bucket's answer comes to; what there is to say stands in `error.message`. */
const judgedByGoogle = (answer: Answer): Sent =>
  classified(answer, (status, body) => {
    const { message } = (body.error ?? {}) as { message?: unknown }
    const isFinal = status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
    return status >= 400 && typeof message === 'string' ? { outcome: isFinal ? 'reject' : 'retry', error: keptText(message) } : null
  })

const isDone = (answer: Answer) => answer.is === 'answer' && answer.status >= 200 && answer.status < 300

/** Requests with a token; one more with a new token where Google no longer knows it. */
function asking(outgoing: Outgoing, tokens: GoogleTokens, { settings, signal }: ReportScope): Asking | null {
  const account = serviceAccount(settings.service_account_key)
  if (!account) return null
  return async request => {
    for (let isFirst = true; ; isFirst = false) {
      const got = await tokens.tokenFor(account, SCOPE, signal)
      if (got.is === 'none') return asUnauthorized(got.answer)
      const headers = { ...request.headers, authorization: `Bearer ${got.token}` }
      const answer = await outgoing.request({ ...request, headers, signal })
      if (!(answer.is === 'answer' && answer.status === 401)) return answer
      tokens.forget(got.token)
      if (!isFirst) return answer
    }
  }
}

/** A key that is refused may be mended: the 400 that says so must not pass for a bad object. */
const asUnauthorized = (answer: Answer): Answer => (answer.is === 'answer' && answer.status < 500 ? { ...answer, status: 401 } : answer)

const put = ({ ask, uploads }: Place, name: string, contentType: string, body: string | Uint8Array): Promise<Answer> =>
  ask({
    method: 'POST',
    url: `${uploads}?uploadType=media&name=${encodeURIComponent(name)}`,
    headers: { 'content-type': contentType },
    body,
    limitMs: SLICE_MS,
  })

/** Starts an upload in slices; its address, or the answer that brought none. */
async function begin({ ask, uploads }: Place, name: string, contentType: string): Promise<{ session: string } | { answer: Answer }> {
  const url = `${uploads}?uploadType=resumable&name=${encodeURIComponent(name)}`
  const answer = await ask({ method: 'POST', url, headers: { 'x-upload-content-type': contentType, 'content-length': '0' } })
  const session = answer.is === 'answer' && isDone(answer) ? answer.headers?.location : undefined
  return typeof session === 'string' ? { session } : { answer }
}

/** How many bytes of the object Google has kept; 0 where it says nothing. */
const keptBytes = (answer: Answer): number => {
  const range = answer.is === 'answer' ? answer.headers?.range : undefined
  return typeof range === 'string' && /-\d+$/.test(range) ? Number(range.slice(range.lastIndexOf('-') + 1)) + 1 : 0
}

/** Sends one slice; again from where Google lost it, as long as it gets further. */
async function sendSlice(ask: Asking, session: string, slice: Uint8Array, from: number, total: number | null): Promise<Answer> {
  for (let sent = 0; ; ) {
    const rest = slice.subarray(sent)
    const span = rest.length > 0 ? `${from + sent}-${from + slice.length - 1}` : '*'
    const headers = { 'content-range': `bytes ${span}/${total ?? '*'}`, 'content-length': String(rest.length) }
    const answer = await ask({ method: 'PUT', url: session, headers, body: rest, limitMs: SLICE_MS })
    if (!(answer.is === 'answer' && answer.status === RESUME_INCOMPLETE)) return answer
    const kept = keptBytes(answer) - from
    if (kept === slice.length && total === null) return answer
    if (kept <= sent || kept > slice.length) return answer
    sent = kept
  }
}

async function upload(place: Place, name: string, contentType: string, file: ReportDelivery['export']): Promise<Answer> {
  let session: string | undefined
  let from = 0
  for await (const { slice, isLast } of inSlices(wholeFile(file), SLICE_BYTES)) {
    if (isLast && from === 0) return put(place, name, contentType, slice)
    if (session === undefined) {
      const begun = await begin(place, name, contentType)
      if ('answer' in begun) return begun.answer
      session = begun.session
    }
    const answer = await sendSlice(place.ask, session, slice, from, isLast ? from + slice.length : null)
    const isKept = answer.is === 'answer' && answer.status === RESUME_INCOMPLETE && keptBytes(answer) === from + slice.length
    if (isLast) return answer
    // Taken as the whole of it, or unread: either way not what was to be done.
    if (!isKept) return isDone(answer) ? { is: 'error', error: 'answer_unreadable', durationMs: answer.durationMs } : answer
    from += slice.length
  }
  throw new Error('a file has a last slice')
}

function placeIn(outgoing: Outgoing, tokens: GoogleTokens, scope: ReportScope): Place | null {
  const ask = asking(outgoing, tokens, scope)
  const { base_url, bucket } = scope.settings
  const base = typeof base_url === 'string' && base_url !== '' ? base_url.replace(/\/+$/, '') : GOOGLE
  const objects = `/storage/v1/b/${encodeURIComponent(String(bucket))}/o`
  return ask && { ask, objects: `${base}${objects}`, uploads: `${base}/upload${objects}` }
}

export const googleCloudStorage = (outgoing: Outgoing, tokens: GoogleTokens): ReportDestination => {
  /** Both requests of an attempt, the second one when the first one was taken. */
  async function attempt(
    scope: ReportScope,
    first: (place: Place) => Promise<Answer>,
    second: (place: Place) => Promise<Answer>,
  ): Promise<Sent> {
    const place = placeIn(outgoing, tokens, scope)
    if (!place) return nothingSent('retry', 'service_account_key_invalid')
    const began = performance.now()
    const one = await first(place)
    const answer = isDone(one) ? await second(place) : one
    return { ...judgedByGoogle(answer), durationMs: Math.round(performance.now() - began) }
  }
  return {
    deliver(delivery, scope) {
      const { name, contentType } = objectOf(delivery, scope.settings.prefix)
      return attempt(
        scope,
        place => upload(place, name, contentType, delivery.export),
        place => put(place, manifestOf(name), 'application/json', JSON.stringify(delivery.export.manifest)),
      )
    },
    test(scope) {
      const { name, content } = testObject(scope.settings.prefix)
      return attempt(
        scope,
        place => put(place, name, 'text/plain', content),
        ({ ask, objects }) => ask({ method: 'DELETE', url: `${objects}/${encodeURIComponent(name)}` }),
      )
    },
  }
}
