import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../environment.ts'

export type ActorKind = 'secret_key' | 'api_key' | 'project_key' | 'grant' | 'operator' | 'cli' | 'system'

export type Actor = { kind: ActorKind; id: string | null }

/**
 * The actor of a mutation, its project and environment, and its request. `environment` is null for what belongs to the project as a whole.
 * `changes`: of a dry run, which keeps its entries there and stores none.
 */
export type Trail = {
  project: number
  environment: Environment | null
  actor: Actor
  operation: string
  requestId: string | null
  changes?: AuditEntry[]
}

/**
 * `before` and `after`: the object as the API shows it, without any secret; `before` is null for a creation, `after` for a deletion.
 * `user`: the id of the user that the entry is about. `isSend`: a dry run tells it as something that is sent.
 */
export type AuditEntry = {
  resource: string
  id: string | null
  before?: object | null
  after?: object | null
  user?: string
  reason?: string
  isSend?: true
}

/** Writes the entry of one mutation, in the mutation's own transaction. */
export async function audit(tx: Tx, trail: Trail, entry: AuditEntry): Promise<void> {
  const { project, environment, actor, operation, requestId, changes } = trail
  if (changes) {
    changes.push(entry)
    return
  }
  await tx.query({
    name: 'audit',
    text: `insert into audit_log (project, environment, id, created_at, actor_kind, actor_id, operation, resource, resource_id, user_id,
             request_id, before, after, reason)
           select $1, $2, $3, date_trunc('second', clock_timestamp() + coalesce((select clock_offset from environments where id = $2), '0')),
             $4, $5, $6, $7, $8, $9, $10, $11, $12, $13`,
    values: [
      project,
      environment,
      orderedId('aud'),
      actor.kind,
      actor.id,
      operation,
      entry.resource,
      entry.id,
      entry.user ?? null,
      requestId,
      entry.before ? JSON.stringify(entry.before) : null,
      entry.after ? JSON.stringify(entry.after) : null,
      entry.reason ?? null,
    ],
  })
}
