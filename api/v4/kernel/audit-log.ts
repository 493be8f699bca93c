import { type AuditRow, listAudit } from '../../../domain/kernel/audit/list.ts'
import { expensiveRead } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

const entry = ({ actor_kind, actor_id, ...row }: AuditRow) => ({
  object: 'audit_entry' as const,
  url: `/v4/audit-log/${row.id}`,
  actor: { kind: actor_kind, id: actor_id },
  ...row,
})

export const v4ListAuditLog = expensiveRead('v4ListAuditLog', async ({ query, project, environment, db }) => {
  const { limit, starting_after: after } = query
  const filter = {
    resources: query['filter[resource][]'],
    operations: query['filter[operation][]'],
    actors: query['filter[actor][]'],
    resourceId: query['filter[resource_id]'],
    actorId: query['filter[actor_id]'],
    id: query['filter[id]'],
    from: query.from,
    to: query.to,
  }
  const { rows, restarted } = await listAudit(db, { project, environment, filter, limit, after })
  return { body: cursorPage({ url: '/v4/audit-log', rows, limit, item: entry }), headers: restartedHeader(restarted) }
})
