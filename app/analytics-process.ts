import type { Logger } from 'pino'
import type { FiguresReply } from '../api/analytics/serve.ts'
import { signature } from '../api/analytics/signature.ts'
import type { FigureMetrics } from '../api/metrics.ts'
import type { AnalyticsProcess } from '../api/run.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import { opaqueId } from '../store/ids.ts'
import type { Outgoing } from '../workflows/outgoing/outgoing.ts'

/** A question takes at most 30 s there, and may wait for its turn. */
const LIMIT_MS = 40_000
const MOST_BYTES = 64 * 1024 * 1024
/** After a failure nobody is kept waiting for the same failure for so long. */
const PAUSE_MS = 1_000

type Options = {
  url: string
  secrets: Pick<Secrets, 'sign'>
  /** A client that may reach private addresses: the operator names this one. */
  outgoing: Outgoing
  metrics: FigureMetrics
  log: Logger
}

/**
 * Has figures computed by a process with ROLE=analytics. Where it does not answer, or is of another release and does not know the operation,
 * the caller computes them on Postgres: slower, and the same to the digit.
 */
export function analyticsProcess({ url, secrets, outgoing, metrics, log }: Options): AnalyticsProcess {
  const signed = signature(secrets)
  let failedAt = Number.NEGATIVE_INFINITY
  let isAway = false

  const failed = (why: string) => {
    if (!isAway) log.warn({ why }, 'the process for analytics does not answer: figures are computed here, on Postgres')
    isAway = true
    failedAt = performance.now()
    metrics.figuresBy('away')
    return null
  }

  return {
    async ask(operation, request) {
      if (performance.now() - failedAt < PAUSE_MS) return failed('it has just failed')
      const body = JSON.stringify(request)
      const [id, at] = [opaqueId(), new Date(Date.now())]
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signed.sign(id, at, body),
      }
      const sent = {
        method: 'POST' as const,
        url: `${url}/figures/${operation}`,
        headers,
        body,
        limitMs: LIMIT_MS,
        answerBytes: MOST_BYTES,
      }
      const answer = await outgoing.request(sent)
      if (answer.is === 'error' && answer.error === 'timeout') throw new Refusal('upstream_timeout', 'the figures took too long')
      if (answer.is === 'error') return failed(answer.error)
      if (answer.status !== 200 || answer.isCut) return failed(`it answered ${answer.status}`)
      if (isAway) log.info('the process for analytics answers again')
      isAway = false
      metrics.figuresBy('elsewhere')
      const reply = JSON.parse(answer.text) as FiguresReply
      if ('answered' in reply) return reply.answered
      throw new Refusal(reply.refused.code, reply.refused.message, reply.refused.details)
    },
  }
}
