import type { Db } from '../../../store/connect.ts'

/**
 * Broken promises of production, of all projects. `integrationsInError`: now. `exhaustedDeliveries`, `failedAutomationRuns`: within 24 hours; a delivery
 * that was sent again is not counted.
 */
export type Broken = { integrationsInError: number; exhaustedDeliveries: number; failedAutomationRuns: number }

/** The most rows that are read for one figure. To count more would take time when the service is in trouble. */
const MOST_READ = 10_000

// As the indexes have it.
const ENDED = `(ended_at at time zone 'UTC')`
const FINISHED = `(finished_at at time zone 'UTC')`
const LATELY = (time: string) => `${time} > (now() - interval '24 hours') at time zone 'UTC' and ${time} <= now() at time zone 'UTC'`

// The newest rows of all environments are read, and those of production counted. The clock of production is real time: what a sandbox has in the
// future is not read.
const BROKEN = `
select
  (select count(*) from (
    select from integrations i join environments e on e.id = i.environment and e.kind = 'production'
    where i.active = 2 and i.deleted_at is null limit ${MOST_READ}) o)::int as "integrationsInError",
  (select count(*) from (
    select environment, integration from deliveries where status = 'failed' and reason in ('exhausted', 'expired') and ${LATELY(ENDED)}
    order by ${ENDED} desc limit ${MOST_READ}) d
    join environments e on e.id = d.environment and e.kind = 'production'
    join integrations i on i.number = d.integration and i.deleted_at is null)::int as "exhaustedDeliveries",
  (select count(*) from (
    select environment from unsuccessful_runs where status = 'failed' and ${LATELY(FINISHED)}
    order by ${FINISHED} desc limit ${MOST_READ}) r
    join environments e on e.id = r.environment and e.kind = 'production')::int as "failedAutomationRuns"`

export async function countBroken(db: Db): Promise<Broken> {
  return (await db.query<Broken>({ name: 'count-broken', text: BROKEN })).rows[0]!
}
