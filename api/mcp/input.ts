import type { Detail } from '../../domain/kernel/refusal.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { invalidData } from '../errors.ts'
import { idempotencyKey, requestHash, storedHash } from '../idempotency.ts'
import type { RequestInput } from '../run.ts'
import type { Tool } from './tools.ts'

export type Arguments = Record<string, unknown>

/** What confirms a call, and is no argument of the operation. */
const CONFIRMING = ['confirmation_token', 'confirm_id', 'reason'] as const

const argumentsOf = ({ listed }: Tool) => listed.inputSchema.properties as Record<string, { type?: unknown }>

/** The arguments that are of the server and not of the operation. */
function ownFaults(tool: Tool, given: Arguments): Detail[] {
  const known = argumentsOf(tool)
  const faults = Object.keys(given)
    .filter(name => !Object.hasOwn(known, name))
    .map(field => ({ field, message: 'is not an argument of this tool' }))
  const own = (name: string) => Object.hasOwn(known, name) && !tool.sources[name] && given[name] !== undefined
  for (const name of [...CONFIRMING, 'idempotency_key'])
    if (own(name) && typeof given[name] !== 'string') faults.push({ field: name, message: 'must be string' })
  for (const [name, [part]] of Object.entries(tool.sources)) {
    const value = given[name]
    if (part !== 'path' || value === undefined) continue
    if (typeof value !== 'string') faults.push({ field: name, message: 'must be string' })
    else if (!value.isWellFormed()) faults.push({ field: name, message: 'must be valid Unicode, without half of a surrogate pair' })
  }
  if (own('dry_run') && typeof given.dry_run !== 'boolean') faults.push({ field: 'dry_run', message: 'must be boolean' })
  return faults
}

/** Percent-encodes the parameters into the path, so that a repeat is the same request by whichever way it comes. */
const pathOf = (path: string, parameters: Record<string, unknown>) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parameters[name] ?? '')))

/** Sorts the flat arguments into the parts of a request. Throws `invalid_data` for unknown ones; the operation validates the others. */
export function inputOf(tool: Tool, given: Arguments, secrets: Secrets): RequestInput {
  const faults = ownFaults(tool, given)
  if (faults.length > 0) throw invalidData(faults)
  const parts: Record<'path' | 'query' | 'body', Arguments> = { path: {}, query: {}, body: {} }
  for (const [name, [part, of]] of Object.entries(tool.sources)) if (given[name] !== undefined) parts[part][of] = given[name]
  const { description } = tool.route
  const body = description.body ? parts.body : undefined
  const key = typeof given.idempotency_key === 'string' ? idempotencyKey(given.idempotency_key) : undefined
  const path = pathOf(description.path, parts.path)
  const repeat = key === undefined ? undefined : { key, hash: storedHash(secrets, requestHash(path, parts.query, body)) }
  const isDry = given.dry_run === true
  return {
    parameters: parts.path as Record<string, string>,
    query: parts.query,
    body,
    faults: [],
    // A dry run must leave the key free for the call.
    repeat: isDry ? undefined : repeat,
    // An operation that has an argument of this name treats it in its own way.
    dryRun: isDry && !tool.sources.dry_run,
  }
}

/** The faults of a request by the names of the arguments. */
export function byArgument(tool: Tool, details: readonly Detail[]): Detail[] {
  const nameOf = new Map(Object.entries(tool.sources).map(([name, [, of]]) => [of, name]))
  nameOf.set('Idempotency-Key', 'idempotency_key')
  return details.map(({ field, message }) => {
    const whole = nameOf.get(field)
    if (whole !== undefined) return { field: whole, message }
    const head = /^[^.[]+/.exec(field)?.[0] ?? ''
    return { field: (nameOf.get(head) ?? head) + field.slice(head.length), message }
  })
}
