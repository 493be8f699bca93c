import { audit } from '../../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { invalidField, Refusal } from '../../../domain/kernel/refusal.ts'
import { actsForOperator, assertNotReplaced, lockProject, type Principal } from '../../../domain/operators/principal.ts'
import { permits } from '../../../domain/projects/authority.ts'
import { createNamedKey, listNamedKeys, type NamedKey, revokeNamedKey } from '../../../domain/projects/named-keys.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import { inTransaction, NO_STORE, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

type Shown = AnswerBody<'v4ListApiKeys'>['data'][number]

const apiKey = (row: NamedKey, environment: EnvironmentKind): Shown => ({
  object: 'api_key',
  id: row.id,
  url: `/v4/api-keys/${row.id}`,
  name: row.name,
  environment,
  scopes: row.scopes as Shown['scopes'],
  last_four: row.last_four,
  expires_at: row.expires_at,
  allowed_addresses: row.allowed_addresses,
  created_at: row.created_at,
  created_by: { kind: row.created_by_kind, id: row.created_by },
  last_used_at: row.last_used_at,
  last_used_address: row.last_used_address,
})

/** A grant, or a role, gives a key no scope that it has not. */
function assertGiven({ kind, scopes }: Principal, wanted: readonly string[]): void {
  const missing = wanted.filter(scope => !permits(scopes, scope))
  if (missing.length > 0)
    throw new Refusal('control_forbidden', `${kind === 'grant' ? 'this grant' : 'your role'} has no scope ${missing.join(', ')} to give`)
}

export const v4ListApiKeys = onPool('v4ListApiKeys', async ({ query, environment, environmentKind, principal, db }) => {
  const { limit, starting_after: after } = query
  const { rows, restarted } = await listNamedKeys(db, environment, limit, after)
  await assertNotReplaced(db, principal)
  const body = cursorPage({ url: '/v4/api-keys', rows, limit, item: row => apiKey(row, environmentKind) })
  return { body, headers: restartedHeader(restarted) }
})

export const v4CreateApiKey = inTransaction(
  'v4CreateApiKey',
  async ({ body, project, environment, environmentKind, principal, trail, dryRun, tx }) => {
    if (body.environment !== undefined && body.environment !== environmentKind)
      throw invalidField('environment', `must be ${environmentKind}, that of the key that makes the request`)
    const expires = body.expires_at == null ? null : Math.floor(Date.parse(body.expires_at) / 1000) * 1000
    // Real time, as for the key.
    if (expires !== null && expires <= Date.now()) throw invalidField('expires_at', 'must lie in the future')
    // Postgres knows fewer offsets than the format.
    const expiresAt = expires === null ? null : new Date(expires).toISOString()
    await lockProject(tx, project)
    await assertNotReplaced(tx, principal)
    if (actsForOperator(principal)) assertGiven(principal, body.scopes)
    const maker = principal.kind === 'named' ? principal.keyId : undefined
    const wanted = { name: body.name, scopes: body.scopes, expiresAt, allowedAddresses: body.allowed_addresses ?? [] }
    const { key, row } = await createNamedKey(tx, { environment, kind: environmentKind, by: trail.actor, maker }, wanted)
    const made = apiKey(row, environmentKind)
    // The real request makes another key.
    await audit(tx, trail, { resource: 'api_key', id: row.id, after: dryRun ? { ...made, last_four: null } : made })
    return { body: { ...made, key } }
  },
  NO_STORE,
)

export const v4RevokeApiKey = inTransaction(
  'v4RevokeApiKey',
  async ({ path, project, environment, environmentKind, principal, trail, tx }) => {
    await lockProject(tx, project)
    await assertNotReplaced(tx, principal)
    const row = await revokeNamedKey(tx, environment, path.key_id)
    await audit(tx, trail, { resource: 'api_key', id: row.id, before: apiKey(row, environmentKind) })
    return { body: undefined }
  },
)
