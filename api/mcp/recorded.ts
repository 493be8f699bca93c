import { beginCall, type CallOutcome, endCall } from '../../domain/operators/mcp-calls/record.ts'
import type { Calling, McpDeps } from './deps.ts'
import type { Arguments } from './input.ts'
import type { Tool } from './tools.ts'

/** Bytes of arguments that are recorded. Longer ones leave their names. */
const MOST_BYTES = 10_000

const SECRET = /secret|password|credential|private|token|receipt|signed|service_account|api_key|^key$|webhook_url/i
/** What the settings of integrations, channels and stores hold is known to their providers alone. */
const CLOSED = new Set(['settings', 'config'])
/** Each event is about a customer, and the log has them all. */
const COUNTED = new Set(['events'])

const SHOWN_CHARACTERS = 4
const LEAST_LENGTH = 16
const mask = (text: string) => (text.length < LEAST_LENGTH ? '…' : `…${text.slice(-SHOWN_CHARACTERS)}`)

/** Postgres stores neither NUL nor half of a surrogate pair in JSON. */
const storable = (text: string) => text.replaceAll('\0', '').toWellFormed()

/** The value with texts that may be secrets masked, as it can be stored. */
function screened(value: unknown, isSecret: boolean): unknown {
  if (typeof value === 'string') return storable(isSecret ? mask(value) : value)
  if (Array.isArray(value)) return value.map(item => screened(item, isSecret))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [storable(name), screened(inner, isSecret || SECRET.test(name) || CLOSED.has(name))]),
  )
}

/** The arguments as the record has them. */
function recordedArguments(given: Arguments): object {
  const { confirmation_token, confirm_id, reason, ...rest } = given
  const counted = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, COUNTED.has(name) && Array.isArray(value) ? `${value.length} items` : value]),
  )
  const shown = screened(counted, false) as object
  return Buffer.byteLength(JSON.stringify(shown)) <= MOST_BYTES
    ? shown
    : {
        left_out: Object.keys(rest)
          .slice(0, 100)
          .map(name => storable(name.slice(0, 100))),
      }
}

const textOf = (value: unknown) => (typeof value === 'string' && !value.includes('\0') ? value : null)

/** Records a call of a tool that writes: before it is made, and when its outcome is known. */
export async function recorded<T>(
  { pool, log }: Pick<McpDeps, 'pool' | 'log'>,
  tool: Tool,
  { owner }: Pick<Calling, 'owner'>,
  given: Arguments,
  make: () => Promise<{ answer: T; outcome: CallOutcome; status: number }>,
): Promise<T> {
  const id = await beginCall(pool, owner, {
    tool: tool.listed.name,
    arguments: recordedArguments(given),
    user: textOf(given.user_id) ?? textOf(given.customer_id),
    reason: textOf(given.reason)?.slice(0, 500) ?? null,
    isDryRun: given.dry_run === true,
  })
  const { answer, outcome, status } = await make()
  // The effect is there, whether its record says so or not.
  await endCall(pool, id, outcome, status).catch(error => log.error({ err: error, call: id }, 'the outcome of a call was not recorded'))
  return answer
}
