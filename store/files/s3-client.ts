import { S3Client } from '@aws-sdk/client-s3'
import { NodeHttpHandler } from '@smithy/node-http-handler'

export type S3Options = {
  bucket: string
  region: string
  /** Of a server that is not Amazon's. */
  endpoint?: string | undefined
  /** What every key begins with. */
  prefix: string
  /** Absent: as Amazon's own tools find them (environment, profile, role of the machine). */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined
  /** The bucket stands in the path of the address instead of its host. */
  forcePathStyle: boolean
}

const CONNECT_MS = 5_000
/** Until the answer begins: 8 MiB at 70 kB/s. */
const REQUEST_MS = 120_000
const ATTEMPTS = 3

/** Checksums are sent and held against wherever the server supports them; AWS_REQUEST_CHECKSUM_CALCULATION says otherwise. */
export const s3Client = ({ region, endpoint, credentials, forcePathStyle }: S3Options): S3Client =>
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
      // None: a download waits for whoever reads it.
      socketTimeout: 0,
    }),
  })

type Answered = { name?: string; message?: string; code?: unknown; $metadata?: { httpStatusCode?: number } }

function codeOf({ name, code }: Answered): string {
  if (name === 'NoSuchKey' || name === 'NotFound') return 'ENOENT'
  if (name === 'TimeoutError') return 'ETIMEDOUT'
  return typeof code === 'string' ? code : 'EIO'
}

/** What the storage did not do, with the code that a disk would give for it; of the server's answer only the words, never its headers. */
export function failureOf(error: unknown): Error {
  const answered = error as Answered
  return Object.assign(new Error(`S3: ${answered.name}: ${answered.message}`), { code: codeOf(answered) })
}

/** Not ours to do, or nothing that this server knows. */
export const isRefused = (error: unknown): boolean => [403, 405, 501].includes((error as Answered).$metadata?.httpStatusCode ?? 0)
