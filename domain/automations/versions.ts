import type { Db } from '../../store/connect.ts'
import type { Actor, ActorKind } from '../kernel/audit/record.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Page } from '../kernel/page.ts'
import { getAutomation } from './automation.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { completeData } from './complete.ts'

/** `created_at` and `created_by` are null for a version of which the audit log had no entry any more when they began to be stored. */
export type AutomationVersion = {
  version: number
  is_current: boolean
  created_at: string | null
  created_by: Actor | null
  data: AutomationData
}

type VersionRow = {
  version: number
  created_at: string | null
  actor_kind: ActorKind | null
  actor_id: string | null
  data: AutomationData
}

const PAGE = `
  select version, created_at, actor_kind, actor_id, data from automation_versions
  where environment = $1 and automation_id = $2 and version < coalesce($3::int, 2147483647) order by version desc limit $4`

/**
 * The versions that are still stored, newest first, after the version that the cursor `after` names; one row more than `limit` when there are
 * more. A version goes when no run is pinned to it any more, so a cursor whose version is gone goes on where it stood. Throws `not_found`.
 */
export async function listVersions(
  db: Db,
  environment: Environment,
  automation: string,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<Page<AutomationVersion>> {
  const { version: current } = await getAutomation(db, environment, automation)
  const before = after === undefined ? null : versionOf(after, current)
  const { rows } = await db.query<VersionRow>(PAGE, [environment, automation, before, limit + 1])
  return {
    rows: rows.map(({ actor_kind, actor_id, data, ...row }) => ({
      ...row,
      is_current: row.version === current,
      created_by: actor_kind && { kind: actor_kind, id: actor_id },
      data: completeData(data),
    })),
    restarted: after !== undefined && before === null,
  }
}

/** The version that a cursor names; null: there never was one. */
const versionOf = (cursor: string, current: number): number | null =>
  /^[1-9][0-9]{0,8}$/.test(cursor) && Number(cursor) <= current ? Number(cursor) : null
