import type { Db } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { GrantOwner } from '../grants/grant.ts'

/** What became of a call. `confirming`: it waits for a confirmation. `failed`: the fault was ours. */
export type CallOutcome = 'done' | 'refused' | 'failed' | 'confirming'

/** `arguments`: without secrets. `user`: the customer whom they name. */
export type NewCall = { tool: string; arguments: object; user: string | null; reason: string | null; isDryRun: boolean }

/** Records a call before it is made. Returns the id of the record. */
export async function beginCall(db: Db, owner: GrantOwner, call: NewCall): Promise<string> {
  const id = orderedId('mcp')
  await db.query(
    `insert into mcp_calls (id, operator, client_id, client_name, grant_id, project, environment, tool, arguments, user_id, reason, is_dry_run)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      ...[id, owner.operator, owner.clientId, owner.clientName, owner.keyId, owner.project, owner.environment],
      ...[call.tool, JSON.stringify(call.arguments), call.user, call.reason, call.isDryRun],
    ],
  )
  return id
}

/** Adds what became of it. `status`: of the answer. */
export async function endCall(db: Db, id: string, outcome: CallOutcome, status: number): Promise<void> {
  await db.query('update mcp_calls set outcome = $2, status = $3 where id = $1', [id, outcome, status])
}

export type RecordedCall = {
  id: string
  called_at: string
  operator: string
  client_id: string
  client_name: string
  grant_id: string
  project: number
  environment: EnvironmentKind
  tool: string
  arguments: Record<string, unknown> | null
  reason: string | null
  is_dry_run: boolean
  outcome: CallOutcome | null
  status: number | null
}

/** The latest calls, of a project or of all (null), newest first. For the operator only: no key gives access to this list. */
export async function listCalls(db: Db, { project, limit }: { project: number | null; limit: number }): Promise<RecordedCall[]> {
  const { rows } = await db.query<RecordedCall>(
    `select c.id, c.called_at, coalesce(o.email, c.operator) as operator, c.client_id, c.client_name, c.grant_id, c.project, e.kind as environment,
       c.tool, c.arguments, c.reason, c.is_dry_run, c.outcome, c.status
     from mcp_calls c join environments e on e.id = c.environment left join operators o on o.id = c.operator
     where $1::int is null or c.project = $1 order by c.called_at desc, c.id desc limit $2`,
    [project, limit],
  )
  return rows
}

/** Of the calls that name the customer the pseudonym alone is left of the arguments, and no reason. */
export const ERASE_FROM_CALLS = `
update mcp_calls set user_id = $3, arguments = jsonb_build_object('user_id', $3::text), reason = null
where environment = $1 and (user_id = $2 or strpos(arguments::text, to_json($2::text)::text) > 0 or strpos(reason, $2) > 0)`
