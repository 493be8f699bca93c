import type { Logger } from 'pino'
import type { AnalyticsProcess } from '../api/analytics/compute.ts'
import type { FiguresReply } from '../api/analytics/serve.ts'
import { signature } from '../api/analytics/signature.ts'
import { Problem } from '../api/errors.ts'
import type { FigureMetrics } from '../api/metrics.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import { version } from '../schemas/version.ts'
import { opaqueId } from '../store/ids.ts'
import { takingTurns } from '../store/taking-turns.ts'
import type { Outgoing } from '../workflows/outgoing/outgoing.ts'

/** A question takes at most 30 s there, and may wait for its turn: what says nothing for longer is frozen. */
const LIMIT_MS = 40_000
/** A connection that takes longer to be made has failed: the process has not seen the question. */
const CONNECTED_MS = 11_000
const MOST_BYTES = 64 * 1024 * 1024
/** Connections to a process that may be frozen. */
const AT_ONCE = 64
/** After a failure nobody is kept waiting for the same failure for so long; twice as long after each further one. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

type Options = {
  url: string
  secrets: Pick<Secrets, 'sign'>
  /** A client that may reach private addresses: the operator names this one. */
  outgoing: Outgoing
  metrics: FigureMetrics
  log: Logger
}

/**
 * Has figures computed by a process with ROLE=analytics. Where it does not answer, or is of another release, the caller computes them on Postgres:
 * slower, and the same to the digit.
 */
export function analyticsProcess({ url, secrets, outgoing, metrics, log }: Options): AnalyticsProcess {
  const signed = signature(secrets)
  const release = version()
  const inTurn = takingTurns(AT_ONCE)
  let pauseMs = 0
  let failedAt = Number.NEGATIVE_INFINITY

  const failed = (why: string) => {
    if (pauseMs === 0) log.warn({ why }, 'the process for analytics does not answer: figures are computed here, on Postgres')
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs === 0 ? FIRST_PAUSE_MS : 2 * pauseMs)
    failedAt = performance.now()
  }
  const here = (by: 'away' | 'release') => {
    metrics.figuresBy(by)
    return null
  }
  function answered(text: string): FiguresReply | null {
    try {
      const reply = JSON.parse(text) as FiguresReply | null
      return reply && ('answered' in reply || 'refused' in reply) ? reply : null
    } catch {
      return null
    }
  }

  return {
    async ask(operation, request, gone) {
      if (performance.now() - failedAt < pauseMs) return here('away')
      const body = JSON.stringify({ version: release, request })
      const [id, at] = [opaqueId(), new Date(Date.now())]
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signed.sign(id, at, body),
      }
      const limits = { limitMs: LIMIT_MS, answerBytes: MOST_BYTES, signal: gone }
      const send = () => outgoing.request({ method: 'POST', url: `${url}/figures/${operation}`, headers, body, ...limits })
      const answer = await inTurn(request.environment, send)
      if (answer.is === 'error') {
        failed(answer.error)
        // It has had its time: to begin anew here would take as long again.
        if (answer.error === 'timeout' && answer.durationMs > CONNECTED_MS)
          throw new Problem('upstream_timeout', 'the figures took too long')
        return here('away')
      }
      if (answer.status === 404 || answer.status === 409) return here('release')
      const reply = answer.status === 200 && !answer.isCut ? answered(answer.text) : null
      if (!reply) {
        failed(answer.isCut ? 'its answer is too long' : `it answered ${answer.status}`)
        return here('away')
      }
      if (pauseMs > 0) log.info('the process for analytics answers again')
      pauseMs = 0
      metrics.figuresBy('elsewhere')
      if ('answered' in reply) return reply.answered
      const { status, headers: more, error } = reply.refused
      throw new Problem(error.code, error.message, { status, headers: more, details: error.details })
    },
  }
}
