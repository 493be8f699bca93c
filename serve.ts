import type { Logger } from 'pino'
import { answerCheck } from './api/answer-check.ts'
import { metrics } from './api/metrics.ts'
import { type Listening, listen } from './api/server.ts'
import type { Config } from './config.ts'
import type { Ground } from './perennial.ts'

export type Served = Listening & { url: string; countOutcome: (kind: string, outcome: string) => void }

/** The API of this process, on a port. */
export async function serve(config: Config, log: Logger, { pool, secrets, storage }: Ground): Promise<Served> {
  const measured = metrics(pool)
  const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
  const { rateLimit, projectRateLimit } = config
  const deps = {
    pool,
    secrets,
    storage,
    log,
    metrics: measured,
    rateLimit,
    projectRateLimit,
    checkAnswer,
    publicUrl: config.publicUrl ?? '',
  }
  const server = await listen(deps, config.port)
  const url = `http://localhost:${server.port}`
  // The port may have been chosen by the system.
  deps.publicUrl ||= url
  return { ...server, url, countOutcome: measured.outcome }
}
