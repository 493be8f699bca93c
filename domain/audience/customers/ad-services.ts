import type { Db, Tx } from '../../../store/connect.ts'
import { createRun } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { isoMicros } from '../../kernel/time/instant.ts'
import { lockUsers } from '../../users/user.ts'
import { type AppUser, findAppUser, type ReportedTraits, recordReportedTraits } from './app-user.ts'

/** The workflow that fetches from Apple which ad led to an installation; the subject of a run is the number of the token. */
export const AD_SERVICES_WORKFLOW = { workflow: 'ad_services', version: 1 }

/**
 * `isSample`: the answer for builds of developers. `organic`: Apple knows of no ad. `refused`: the token is invalid. `unanswered`: Apple
 * knew nothing of the token, or did not answer in time.
 */
export type AdServicesResult =
  | { is: 'attributed'; isSample: boolean; attribution: NonNullable<ReportedTraits['attribution']> }
  | { is: 'organic' | 'refused' | 'unanswered' }

// Apps send a new token at every start. One token of a user is sent to Apple, and another one only when the first gave no answer.
const KEEP = `
  insert into ad_services_tokens as t (environment, user_id, token, token_hash, told_at)
  select u.environment, u.id, $3::text, md5($3::text), $4::timestamptz from users u where u.environment = $1 and u.id = $2
  on conflict (environment, user_id) do update
    set token = excluded.token, token_hash = excluded.token_hash, told_at = excluded.told_at, result = null, ended_at = null
    where t.result in ('refused', 'unanswered') and t.token_hash <> excluded.token_hash
  returning id`

/** Stores the token of a user, with the run that sends it to Apple. The run is on real time, and stands under the project's `production`. */
export async function requestAdServices(tx: Tx, { environment, id, now }: AppUser, production: Environment, token: string): Promise<void> {
  // A user who was erased meanwhile does not exist any more: nothing is stored.
  await lockUsers(tx, environment, [], [id])
  const { rows } = await tx.query<{ id: number }>({
    name: 'keep-ad-services-token',
    text: KEEP,
    values: [environment, id, token, isoMicros(now)],
  })
  if (rows[0]) await createRun(tx, production, { ...AD_SERVICES_WORKFLOW, subject: String(rows[0].id) })
}

/** The token that is to be sent to Apple; null: there is an answer, or the user was erased. */
export async function openAdServicesToken(db: Db, id: number): Promise<string | null> {
  const { rows } = await db.query<{ token: string }>({
    name: 'open-ad-services-token',
    text: 'select token from ad_services_tokens where id = $1 and result is null',
    values: [id],
  })
  return rows[0]?.token ?? null
}

const OPEN = `
  select t.environment, t.user_id as user, (extract(epoch from t.told_at) * 1000000)::bigint as "sentAt", e.kind = 'production' as is_live
  from ad_services_tokens t join environments e on e.id = t.environment where t.id = $1 and t.result is null`

/** Stores the answer: the attribution of the user counts as of the time at which the app sent the token. */
export async function endAdServices(tx: Tx, id: number, result: AdServicesResult): Promise<void> {
  const { rows } = await tx.query<{ environment: Environment; user: string; sentAt: number; is_live: boolean }>(OPEN, [id])
  const [open] = rows
  if (!open) return
  const { environment, sentAt } = open
  // Locks the user before the token, in the order of an erasure.
  await lockUsers(tx, environment, [], [open.user])
  const counts = result.is === 'attributed' && !(result.isSample && open.is_live)
  const ended = await tx.query(
    'update ad_services_tokens set token = null, result = $2, ended_at = clock_timestamp() where id = $1 and result is null',
    [id, result.is === 'attributed' && !counts ? 'organic' : result.is],
  )
  if (ended.rowCount === 0 || !counts) return
  const user = await findAppUser(tx, [environment], open.user)
  if (user) await recordReportedTraits(tx, { ...user, now: sentAt }, { attribution: result.attribution })
}
