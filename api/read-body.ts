import type { IncomingMessage } from 'node:http'
import { setImmediate as othersFirst } from 'node:timers/promises'
import getRawBody from 'raw-body'
import { invalidData, Problem } from './errors.ts'
import { boundsOf, jsonCounter } from './json-bounds.ts'
import { lossOf } from './json-faults.ts'

/** A longer body is parsed in steps of some ten milliseconds; other requests run between them. */
const LONG_BYTES = 256 * 1024
const JSON_TYPE = /^application\/json\s*(;|$)/i

const tooLarge = (limit: number) => new Problem('invalid_request', `the body is larger than ${limit} bytes`, { status: 413 })
const wrongType = (message: string) => new Problem('invalid_request', message, { status: 415 })

/** The client went away before the end of its body: nobody reads an answer. */
export class BodyBrokenOff extends Problem {
  constructor() {
    super('invalid_request', 'the body could not be read to its end')
  }
}

/** The parsed JSON of a request, `{}` without a body. `limit` in bytes. */
export async function readBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const length = request.headers['content-length']
  const isChunked = request.headers['transfer-encoding'] !== undefined
  if (!isChunked && (length === undefined || length === '0')) return {}
  const typeFault = faultOfType(request)
  if (typeFault && !isChunked) throw typeFault
  const counter = jsonCounter(boundsOf(limit))
  request.on('data', counter.read)
  const bytes = await getRawBody(request, { limit, length }).catch(error => {
    if (error.type === 'entity.too.large') throw typeFault ?? tooLarge(limit)
    throw new BodyBrokenOff()
  })
  if (bytes.length === 0) return {}
  if (typeFault) throw typeFault
  const excess = counter.fault()
  if (excess) throw invalidData([excess])
  const pause = async () => void (bytes.length > LONG_BYTES && (await othersFirst()))
  const json = decode(bytes)
  await pause()
  const value = parse(json)
  await pause()
  const loss = await lossOf(json, value, counter.keys(), pause)
  if (loss) throw invalidData([loss])
  await pause()
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
