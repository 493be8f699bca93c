import type { Db, Tx } from '../../store/connect.ts'
import { bearerToken, orderedId } from '../../store/ids.ts'
import { notFound } from '../kernel/refusal.ts'
import { hashKey } from '../projects/secrets.ts'

export type Operator = { id: string; email: string; name: string; isOwner: boolean }

/**
 * `isRecent`: the operator has given a password, a code or a passkey within the last ten minutes. `authenticatedAt`: null where a provider does
 * not say it. `isByProvider`: single sign-on has made the session.
 */
export type SignedIn = {
  operator: Operator
  session: string
  authenticatedAt: string | null
  isRecent: boolean
  isByProvider: boolean
  /** When the session ends if it is not used. */
  idleUntil: string
}

/** What is missing after the right password. */
export type MissingStep = 'code' | 'set_up'
export type PendingSession = { operator: Operator; session: string; awaits: MissingStep }

/** From where a session is used. */
export type Device = { address: string | null; userAgent: string | null }

/** SQL: whether the session `s` of the operator `o` has not ended. */
export const IN_FORCE = `s.expires_at > clock_timestamp() and s.last_used_at > clock_timestamp() - interval '8 hours' and o.closed_at is null`
/**
 * SQL: where a second factor is demanded (`operator_policy p`) a session without one opens nothing, also one that began at the same moment as the
 * demand. A passkey is both factors.
 */
export const IS_ENOUGH = `(s.awaits is not null or s.passkey is not null or s.by_provider or o.totp_secret is not null
  or not (o.needs_second_factor or p.needs_second_factor))`
/** At most one write a minute for each session, however many requests and processes there are. */
const IS_USE_DUE = `s.last_used_at <= clock_timestamp() - interval '1 minute'`
const MOST_OF_USER_AGENT = 200

type Row = {
  session: string
  id: string
  email: string
  name: string
  is_owner: boolean
  awaits: MissingStep | null
  by_provider: boolean
  authenticated_at: string | null
  is_recent: boolean
  is_use_due: boolean
  idle_until: string
}

async function find(db: Db, token: string): Promise<Row | null> {
  const { rows } = await db.query<Row>({
    name: 'find-operator-session',
    text: `select s.id as session, o.id, o.email, o.name, o.is_owner, s.awaits, s.by_provider, s.authenticated_at,
             coalesce(s.authenticated_at > clock_timestamp() - interval '10 minutes', false) as is_recent, ${IS_USE_DUE} as is_use_due,
             least(s.expires_at, case when ${IS_USE_DUE} then clock_timestamp() else s.last_used_at end + interval '8 hours') as idle_until
           from operator_sessions s join operators o on o.id = s.operator cross join operator_policy p
           where s.hash = $1 and ${IN_FORCE} and ${IS_ENOUGH}`,
    values: [hashKey(token)],
  })
  return rows[0] ?? null
}

const operatorOf = ({ id, email, name, is_owner: isOwner }: Row): Operator => ({ id, email, name, isOwner })

/** Who is signed in by the token of a cookie; null: nobody, or something is still missing. Notes the use at most once a minute. */
export async function readSession(db: Db, token: string): Promise<SignedIn | null> {
  const row = await find(db, token)
  if (!row || row.awaits !== null) return null
  if (row.is_use_due)
    await db.query({
      name: 'note-use-of-operator-session',
      text: `update operator_sessions set last_used_at = clock_timestamp() where id in (
               select id from operator_sessions s where id = $1 and ${IS_USE_DUE} for no key update skip locked)`,
      values: [row.session],
    })
  return {
    operator: operatorOf(row),
    session: row.session,
    authenticatedAt: row.authenticated_at,
    isRecent: row.is_recent,
    isByProvider: row.by_provider,
    idleUntil: row.idle_until,
  }
}

/** Who has given the right password, and what is missing. */
export async function readPending(db: Db, token: string): Promise<PendingSession | null> {
  const row = await find(db, token)
  return row?.awaits ? { operator: operatorOf(row), session: row.session, awaits: row.awaits } : null
}

/** The person has signed in at the provider of single sign-on, at that time in seconds; null where the provider does not say when. */
export type ByProvider = { authenticatedAt: number | null }

/**
 * Makes a session and returns its token, which nothing shows again. A session lasts 7 days at most, and one that awaits something 10 minutes.
 * The caller has the row of the operator locked. `passkey`: the one that has opened it; `byProvider`: single sign-on has opened it.
 */
