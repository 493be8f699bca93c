import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { Problem } from '../errors.ts'

const LIMIT_BYTES = 1024 * 1024

/** The bytes of a request as they arrived: signatures cover them, so they are neither unpacked nor decoded. Empty without a body. */
export async function readRawBody(request: IncomingMessage): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': encoding = 'identity' } = request.headers
  if (encoding.toLowerCase() !== 'identity')
    throw new Problem('invalid_request', 'Content-Encoding is not supported: send the body as it is')
  if (transfer === undefined && (length === undefined || length === '0')) return Buffer.alloc(0)
  return getRawBody(request, { limit: LIMIT_BYTES, length }).catch(error => {
    if (error.type === 'entity.too.large')
      throw new Problem('invalid_request', `the body is larger than ${LIMIT_BYTES} bytes`, { status: 413 })
    throw new Problem('invalid_request', 'the body could not be read to its end')
  })
}
