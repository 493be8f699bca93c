import { type Logger, pino } from 'pino'
import { traceId } from '../store/tracing.ts'

const SHOWN = ['type', 'message', 'stack', 'code', 'severity', 'table', 'constraint']

/** What the log says of an error. An error may carry the connection on which it happened, the values of a statement, or rows of a user. */
export function shownError(error: Error): Record<string, unknown> {
  const all = pino.stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(SHOWN.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]]])))
}

const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }

/** A line of the log for human readers: time of day (UTC), level, message, then the other fields. */
export function prettyLine(json: string): string {
  const { time, level, msg = '', err, ...fields } = JSON.parse(json)
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const stack = err === undefined ? '' : `\n${err.stack ?? err.message ?? JSON.stringify(err)}`
  // A message may hold what a client has sent: a control character could move the cursor.
  return `${[String(time).slice(11, 19), LEVELS[level] ?? level, msg, ...shown].join(' ')}${stack}`.replaceAll(/[^\n\P{C}]/gu, '\uFFFD')
}

/** Beside the fields of a line, within a span. */
function traceFields(): object {
  const trace_id = traceId()
  return trace_id === null ? {} : { trace_id }
}

/** `isTraced`: the process sends traces. */
type LoggerOptions = { isPretty?: boolean; isTraced?: boolean }

/** Lines on standard output, written in blocks: JSON, or text if `isPretty`. No caller logs a secret; these fields are redacted as a second protection. */
export function logger(level: string, { isPretty = false, isTraced = false }: LoggerOptions = {}): Logger {
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
      ...(isTraced && { mixin: traceFields }),
    },
    isPretty
      ? {
          write: json => void output.write(`${prettyLine(json)}\n`),
          ...({ flush: done => output.flush(done) } as Pick<typeof output, 'flush'>),
        }
      : output,
  )
}
