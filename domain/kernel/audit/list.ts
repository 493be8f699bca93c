import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { micros } from '../time/instant.ts'
import type { ActorKind } from './record.ts'

export type AuditRow = {
  id: string
  created_at: string
  actor_kind: ActorKind
  actor_id: string | null
  operation: string
  resource: string
  resource_id: string | null
  request_id: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  reason: string | null
}

type AuditFilter = {
  resources?: string[] | undefined
  operations?: string[] | undefined
  actors?: ActorKind[] | undefined
  resourceId?: string | undefined
  actorId?: string | undefined
  id?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

type AuditQuery = { project: number; environment: Environment; filter: AuditFilter; limit: number; after: string | undefined }

const COLUMNS = 'a.id, a.created_at, actor_kind, actor_id, operation, resource, resource_id, request_id, before, after, reason'

/** In whole seconds, as entries are stamped. */
const wholeSecond = (time: string | undefined) =>
  time === undefined ? null : new Date(Math.floor(micros(time) / 1_000_000) * 1000).toISOString()

/**
 * The entries of the environment and of the project as a whole, newest first, after the entry that the cursor names. `restarted`: the
 * cursor names no entry. One row more than `limit` when there are more.
 */
export async function listAudit(
  db: Db,
  { project, environment, filter, limit, after }: AuditQuery,
): Promise<{ rows: AuditRow[]; restarted: boolean }> {
  const known =
    after === undefined
      ? undefined
      : await db.query('select 1 from audit_log where id = $1 and project = $2 and (environment = $3 or environment is null)', [
          after,
          project,
          environment,
        ])
  const restarted = known?.rowCount === 0
  // The indexes include the columns of the filters, so a rare match is found without reading the entries before it.
  const page = (scope: string) =>
    `(select id, created_at from audit_log where ${scope}
        and ($4::text[] is null or resource = any($4)) and ($5::text[] is null or operation = any($5))
        and ($6::text[] is null or actor_kind = any($6)) and ($7::text is null or resource_id = $7)
        and ($11::text is null or actor_id = $11) and ($12::text is null or id = $12)
        and ($8::timestamptz is null or created_at >= $8) and ($9::timestamptz is null or created_at < $9)
        and ($10::text is null or (created_at, id) < (select created_at, id from audit_log where id = $10))
      order by created_at desc, id desc limit $3)`
  const { rows } = await db.query<AuditRow>(
    `select ${COLUMNS}
     from (${page('environment = $2')} union all ${page('environment is null and project = $1')} order by created_at desc, id desc limit $3) p
     join audit_log a using (id) order by a.created_at desc, a.id desc`,
    [
      project,
      environment,
      limit + 1,
      filter.resources ?? null,
      filter.operations ?? null,
      filter.actors ?? null,
      filter.resourceId ?? null,
      wholeSecond(filter.from),
      wholeSecond(filter.to),
      restarted ? null : (after ?? null),
      filter.actorId ?? null,
      filter.id ?? null,
    ],
  )
  return { rows, restarted }
}
