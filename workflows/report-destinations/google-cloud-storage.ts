import { classifyResponse, isFinalStatus, notSent } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import { vendorUrl } from '../destinations/vendor-request.ts'
import { runEffect } from '../engine/attempt.ts'
import { type GoogleTokens, requestWithToken, serviceAccount } from '../outgoing/google-token.ts'
import type { Outgoing, OutgoingRequest, OutgoingResponse } from '../outgoing/outgoing.ts'
import { excerpt } from '../outgoing/response.ts'
import { manifestNameOf, objectOf, testObject } from './object-name.ts'
import type { ReportDelivery, ReportDestination, ReportScope } from './report-destination.ts'
import { readWholeFile, slicesOf, uploadLimitMs } from './report-file.ts'

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'
/** A multiple of 256 KiB, as Google requires; one slice is in memory. */
const SLICE_BYTES = 8 * 1024 * 1024
/** Time for one slice over a slow connection. */
const SLICE_MS = 60_000
/** Google's status for an upload in slices that is to continue. */
const RESUME_INCOMPLETE = 308

type Send = (request: OutgoingRequest) => Promise<OutgoingResponse>
type Bucket = { send: Send; objects: string; uploads: string }
type StoredObject = ReturnType<typeof objectOf>

/** Classifies a response of the bucket; its reason is in `error.message`. */
const classifyBucketResponse = (response: OutgoingResponse): Sent =>
  classifyResponse(response, (status, body) => {
    const { message } = (body.error ?? {}) as { message?: unknown }
    if (status < 400 || typeof message !== 'string') return null
    return { outcome: isFinalStatus(status) ? 'reject' : 'retry', error: excerpt(message) }
  })

const isDone = (response: OutgoingResponse) => response.is === 'response' && response.status >= 200 && response.status < 300
const isIncomplete = (response: OutgoingResponse) => response.is === 'response' && response.status === RESUME_INCOMPLETE

/** A refused key may be corrected: a 400 of the token's address must not count as a refused object. */
const asUnauthorized = (response: OutgoingResponse): OutgoingResponse =>
  response.is === 'response' && response.status < 500 ? { ...response, status: 401 } : response

/** Null where the key cannot be used. */
function bucketOf(outgoing: Outgoing, tokens: GoogleTokens, { settings, signal }: ReportScope): Bucket | null {
  const account = serviceAccount(settings.service_account_key)
  if (!account) return null
  const base = vendorUrl(settings, 'https://storage.googleapis.com', '')
  const objects = `/storage/v1/b/${encodeURIComponent(String(settings.bucket))}/o`
  return {
    async send(request) {
      const { hasToken, response } = await requestWithToken({ outgoing, tokens, account, scope: SCOPE, signal }, request)
      return hasToken ? response : asUnauthorized(response)
    },
    objects: `${base}${objects}`,
    uploads: `${base}/upload${objects}`,
  }
}

const put = ({ send, uploads }: Bucket, { name, contentType }: StoredObject, body: string | Uint8Array): Promise<OutgoingResponse> =>
  send({
    method: 'POST',
    url: `${uploads}?uploadType=media&name=${encodeURIComponent(name)}`,
    headers: { 'content-type': contentType },
    body,
    limitMs: SLICE_MS,
  })

/** Begins an upload in slices: its address, or the response without one. */
async function beginUpload(
  { send, uploads }: Bucket,
  { name, contentType }: StoredObject,
): Promise<{ session: string } | { response: OutgoingResponse }> {
  const url = `${uploads}?uploadType=resumable&name=${encodeURIComponent(name)}`
  const response = await send({ method: 'POST', url, headers: { 'x-upload-content-type': contentType, 'content-length': '0' } })
  const session = response.is === 'response' && isDone(response) ? response.headers?.location : undefined
  return typeof session === 'string' ? { session } : { response }
}

