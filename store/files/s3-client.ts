import { S3Client } from '@aws-sdk/client-s3'
import { NodeHttpHandler } from '@smithy/node-http-handler'

export type S3Options = {
  bucket: string
  region: string
  /** Address of a server other than Amazon's. */
  endpoint?: string | undefined
  /** The beginning of every key. */
  prefix: string
  /** Absent: found as Amazon's own tools find them (environment, profile, role of the machine). */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined
  /** The bucket is in the path of the address and not in its host. */
  forcePathStyle: boolean
}

const CONNECT_MS = 5_000
/** Until the response begins: time to send 8 MiB at 70 kB/s. */
const REQUEST_MS = 120_000
const ATTEMPTS = 3

/** The SDK sends checksums with uploads by default; AWS_REQUEST_CHECKSUM_CALCULATION=when_required turns them off. */
export const storageClient = ({ region, endpoint, credentials, forcePathStyle }: S3Options): S3Client =>
  new S3Client({
    region,
    forcePathStyle,
    maxAttempts: ATTEMPTS,
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    requestHandler: new NodeHttpHandler({
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      // None: a download waits for its reader.
      socketTimeout: 0,
    }),
  })

type S3Error = { name?: string; message?: string; code?: unknown; $metadata?: { httpStatusCode?: number } }

function codeOf({ name, code }: S3Error): string {
  if (name === 'NoSuchKey' || name === 'NotFound') return 'ENOENT'
  if (name === 'TimeoutError') return 'ETIMEDOUT'
  return typeof code === 'string' ? code : 'EIO'
}

/** The failure with the code that a disk gives in the same case. Takes only the message from the server's response, never its headers. */
export function storageFailure(error: unknown): Error {
  const failed = error as S3Error
  return Object.assign(new Error(`S3: ${failed.name}: ${failed.message}`), { code: codeOf(failed) })
}

/** The request is not allowed, or the server does not support it. */
export const isRefused = (error: unknown): boolean => [403, 405, 501].includes((error as S3Error).$metadata?.httpStatusCode ?? 0)
