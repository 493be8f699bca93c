import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'

export type SendingAutomation = { id: string; name: string; status: 'active' | 'paused' | 'inactive' }

/** So many are told of each push. */
const MOST = 50

/**
 * By the id of a push, the automations that name it in their present version, whatever their status: those that prevent its deletion first, then by
 * name. Reads each automation of the environment once, for any number of pushes.
 */
export async function automationsSending(db: Db, environment: Environment, pushes: string[]): Promise<Map<string, SendingAutomation[]>> {
  const { rows } = await db.query<SendingAutomation & { push: string }>({
    name: 'automations-sending-pushes',
    text: `select push, id, name, status from (
             select n.push, a.id, a.name, a.status,
               row_number() over (partition by n.push order by a.status = 'inactive', a.name collate "C", a.id) as place
             from automations a join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
             cross join lateral (select v.data -> 'actions' ->> 'push' as push
               union select jsonb_path_query(v.data, '$.steps.** ? (@.type == "push").push') #>> '{}') n
             where a.environment = $1 and n.push = any ($2)) r
           where place <= ${MOST} order by push, place`,
    values: [environment, pushes],
  })
  const byPush = Map.groupBy(rows, ({ push }) => push)
  return new Map([...byPush].map(([push, own]) => [push, own.map(({ push: _push, ...automation }) => automation)]))
}