/** How many bytes of the object Google has stored; 0 where the response does not say. */
const storedBytes = (response: OutgoingResponse): number => {
  const range = response.is === 'response' ? response.headers?.range : undefined
  return typeof range === 'string' && /-\d+$/.test(range) ? Number(range.slice(range.lastIndexOf('-') + 1)) + 1 : 0
}

type Slice = { bytes: Uint8Array; from: number; total: number | null }

/** Sends one slice. Sends its rest again where Google has stored only a part, as long as each request makes progress. */
async function sendSlice(send: Send, session: string, { bytes, from, total }: Slice): Promise<OutgoingResponse> {
  for (let sent = 0; ; ) {
    const rest = bytes.subarray(sent)
    const span = rest.length > 0 ? `${from + sent}-${from + bytes.length - 1}` : '*'
    const headers = { 'content-range': `bytes ${span}/${total ?? '*'}`, 'content-length': String(rest.length) }
    const response = await send({ method: 'PUT', url: session, headers, body: rest, limitMs: SLICE_MS })
    if (!isIncomplete(response)) return response
    const stored = storedBytes(response) - from
    if (stored === bytes.length && total === null) return response
    if (stored <= sent || stored > bytes.length) return response
    sent = stored
  }
}

async function upload(bucket: Bucket, object: StoredObject, file: ReportDelivery['export']): Promise<OutgoingResponse> {
  let session: string | undefined
  let from = 0
  for await (const { slice, isLast } of slicesOf(readWholeFile(file), SLICE_BYTES)) {
    if (isLast && from === 0) return put(bucket, object, slice)
    if (session === undefined) {
      const begun = await beginUpload(bucket, object)
      if ('response' in begun) return begun.response
      session = begun.session
    }
    const end = from + slice.length
    const response = await sendSlice(bucket.send, session, { bytes: slice, from, total: isLast ? end : null })
    if (isLast) return response
    // Google took the slice for the whole object, or did not store it: the upload has failed either way.
    const isStored = isIncomplete(response) && storedBytes(response) === end
    if (!isStored) return isDone(response) ? { is: 'error', error: 'answer_unreadable', durationMs: response.durationMs } : response
    from = end
  }
  throw new Error('a file has a last slice')
}

type BucketRequest = (bucket: Bucket) => Promise<OutgoingResponse>

/** `limitOf`: milliseconds for an upload of so many bytes. Each slice may make progress and the whole still take for ever. */
export const googleCloudStorage = (outgoing: Outgoing, tokens: GoogleTokens, limitOf = uploadLimitMs): ReportDestination => {
  /** Both requests of an attempt. The second one follows only a successful first one. */
  async function attempt(scope: ReportScope, bytes: number, first: BucketRequest, second: BucketRequest): Promise<Sent> {
    const ran = await runEffect(limitOf({ bytes }), [scope.signal], async end => {
      const bucket = bucketOf(outgoing, tokens, { ...scope, signal: end })
      if (!bucket) return notSent('retry', 'service_account_key_invalid')
      const response = await first(bucket)
      return classifyBucketResponse(isDone(response) ? await second(bucket) : response)
    })
    if (ran.is === 'done') return { ...ran.result, durationMs: ran.durationMs }
    scope.signal.throwIfAborted()
    if (!ran.isOvertime) throw ran.error
    return { ...notSent('retry', 'timeout'), durationMs: ran.durationMs }
  }
  return {
    deliver(delivery, scope) {
      const object = objectOf(delivery, scope.settings.prefix)
      const manifest = { name: manifestNameOf(object.name), contentType: 'application/json' } as const
      return attempt(
        scope,
        delivery.export.bytes,
        bucket => upload(bucket, object, delivery.export),
        bucket => put(bucket, manifest, JSON.stringify(delivery.export.manifest)),
      )
    },
    test(scope) {
      const { name, content } = testObject(scope.settings.prefix)
      return attempt(
        scope,
        content.length,
        bucket => put(bucket, { name, contentType: 'text/plain' }, content),
        ({ send, objects }) => send({ method: 'DELETE', url: `${objects}/${encodeURIComponent(name)}` }),
      )
    },
  }
}
