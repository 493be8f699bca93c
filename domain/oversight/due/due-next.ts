import type { Db } from '../../../store/connect.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from '../../durable/jobs/groups.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { DELIVERY_DUE } from '../../integrations/deliveries/delivery.ts'
import { PROBE_DUE } from '../../integrations/deliveries/probe.ts'
import type { Environment } from '../../kernel/environment.ts'
import { isoMicros } from '../../kernel/time/instant.ts'
import { SUBSCRIPTION_DUE } from '../../purchases/subscriptions/store.ts'
import { REPORT_SLOT_DUE } from '../../reporting/reports/report.ts'

/** What a due job is about; null: it has ended meanwhile. Names are null where they are gone or not to be seen. */
export type DueSubject =
  | { is: 'run'; id: string; automation_id: string; name: string | null; step: string | null; status: string; user_id: string | null }
  | {
      is: 'delivery'
      id: string
      integration_id: string
      title: string | null
      event_name: string | null
      attempts: number
      user_id: string | null
    }
  | { is: 'report'; id: string; name: string | null }
  | { is: 'subscription'; user_id: string | null; before: string | null; after: string | null }
  | { is: 'probe'; id: string; title: string | null }
  | { is: 'workflow'; workflow: string; subject: string }
/** `at`: with microseconds. `id`: unique among the jobs of its kind. */
export type DueJob = { kind: string; id: number; micros: number; subject: DueSubject | null }

const SUBJECTS: Record<string, string> = {
  [AUTOMATION_RUN_DUE]: `(select jsonb_build_object('is', 'run', 'id', r.id, 'automation_id', r.automation_id, 'step', r.current_step, 'status', r.status,
      'user_id', r.user_id, 'name', (select a.name from automations a where a.environment = $1 and a.id >= r.automation_id and a.id <= r.automation_id
        order by a.id limit 1))
    from automation_runs r where r.number = d.id)`,
  [DELIVERY_DUE]: `(select jsonb_build_object('is', 'delivery', 'id', v.id, 'integration_id', i.id, 'title', i.title, 'event_name', v.event_name,
      'attempts', v.attempt_count, 'user_id', v.user_id)
    from deliveries v cross join lateral (select id, title from integrations where number = v.integration) i where v.number = d.id)`,
  [REPORT_SLOT_DUE]: `(select jsonb_build_object('is', 'report', 'id', r.id, 'name', r.report_name) from scheduled_reports r where r.number = d.id)`,
  [SUBSCRIPTION_DUE]: `(select jsonb_build_object('is', 'subscription', 'user_id', s.user_id, 'before', subscription_state(s.state_at, s.states, n.now),
      'after', subscription_state(s.state_at, s.states, d.due_at)) from subscriptions s where s.id = d.id)`,
  [PROBE_DUE]: `(select jsonb_build_object('is', 'probe', 'id', i.id, 'title', i.title) from integrations i where i.number = d.id)`,
}
const subject = Object.entries(SUBJECTS).map(([kind, sql]) => `when '${kind}' then ${sql}`)

const STATEMENT = `
  with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now), page as materialized (
    select d.* from groups g cross join lateral (
      select kind, id, due_at from due
      where ${OF_GROUP} and (due_at, id) > ($2::timestamptz, case when g.kind < $3 then 9223372036854775807 when g.kind = $3 then $4::bigint else -1 end)
      order by due_at, id limit $5) d
    order by due_at, kind, id limit $5
  )
  select d.kind, d.id, (extract(epoch from d.due_at) * 1000000)::bigint as micros, case d.kind ${subject.join(' ')} else
    (select jsonb_build_object('is', 'workflow', 'workflow', r.workflow, 'subject', r.subject) from runs r where r.id = d.id and r.job_kind = d.kind) end as subject
  from page d cross join n order by d.due_at, d.kind, d.id`

const CURSOR = /^(\d{1,16})\.([A-Za-z0-9._-]{1,100})\.(\d{1,18})$/

/** `next`: the cursor of the next page; null: there is none. `restarted`: the cursor is none of this list. */
export type DuePage = { jobs: DueJob[]; next: string | null; restarted: boolean }

/** What falls due in an environment, the earliest first; what is due already comes first. */
export async function readDueNext(
  db: Db,
  environment: Environment,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<DuePage> {
  const [, at, kind, id] = CURSOR.exec(after ?? '') ?? []
  const isPlace = id !== undefined && Number.isSafeInteger(Number(at))
  const { rows } = await db.query<DueJob>({
    name: 'due-next',
    text: STATEMENT,
    values: [environment, isPlace ? isoMicros(Number(at)) : '-infinity', isPlace ? kind : '', isPlace ? id : '-1', limit + 1],
  })
  const jobs = rows.slice(0, limit)
  const last = rows.length > limit ? jobs.at(-1)! : null
  return { jobs, next: last && `${last.micros}.${last.kind}.${last.id}`, restarted: after !== undefined && !isPlace }
}
