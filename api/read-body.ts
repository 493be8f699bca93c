import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { invalidData, Problem } from './errors.ts'

const MAX_DEPTH = 64
const JSON_TYPE = /^application\/json\s*(;|$)/i

const tooLarge = (limit: number) => new Problem('invalid_request', `the body is larger than ${limit} bytes`, { status: 413 })
const wrongType = (message: string) => new Problem('invalid_request', message, { status: 415 })

/** The parsed JSON of a request, `{}` without a body. `limit` in bytes. */
export async function readBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const length = request.headers['content-length']
  const isChunked = request.headers['transfer-encoding'] !== undefined
  if (!isChunked && (length === undefined || length === '0')) return {}
  const typeFault = faultOfType(request)
  if (typeFault && !isChunked) throw typeFault
  const bytes = await getRawBody(request, { limit, length }).catch(error => {
    if (error.type === 'entity.too.large') throw typeFault ?? tooLarge(limit)
    throw new Problem('invalid_request', 'the body could not be read to its end')
  })
  if (bytes.length === 0) return {}
  if (typeFault) throw typeFault
  const value = parse(decode(bytes))
  if (isDeeperThan(value, MAX_DEPTH)) throw invalidData([{ field: 'body', message: `is nested deeper than ${MAX_DEPTH}` }])
  return value
}

function faultOfType(request: IncomingMessage): Problem | undefined {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) return wrongType('Content-Type must be application/json')
  const encoding = request.headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
    ? wrongType('Content-Encoding is not supported: send the body as it is')
    : undefined
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new Problem('invalid_request', 'the body is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('invalid_request', 'the body is not valid JSON')
  }
}

const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some(inner => isDeeperThan(inner, levels - 1)))
