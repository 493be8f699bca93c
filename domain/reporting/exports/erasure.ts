import type { Tx } from '../../../store/connect.ts'
import { createRun, lockJobsOfRuns, revokeClaims } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { recordedTime } from '../../users/user.ts'
import { EXPORT_WORKFLOW } from './create.ts'
import { lockErasureShared } from './erasure-lock.ts'
import { FILE_DAYS, typesOrderedBy } from './export.ts'

export const ERASE_WORKFLOW = { workflow: 'erase-export', version: 1 } as const

const BY_USERS = typesOrderedBy('users')

/** A run's subject: the export, and the pseudonym of the user whose rows the run deletes from its files. */
const erasureSubject = (exportId: string, pseudonym: string) => `${exportId}:${pseudonym}`
export const exportToErase = (subject: string): { exportId: string; pseudonym: string } => {
  const [exportId = '', pseudonym = ''] = subject.split(':')
  return { exportId, pseudonym }
}

/**
 * Deletes a user from the records of exports, and schedules runs that rewrite the files that may have rows of the user. Part of the
 * transaction that erases the user, before it deletes the user's events and the user: these tell which files are affected.
 */
export async function eraseFromExports(tx: Tx, environment: Environment, user: string, pseudonym: string): Promise<void> {
  await lockErasureShared(tx, environment)
  // The user is locked before the user with the next lower id, which `eraseEdges` may lock: two erasures of neighbours wait for each other,
  // but cannot deadlock.
  await tx.query('select 1 from users where environment = $1 and id = $2 for update', [environment, user])
  await lockExportRuns(tx, environment)
  await tx.query('delete from export_members where environment = $1 and user_id = $2', [environment, user])
  await eraseEdges(tx, environment, user)
  await scheduleRewriting(tx, environment, user, pseudonym)
}

/**
 * Locks the runs of unfinished exports that may store a user's id at this moment: in a list of members, or as the edge of a part. Their next
 * record waits for the commit of this transaction and reads what is left then; this transaction sees what they have recorded before.
 */
async function lockExportRuns(tx: Tx, environment: Environment): Promise<void> {
  const { workflow } = EXPORT_WORKFLOW
  const runs = `
    select r.id from exports x join runs r on r.environment = x.environment and r.subject = x.id and r.workflow = '${workflow}'
    where x.environment = $1 and x.status in ('new', 'processing') and (x.segment_id is not null or x.type in (${BY_USERS}))`
  await lockJobsOfRuns(tx, runs, [environment])
}

/**
 * Replaces the user as the edge of a part, which is the part's last row: by the nearest row before it with the same time, or by no row of
 * that time. The other rows of the parts stay the same. A worker that has the former edge in its memory must stop: the higher fence revokes
 * its claim, and its lease runs out.
 */
async function eraseEdges(tx: Tx, environment: Environment, user: string): Promise<void> {
  const { rows } = await tx.query<{ run: number; n: number }>(
    // From the exports on, whatever the statistics say: all runs of the environment are many more.
    `select s.run, s.n from users u
       join exports x on x.environment = u.environment and x.type in (${BY_USERS}) and ${recordedTime('u')} >= x.window_from and ${recordedTime('u')} < x.window_to
       cross join lateral (select id from runs where environment = x.environment and subject = x.id and workflow = $3 offset 0) r
       cross join lateral (select run, n from steps where run = r.id and name like 'edge-%' and result ->> 1 = u.id offset 0) s
     where u.environment = $1 and u.id = $2`,
    [environment, user, EXPORT_WORKFLOW.workflow],
  )
  if (rows.length === 0) return
  // Locked: otherwise the erasure of that user, at the same time as this one, would not find its id as the new edge.
  const before = await tx.query<{ id: string }>(
    `select p.id from users p where p.environment = $1 and p.id < $2
       and ${recordedTime('p')} = (select ${recordedTime('u')} from users u where environment = $1 and id = $2)
     order by p.id desc limit 1 for key share`,
    [environment, user],
  )
  const runs = rows.map(row => row.run)
  await tx.query(
    `update steps s set result = jsonb_build_array(s.result -> 0, $3::text, '') from unnest($1::bigint[], $2::int[]) e(run, n)
     where s.run = e.run and s.n = e.n`,
    [runs, rows.map(row => row.n), before.rows[0]?.id ?? ''],
  )
  await revokeClaims(tx, runs)
}

// Bisection of the user's sorted offsets counts those below an edge: a user with a million events costs no more than another. What the
// storage may still have decides, and no date: the file of an expired export and the parts of a failed one stay until they are removed. A user
// may get a purchase while a file of purchases is being written: such a file may have every user who was recorded before its end.
const AFFECTED = `
  with user_offsets as materialized (
    select partition, array_agg(log_offset order by log_offset) as offsets from events where environment = $1 and user_id = $2 group by partition
  )
  select x.id from exports x join users u on u.environment = x.environment and u.id = $2
  where x.environment = $1 and x.file_removed_at is null
    and case when x.type in (${BY_USERS}) then ${recordedTime('u')} >= x.window_from and ${recordedTime('u')} < x.window_to
      when x.type in (${typesOrderedBy('purchases')})
        then x.expires_at is null or ${recordedTime('u')} < x.expires_at - make_interval(days => ${FILE_DAYS})
      else exists (select 1 from user_offsets t where width_bucket(x.to_offsets[t.partition + 1] - 1, t.offsets)
        > width_bucket(x.from_offsets[t.partition + 1] - 1, t.offsets)) end
  order by x.id for no key update of x`

async function scheduleRewriting(tx: Tx, environment: Environment, user: string, pseudonym: string): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(
    `with affected as materialized (${AFFECTED})
     update exports x set to_erase = x.to_erase || $3::text from affected a where x.environment = $1 and x.id = a.id returning x.id`,
    [environment, user, pseudonym],
  )
  for (const { id } of rows) await createRun(tx, environment, { ...ERASE_WORKFLOW, subject: erasureSubject(id, pseudonym) })
}
