import { Readable } from 'node:stream'
import { AbortMultipartUploadCommand, DeleteObjectCommand, PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { byStatus } from '../destinations/classify-response.ts'
import type { Sent, Settings } from '../destinations/destination.ts'
import { failureOf } from '../outgoing/failure.ts'
import type { Guard } from '../outgoing/guard.ts'
import { keptText } from '../outgoing/kept.ts'
import { retryAfterSeconds } from '../outgoing/retry-after.ts'
import { manifestOf, objectOf, testObject } from './object-name.ts'
import type { ReportDelivery, ReportScope } from './report-destination.ts'
import { s3Client } from './s3-client.ts'
import { FileUnreadable, limitFor, wholeFile } from './whole-file.ts'

/** Two of them are in memory; ten thousand are as many as an object may have. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2
const MOST_PARTS = 9000
const TIDYING_MS = 3000

type Refused = Partial<Pick<Sent, 'httpStatus' | 'response' | 'retryAfterSeconds'>> & Pick<Sent, 'outcome' | 'error'>

function refused(error: unknown): Refused {
  if (!(error instanceof S3ServiceException) || !error.$metadata.httpStatusCode) {
    const { code, message } = error as { code?: string; message?: string }
    // The client calls every cut connection a time-out; the code knows better.
    return { outcome: 'retry', error: failureOf(code ? { code, message } : error) }
  }
  const { httpStatusCode: httpStatus } = error.$metadata
  const outcome = byStatus(httpStatus).outcome === 'reject' ? 'reject' : 'retry'
  const after = retryAfterSeconds(error.$response?.headers['retry-after'])
  return { outcome, httpStatus, error: error.name, response: keptText(error.message), retryAfterSeconds: after }
}

async function attempt(guard: Guard, limitMs: number, scope: ReportScope, work: (client: S3Client, end: AbortSignal) => Promise<void>) {
  const began = performance.now()
  const sent = (became: Refused): Sent => ({
    httpStatus: null,
    response: null,
    retryAfterSeconds: null,
    ...became,
    durationMs: Math.round(performance.now() - began),
  })
  const limit = AbortSignal.timeout(limitMs)
  let client: S3Client | undefined
  try {
    const end = AbortSignal.any([scope.signal, limit])
    client = s3Client(scope.settings, guard, end)
    await work(client, end)
    return sent({ outcome: 'delivered', httpStatus: 200, error: null })
  } catch (error) {
    scope.signal.throwIfAborted()
    if (error instanceof FileUnreadable) throw error
    return sent(limit.aborted ? { outcome: 'retry', error: 'timeout' } : refused(error))
  } finally {
    client?.destroy()
  }
}

/** What was sent of an upload that was stopped: nobody sees it, but it is paid for. */
async function removeParts(guard: Guard, settings: Settings, upload: { Bucket: string; Key: string; UploadId: string }) {
  const client = s3Client(settings, guard, AbortSignal.timeout(TIDYING_MS))
  await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {})
  client.destroy()
}

type Uploading = { guard: Guard; settings: Settings; client: S3Client; end: AbortSignal }

async function upload({ guard, settings, client, end }: Uploading, object: ReturnType<typeof objectOf>, file: ReportDelivery['export']) {
  const content = Readable.from(wholeFile(file), { objectMode: false })
  const place = { Bucket: String(settings.bucket), Key: object.name }
  const sending = new Upload({
    client,
    params: { ...place, ContentType: object.contentType, Body: content },
    partSize: Math.max(PART_BYTES, Math.ceil(file.bytes / MOST_PARTS)),
    queueSize: PARTS_AT_ONCE,
  })
  const stop = () => void sending.abort()
  end.addEventListener('abort', stop, { once: true })
  try {
    end.throwIfAborted()
    await sending.done()
  } catch (error) {
    const { uploadId: UploadId } = sending
    // Otherwise it has removed them by itself.
    if (end.aborted && UploadId) await removeParts(guard, settings, { ...place, UploadId })
    throw content.errored ?? error
  } finally {
    end.removeEventListener('abort', stop)
    content.destroy()
  }
}

export const amazonS3 = (guard: Guard) => ({
  deliver: (delivery: ReportDelivery, scope: ReportScope): Promise<Sent> =>
    attempt(guard, limitFor(delivery.export), scope, async (client, end) => {
      const { settings } = scope
      const object = objectOf(delivery, settings.prefix)
      await upload({ guard, settings, client, end }, object, delivery.export)
      const manifest = { Body: JSON.stringify(delivery.export.manifest), ContentType: 'application/json' }
      await client.send(new PutObjectCommand({ Bucket: String(settings.bucket), Key: manifestOf(object.name), ...manifest }))
    }),
  test: (scope: ReportScope): Promise<Sent> =>
    attempt(guard, 10_000, scope, async client => {
      const { name: Key, content: Body } = testObject(scope.settings.prefix)
      const place = { Bucket: String(scope.settings.bucket), Key }
      await client.send(new PutObjectCommand({ ...place, Body, ContentType: 'text/plain' }))
      await client.send(new DeleteObjectCommand(place))
    }),
})
