import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { READ_USES, type Use, type Uses, usesOfKind } from './uses.ts'

/**
 * By the id of a push, the automations that name it in their present version, whatever their status, with the steps that do: those that prevent
 * its deletion first, then by name. Reads each automation of the environment once, for any number of pushes.
 */
export async function automationsSending(db: Db, environment: Environment, pushes: string[]): Promise<Map<string, Uses>> {
  const { rows } = await db.query<Omit<Use, 'object'> & { push: string }>({
    name: 'automations-sending-pushes',
    text: `select push, id, name, status, parts, blocks from (
             select n.push, a.id, a.name, a.status, n.parts, b.blocks,
               row_number() over (partition by n.push order by not b.blocks, a.name collate "C", a.id) as place
             from automations a join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
             cross join lateral (select a.status in ('active', 'paused') as blocks) b
             cross join lateral (
               select push, coalesce(jsonb_agg(jsonb_build_object('id', step, 'name', null) order by step) filter (where step is not null), '[]') as parts
               from (select v.data -> 'actions' ->> 'push' as push, null as step
                 union select s ->> 'push', s ->> 'id' from jsonb_path_query(v.data, '$.steps.** ? (@.type == "push")') s) named
               group by push) n
             where a.environment = $1 and n.push = any ($2)) r
           where place <= ${READ_USES} order by push, place`,
    values: [environment, pushes],
  })
  const byPush = Map.groupBy(rows, ({ push }) => push)
  return new Map(
    [...byPush].map(([push, own]) => [push, usesOfKind(own.map(({ push: _push, ...use }) => ({ object: 'automation', ...use })))]),
  )
}