export async function createSession(
  tx: Tx,
  operator: string,
  device: Device,
  {
    awaits = null,
    passkey = null,
    byProvider = null,
  }: { awaits?: MissingStep | null; passkey?: string | null; byProvider?: ByProvider | null } = {},
): Promise<string> {
  const token = bearerToken()
  const userAgent = device.userAgent?.slice(0, MOST_OF_USER_AGENT) ?? null
  await tx.query(
    `insert into operator_sessions (id, operator, hash, awaits, expires_at, address, user_agent, passkey, by_provider, authenticated_at)
     values ($1, $2, $3, $4, clock_timestamp() + case when $4::text is null then interval '7 days' else interval '10 minutes' end, $5, $6, $7, $8,
       case when not $8 or $9::float8 is not null then least(to_timestamp($9), clock_timestamp()) end)`,
    [
      orderedId('ses'),
      operator,
      hashKey(token),
      awaits,
      device.address,
      userAgent,
      passkey,
      byProvider !== null,
      byProvider?.authenticatedAt ?? null,
    ],
  )
  await tx.query(
    `delete from operator_sessions where id in (select id from operator_sessions where expires_at < clock_timestamp() limit 100 for update skip locked)`,
  )
  return token
}

/** Whether it has not been ended. */
export async function hasSession(db: Db, operator: string, session: string): Promise<boolean> {
  return (await db.query('select 1 from operator_sessions where operator = $1 and id = $2', [operator, session])).rowCount === 1
}

/** True if there was one, which ends now. */
export async function endSession(db: Db, operator: string, session: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from operator_sessions where operator = $1 and id = $2', [operator, session])
  return rowCount === 1
}

/** Ends what the cookie of a browser opens, also where the second factor is still missing. */
export async function endSessionOf(db: Db, token: string): Promise<void> {
  await db.query('delete from operator_sessions where hash = $1', [hashKey(token)])
}

/** What was begun with a password and has no second factor yet: the secret that such a session was shown is replaced. */
export async function endSetUps(tx: Tx, operator: string): Promise<void> {
  await tx.query(`delete from operator_sessions where operator = $1 and awaits = 'set_up'`, [operator])
}

/** `but`: the session that stays. */
export async function endSessions(db: Db, operator: string, but: string | null = null): Promise<number> {
  const { rowCount } = await db.query('delete from operator_sessions where operator = $1 and id is distinct from $2', [operator, but])
  return rowCount ?? 0
}

/** Ends a session and makes another one in its place: its token is a new one. Throws `not_found` if it has ended meanwhile. */
export async function renewSession(tx: Tx, operator: string, session: string, device: Device): Promise<string> {
  await lockOperator(tx, operator)
  const { rows } = await tx.query<{ passkey: string | null; by_provider: boolean; expires_at: string }>(
    'delete from operator_sessions where operator = $1 and id = $2 returning passkey, by_provider, expires_at',
    [operator, session],
  )
  if (!rows[0]) throw notFound('session')
  const { passkey, by_provider: isByProvider, expires_at: end } = rows[0]
  const token = await createSession(tx, operator, device, { passkey })
  // The person must come back to the provider as soon as before: it may know them no longer.
  if (isByProvider)
    await tx.query('update operator_sessions set by_provider = true, expires_at = $2 where hash = $1', [hashKey(token), end])
  return token
}

/** Until the transaction ends, nothing else about the account changes. */
export const lockOperator = (tx: Tx, operator: string) => tx.query('select 1 from operators where id = $1 for no key update', [operator])

/** The operator has given a password, a code or a passkey again. False: the session has ended. */
export async function noteAuthenticated(db: Db, session: string): Promise<boolean> {
  return (await db.query('update operator_sessions set authenticated_at = clock_timestamp() where id = $1', [session])).rowCount === 1
}

export type ListedSession = { id: string; created_at: string; last_used_at: string; address: string | null; user_agent: string | null }

/** The sessions of an operator, the latest use first. */
export async function listSessions(db: Db, operator: string): Promise<ListedSession[]> {
  const { rows } = await db.query<ListedSession>(
    `select s.id, s.created_at, s.last_used_at, host(s.address) as address, s.user_agent
     from operator_sessions s join operators o on o.id = s.operator
     where s.operator = $1 and s.awaits is null and ${IN_FORCE} order by s.last_used_at desc, s.id limit 100`,
    [operator],
  )
  return rows
}
