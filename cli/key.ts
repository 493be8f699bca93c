import { DateTime, Duration } from 'luxon'
import { audit } from '../domain/kernel/audit/record.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import { lockProject } from '../domain/operators/principal.ts'
import { createNamedKey, installedKeys, revokeNamedKey } from '../domain/projects/named-keys.ts'
import { formats } from '../schemas/formats.ts'
import { SCOPES } from '../schemas/generated/operations.ts'
import { transaction } from '../store/transaction.ts'
import { environmentNamed, ONE_PROJECT, projectNumber } from './chosen-environment.ts'
import { actorOf } from './command.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition, JSON_OPTION } from './definition.ts'
import { CliError, UsageError } from './failure.ts'
import { commandOf } from './program.ts'
import { jsonText, printable, textTable } from './table.ts'

const MAX_NAME = 255

function nameIn(given: string | undefined): string {
  const name = given?.trim()
  if (!name) throw new UsageError('--name NAME is missing')
  if ([...name].length > MAX_NAME || /\p{Cc}/u.test(name)) throw new UsageError(`--name must have at most ${MAX_NAME} printable characters`)
  return name
}

function scopesIn(given: string | undefined): string[] {
  const scopes = (given ?? '').split(',').map(scope => scope.trim())
  if (given === undefined || scopes.join('') === '')
    throw new UsageError('--scopes is missing: for example --scopes events:read,exports:write')
  const known: readonly string[] = SCOPES
  const unknown = scopes.filter(scope => !known.includes(scope))
  if (unknown.length > 0)
    throw new UsageError(`there is no scope ${unknown.map(one => JSON.stringify(one)).join(', ')}: ${SCOPES.join(', ')}`)
  return scopes
}

/** From a duration of ISO 8601, a day (its beginning in UTC) or a time. */
function expiryIn(given: string | undefined): string | null {
  if (given === undefined) return null
  const at = given.startsWith('P') ? DateTime.utc().plus(Duration.fromISO(given)) : DateTime.fromISO(given, { zone: 'utc' })
  if (!at.isValid) throw new UsageError('--expires must be a duration such as P90D, a day such as 2027-01-31, or a time')
  if (at <= DateTime.utc()) throw new UsageError('--expires must lie in the future')
  const text = at.toUTC().toISO()
  if (!formats['date-time'](text)) throw new UsageError('--expires must lie before the year 10000')
  return text
}

function networksIn(given: string[]): string[] {
  const wrong = given.filter(text => !formats.network(text))
  if (wrong.length > 0)
    throw new UsageError(`--allow-ip must be an IP address or a network, such as 203.0.113.0/24: ${wrong.map(printable).join(', ')}`)
  return given
}

const createKeyAction = action({
  name: 'create',
  summary: 'create a named key; prints it once',
  options: {
    name: { value: 'NAME', says: 'your name for it, such as the program that has it' },
    scopes: {
      value: 'SCOPES',
      says: 'what it opens, separated by commas: a resource and read or write, such as events:read,exports:write',
    },
    ...ONE_PROJECT,
    sandbox: { says: 'for the sandbox of the project' },
    expires: {
      value: 'WHEN',
      says: 'a duration (P90D), or the day (its beginning in UTC) or time from which on it opens nothing; without it, it works until it is revoked',
    },
    'allow-ip': {
      value: 'NETWORK',
      isMany: true,
      says: 'an IP address or a network from which it works; may be repeated; without it, from everywhere',
    },
  },
  details: 'A named key opens API v4 in one environment. Give each program its own, with the scopes that it needs.',
  examples: [
    'key create --name "Warehouse export" --scopes exports:read,exports:write',
    'key create --name "Nightly import" --scopes events:write --expires P90D --allow-ip 203.0.113.0/24 --sandbox',
  ],
  async run({ values }, context) {
    const name = nameIn(values.name)
    const scopes = scopesIn(values.scopes)
    const expiresAt = expiryIn(values.expires)
    const allowedAddresses = networksIn(values['allow-ip'] ?? [])
    const by = actorOf(context.env)
    const { key, row, kind, project } = await withDatabase(context, pool =>
      transaction(pool, async tx => {
        const { project, environment, kind } = await environmentNamed(tx, values)
        await lockProject(tx, project)
        const made = await createNamedKey(tx, { environment, kind, by }, { name, scopes, expiresAt, allowedAddresses })
        const trail = { project, environment, actor: by, operation: 'key create', requestId: null }
        const { id, scopes: given, expires_at, allowed_addresses } = made.row
        await audit(tx, trail, { resource: 'api_key', id, after: { id, name, scopes: given, expires_at, allowed_addresses } })
        return { ...made, kind, project }
      }),
    ).catch(error => {
      throw error instanceof Refusal ? new CliError(error.message) : error
    })
    context.out(`Key ${row.id} for the ${kind} of project ${project}`)
    context.out(`  Key      ${key}`)
    context.out(`  Scopes   ${row.scopes.join(', ')}`)
    context.out(`  Expires  ${row.expires_at ?? 'never'}`)
    if (row.allowed_addresses.length > 0) context.out(`  From     ${row.allowed_addresses.join(', ')}`)
    context.out('It is not shown again.')
    return 0
  },
})

const HEADERS = ['id', 'name', 'project', 'environment', 'ends with', 'scopes', 'expires', 'from', 'created', 'last used', 'last address']

const listKeysAction = action({
  name: 'list',
  summary: 'all named keys that are not revoked, with their last use',
  options: { project: { value: 'PROJECT', says: 'only those of this project' }, ...JSON_OPTION },
  examples: ['key list', 'key list --project 1 --json'],
  async run({ values }, { env, signal, out }) {
    const project = projectNumber(values.project)
    const keys = await withDatabase({ env, signal }, pool => installedKeys(pool, { project, id: null }))
    if (values.json) out(jsonText(keys.map(({ environment, environment_kind, ...key }) => ({ ...key, environment: environment_kind }))))
    else if (keys.length === 0) out('There are no named keys.')
    else {
      const rows = keys.map(key => [
        ...[key.id, key.name, String(key.project), key.environment_kind, key.last_four, key.scopes.join(' '), key.expires_at ?? 'never'],
        ...[key.allowed_addresses.join(' ') || 'everywhere', key.created_at, key.last_used_at ?? '-', key.last_used_address ?? '-'],
      ])
      for (const line of textTable(HEADERS, rows, ['project'])) out(line)
    }
    return 0
  },
})

const revokeKeyAction = action({
  name: 'revoke',
  summary: 'end a named key at once',
  arguments: [{ name: 'KEY', says: 'the id of a named key, see "key list"' }],
  examples: ['key revoke key_0mfa1k3p2000q7w2e8r1'],
  async run({ args: [id] }, { env, signal, out }) {
    if (id === undefined) throw new UsageError('which key? "key list" shows the ids')
    await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const [key] = await installedKeys(tx, { project: null, id })
        if (!key) throw new CliError(`${printable(id)}: there is no such key, or it is revoked`)
        const { environment, project } = key
        const { name, scopes } = await revokeNamedKey(tx, environment, id)
        const trail = { project, environment, actor: actorOf(env), operation: 'key revoke', requestId: null }
        await audit(tx, trail, { resource: 'api_key', id, before: { id, name, scopes } })
      }),
    )
    out(`Key ${id} opens nothing any more.`)
    return 0
  },
})

export const keyGroup: GroupDefinition = {
  name: 'key',
  summary: 'named keys with scopes',
  commands: [createKeyAction, listKeysAction, revokeKeyAction],
}

export const key = commandOf(keyGroup)
