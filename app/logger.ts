import { type Logger, pino } from 'pino'

const SHOWN = ['type', 'message', 'stack', 'code', 'severity', 'table', 'constraint']

/** What the log says of an error. An error may carry the connection on which it happened, the values of a statement, or rows of a user. */
export function shownError(error: Error): Record<string, unknown> {
  const all = pino.stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(SHOWN.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]]])))
}

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
      redact: ['authorization', 'headers', 'secretKey', 'projectKey', 'password'],
      serializers: { err: shownError },
    },
    output,
  )
}
