import { Agent, buildConnector, request } from 'undici'
import { failureOf } from './failure.ts'
import { AddressRefused, type Guard, guardedLookup, refuseLiteral } from './guard.ts'
import { readAnswer } from './read-answer.ts'
import type { Answer, Outgoing, Request } from './request.ts'
import { retryAfterSeconds } from './retry-after.ts'

const LIMIT_MS = 10_000
/** More would let one slow receiver hold every socket of the process. */
const CONNECTIONS_PER_ORIGIN = 64

/** Opens the way out; close it with the process. Private networks are for operators who trust everybody that may name an address. */
export function outgoing(guard: Guard): Outgoing {
  const connect = buildConnector({ lookup: guardedLookup(guard), timeout: LIMIT_MS, allowH2: false })
  const agent = new Agent({
    connections: CONNECTIONS_PER_ORIGIN,
    allowH2: false,
    connect(options, callback) {
      try {
        refuseLiteral(options.hostname, guard)
      } catch (error) {
        return callback(error as Error, null)
      }
      connect(options, callback)
    },
  })

  return {
    async request(asked: Request): Promise<Answer> {
      const started = performance.now()
      const durationMs = () => Math.round(performance.now() - started)
      asked.signal?.throwIfAborted()
      const limit = AbortSignal.timeout(asked.limitMs ?? LIMIT_MS)
      try {
        const answer = await request(addressOf(asked.url, guard), {
          dispatcher: agent,
          method: asked.method,
          // Nothing is unpacked, so a small answer cannot become a large one.
          headers: { ...asked.headers, 'accept-encoding': 'identity' },
          body: asked.body ?? null,
          signal: asked.signal ? AbortSignal.any([asked.signal, limit]) : limit,
        })
        const text = await readAnswer(answer.body)
        return {
          is: 'answer',
          status: answer.statusCode,
          retryAfterSeconds: retryAfterSeconds(answer.headers['retry-after']),
          text,
          durationMs: durationMs(),
          headers: answer.headers,
        }
      } catch (error) {
        asked.signal?.throwIfAborted()
        return { is: 'error', error: limit.aborted ? 'timeout' : failureOf(error), durationMs: durationMs() }
      }
    },
    close: () => agent.destroy(),
  }
}

/** Plain http would show secrets to everybody on the way: it is for the operator's own network only. */
function addressOf(text: string, { allowPrivateNetwork }: Guard): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && allowPrivateNetwork)) return url
  throw new AddressRefused('not an address that may be called')
}
