import { Readable } from 'node:stream'
import { AbortMultipartUploadCommand, DeleteObjectCommand, PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { timeLimit } from '../../store/time-limit.ts'
import { isFinalStatus } from '../destinations/classify-response.ts'
import type { Sent, Settings } from '../destinations/destination.ts'
import { runEffect } from '../engine/attempt.ts'
import type { Guard } from '../outgoing/guard.ts'
import { excerpt, networkErrorCode, retryAfterSeconds } from '../outgoing/response.ts'
import { manifestNameOf, objectOf, testObject } from './object-name.ts'
import type { ReportDelivery, ReportScope } from './report-destination.ts'
import { FileUnreadable, readWholeFile, uploadLimitMs } from './report-file.ts'
import { s3Client } from './s3-client.ts'

/** Two parts are in memory; an object may have ten thousand. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2
const MOST_PARTS = 9000
const CLEANUP_MS = 3000

type AttemptResult = Partial<Pick<Sent, 'httpStatus' | 'response' | 'retryAfterSeconds'>> & Pick<Sent, 'outcome' | 'error'>

function classifyError(error: unknown): AttemptResult {
  if (!(error instanceof S3ServiceException) || !error.$metadata.httpStatusCode) {
    const { code, message } = error as { code?: string; message?: string }
    // The client's name for every broken connection is a time-out; the code is more exact.
    return { outcome: 'retry', error: networkErrorCode(code ? { code, message } : error) }
  }
  const { httpStatusCode: httpStatus } = error.$metadata
  const outcome = isFinalStatus(httpStatus) ? 'reject' : 'retry'
  const after = retryAfterSeconds(error.$response?.headers['retry-after'])
  return { outcome, httpStatus, error: error.name, response: excerpt(error.message), retryAfterSeconds: after }
}

async function attempt(guard: Guard, limitMs: number, scope: ReportScope, work: (client: S3Client, end: AbortSignal) => Promise<void>) {
  const ran = await runEffect(limitMs, [scope.signal], async end => {
    const client = s3Client(scope.settings, guard, end)
    try {
      await work(client, end)
    } finally {
      client.destroy()
    }
  })
  const sent = (result: AttemptResult): Sent => ({
    httpStatus: null,
    response: null,
    retryAfterSeconds: null,
    ...result,
    durationMs: ran.durationMs,
  })
  if (ran.is === 'done') return sent({ outcome: 'delivered', httpStatus: 200, error: null })
  scope.signal.throwIfAborted()
  if (ran.error instanceof FileUnreadable) throw ran.error
  return sent(ran.isOvertime ? { outcome: 'retry', error: 'timeout' } : classifyError(ran.error))
}

/** Removes the parts of a stopped upload: they are invisible, but S3 charges for them. */
async function removeParts(guard: Guard, settings: Settings, upload: { Bucket: string; Key: string; UploadId: string }) {
  const client = s3Client(settings, guard, timeLimit(CLEANUP_MS).signal)
  await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {})
  client.destroy()
}

type Uploading = { guard: Guard; settings: Settings; client: S3Client; end: AbortSignal }

async function upload({ guard, settings, client, end }: Uploading, object: ReturnType<typeof objectOf>, file: ReportDelivery['export']) {
  const content = Readable.from(readWholeFile(file), { objectMode: false })
  const key = { Bucket: String(settings.bucket), Key: object.name }
  const sending = new Upload({
    client,
    params: { ...key, ContentType: object.contentType, Body: content },
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
    // The client removes the parts of an upload that failed for another reason.
    if (end.aborted && UploadId) await removeParts(guard, settings, { ...key, UploadId })
    throw content.errored ?? error
  } finally {
    end.removeEventListener('abort', stop)
    content.destroy()
  }
}

export const amazonS3 = (guard: Guard) => ({
  deliver: (delivery: ReportDelivery, scope: ReportScope): Promise<Sent> =>
    attempt(guard, uploadLimitMs(delivery.export), scope, async (client, end) => {
      const { settings } = scope
      const object = objectOf(delivery, settings.prefix)
      await upload({ guard, settings, client, end }, object, delivery.export)
      const manifest = { Body: JSON.stringify(delivery.export.manifest), ContentType: 'application/json' }
      await client.send(new PutObjectCommand({ Bucket: String(settings.bucket), Key: manifestNameOf(object.name), ...manifest }))
    }),
  test: (scope: ReportScope): Promise<Sent> =>
    attempt(guard, 10_000, scope, async client => {
      const { name: Key, content: Body } = testObject(scope.settings.prefix)
      const key = { Bucket: String(scope.settings.bucket), Key }
      await client.send(new PutObjectCommand({ ...key, Body, ContentType: 'text/plain' }))
      await client.send(new DeleteObjectCommand(key))
    }),
})
