import { type Logger, pino } from 'pino'

/** JSON lines on standard output, written in blocks. No caller logs a secret; these fields are redacted as a second protection. */
export function logger(level: string): Logger {
  const output = pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 200 })
  // The terminal or the reader of the pipe is gone: the process still stops in good order.
  output.on('error', () => {})
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
    output,
  )
}
