import { type Logger, pino } from 'pino'

/** JSON lines on standard output, written in blocks. No caller logs a secret; these fields are redacted as a second protection. */
export function logger(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: [
        'authorization',
        'headers',
        'secretKey',
        'projectKey',
        'password',
        'err.config',
        'err.parameters',
        'err.detail',
        'err.where',
      ],
    },
    pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 200 }),
  )
}
