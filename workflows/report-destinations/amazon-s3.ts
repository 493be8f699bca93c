import { Readable } from 'node:stream'
import { AbortMultipartUploadCommand, DeleteObjectCommand, PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { Sent } from '../destinations/destination.ts'
import { byStatus } from '../destinations/judge.ts'
import { failureOf } from '../outgoing/failure.ts'
import type { Guard } from '../outgoing/guard.ts'
import { keptText } from '../outgoing/kept.ts'
import { retryAfterSeconds } from '../outgoing/retry-after.ts'
import { manifestOf, objectOf, testObject } from './object-name.ts'
import type { ReportDelivery, ReportDestination, ReportScope } from './report-destination.ts'
import { s3Client } from './s3-client.ts'
import { FileUnreadable, limitFor, wholeFile } from './whole-file.ts'

/** Two of them are in memory; ten thousand are as many as an object may have. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2
const MOST_PARTS = 9000
const TIDYING = () => ({ abortSignal: AbortSignal.timeout(3000) })

type Refused = Partial<Pick<Sent, 'httpStatus' | 'response' | 'retryAfterSeconds'>> & Pick<Sent, 'outcome' | 'error'>

function refused(error: unknown): Refused {
  if (!(error instanceof S3ServiceException) || !error.$metadata.httpStatusCode) return { outcome: 'retry', error: failureOf(error) }
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
    client = s3Client(scope.settings, guard)
    await work(client, AbortSignal.any([scope.signal, limit]))
    return sent({ outcome: 'delivered', httpStatus: 200, error: null })
  } catch (error) {
    scope.signal.throwIfAborted()
    if (error instanceof FileUnreadable) throw error
    return sent(limit.aborted ? { outcome: 'retry', error: 'timeout' } : refused(error))
  } finally {
    client?.destroy()
  }
}

async function upload(
  client: S3Client,
  end: AbortSignal,
  Bucket: string,
  Key: string,
  ContentType: string,
  file: ReportDelivery['export'],
) {
  const content = Readable.from(wholeFile(file), { objectMode: false })
  const sending = new Upload({
    client,
    params: { Bucket, Key, ContentType, Body: content },
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
    // It removes its parts by itself unless it is stopped: nobody sees them, but they are paid for.
    if (end.aborted && UploadId) await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), TIDYING()).catch(() => {})
    throw content.errored ?? error
  } finally {
    end.removeEventListener('abort', stop)
    content.destroy()
  }
}

export const amazonS3 = (guard: Guard): ReportDestination => ({
  deliver: (delivery, scope) =>
    attempt(guard, limitFor(delivery.export), scope, async (client, abortSignal) => {
      const Bucket = String(scope.settings.bucket)
      const { name, contentType } = objectOf(delivery, scope.settings.prefix)
      await upload(client, abortSignal, Bucket, name, contentType, delivery.export)
      const manifest = { Key: manifestOf(name), Body: JSON.stringify(delivery.export.manifest), ContentType: 'application/json' }
      await client.send(new PutObjectCommand({ Bucket, ...manifest }), { abortSignal })
    }),
  test: scope =>
    attempt(guard, 10_000, scope, async (client, abortSignal) => {
      const Bucket = String(scope.settings.bucket)
      const { name: Key, content: Body } = testObject(scope.settings.prefix)
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'text/plain' }), { abortSignal })
      await client.send(new DeleteObjectCommand({ Bucket, Key }), { abortSignal })
    }),
})
