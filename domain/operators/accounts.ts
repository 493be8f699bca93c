import type { Db, Pool, Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import { alreadyExists, conflict, invalidField } from '../kernel/refusal.ts'
import type { Secrets } from '../projects/secrets.ts'
import { accountName, isAccountName } from './account-name.ts'
import { endAllowed } from './grants/codes.ts'
import { endIdentities } from './identities.ts'
import { endFirstLink, endLinks, hasOperators, lockFirstOperator, readLink, takeLink } from './links.ts'
import { clearPasskeys } from './passkeys/passkey.ts'
import { assertChoosable, hashPassword } from './password.ts'
import type { ProjectRole } from './roles.ts'
import { beginSecondFactor, clearSecondFactor } from './second-factor.ts'
import { createSession, type Device, endSessions, lockOperator, type MissingStep } from './session.ts'

const MOST_OF_NAME = 100

export type NewOperator = { email: string; name: string; isOwner: boolean; passwordHash: string | null }

/** Throws `invalid_data` with the field. The name may be left out: then it is what stands before the @. */
export function checkedPerson(email: string, name: string): { email: string; name: string } {
  if (!isAccountName(email)) throw invalidField('email', 'must be an e-mail address')
  const given = name.trim() || email.trim().split('@')[0]!
  if ([...given].length > MOST_OF_NAME || /\p{C}/u.test(given))
    throw invalidField('name', `must have at most ${MOST_OF_NAME} characters, all of them printable`)
  return { email: email.trim(), name: given }
}

/** Throws `already_exists` when an open account has the address. */
export async function createOperator(tx: Tx, { email, name, isOwner, passwordHash }: NewOperator): Promise<string> {
  const person = checkedPerson(email, name)
  await lockFirstOperator(tx)
  await endFirstLink(tx)
  const { rows } = await tx.query<{ id: string }>(
    `insert into operators (id, email, name, is_owner, password_hash) values ($1, $2, $3, $4, $5)
     on conflict (lower(email) collate "C") where closed_at is null do nothing returning id`,
    [orderedId('opr'), person.email, person.name, isOwner, passwordHash],
  )
  if (!rows[0]) throw alreadyExists(`there is an operator ${person.email}`)
  return rows[0].id
}

export type JoinInput = { code: string; email: string; name: string; password: string }

/** `token`: of a session; `awaits`: what it still needs. */
type Joined = { token: string; awaits: MissingStep | null }

/**
 * Chooses a password with the code of a link and signs in: the first operator makes the account of an owner. Null for a code that is unknown, over
 * or used. Throws `invalid_data` for a password that may not be chosen.
 */
export async function join(
  { pool, secrets }: { pool: Pool; secrets: Secrets },
  { code, email, name, password }: JoinInput,
  device: Device,
): Promise<Joined | null> {
  const link = await readLink(pool, code)
  if (!link) return null
  const person = checkedPerson(link.email ?? email, link.name ?? name)
  assertChoosable(password, [person.email, person.name])
  const passwordHash = await hashPassword(password)
  return transaction(pool, async tx => {
    if (link.operator === null) {
      await lockFirstOperator(tx)
      if (!(await takeLink(tx, code)) || (await hasOperators(tx))) return null
      const operator = await createOperator(tx, { ...person, isOwner: true, passwordHash })
      return { token: await createSession(tx, operator, device), awaits: null }
    }
    await lockOperator(tx, link.operator)
    if (!(await takeLink(tx, code))) return null
    const { rows } = await tx.query<{ has_factor: boolean; is_needed: boolean }>(
      `update operators o set password_hash = $2 from operator_policy p where o.id = $1 and o.closed_at is null
       returning o.totp_secret is not null as has_factor, o.needs_second_factor or p.needs_second_factor as is_needed`,
      [link.operator, passwordHash],
    )
    if (!rows[0]) return null
    await endSessions(tx, link.operator)
    const awaits = rows[0].has_factor ? 'code' : rows[0].is_needed ? 'set_up' : null
    if (awaits === 'set_up') await beginSecondFactor(tx, secrets, link.operator)
    return { token: await createSession(tx, link.operator, device, { awaits }), awaits }
  })
}

export type ListedOperator = {
  id: string
  email: string
  name: string
  is_owner: boolean
  roles: Record<string, ProjectRole>
  has_password: boolean
  has_second_factor: boolean
  passkeys: number
  has_single_sign_on: boolean
  needs_second_factor: boolean
  created_at: string
  last_used_at: string | null
}

const LISTED = `o.id, o.email, o.name, o.is_owner, o.password_hash is not null as has_password, o.totp_secret is not null as has_second_factor,
  (select count(*) from operator_passkeys where operator = o.id and ended_at is null)::int as passkeys,
  exists (select 1 from operator_identities where operator = o.id) as has_single_sign_on, o.needs_second_factor, o.created_at,
  coalesce((select jsonb_object_agg(project, role) from operator_roles where operator = o.id), '{}') as roles,
  (select max(last_used_at) from operator_sessions where operator = o.id and awaits is null) as last_used_at`

/** The open accounts, oldest first. */
export async function listOperators(db: Db): Promise<ListedOperator[]> {
  const { rows } = await db.query<ListedOperator>(`select ${LISTED} from operators o where closed_at is null order by created_at, id`)
  return rows
}

/** By id, or by e-mail address. */
export async function operatorWith(db: Db, by: { id: string } | { email: string }): Promise<ListedOperator | null> {
  const [column, value] = 'id' in by ? ['o.id', by.id] : ['lower(o.email) collate "C"', accountName(by.email)]
  const { rows } = await db.query<ListedOperator>(`select ${LISTED} from operators o where closed_at is null and ${column} = $1`, [value])
  return rows[0] ?? null
}

/** A role in a project; null takes it away. The operator signs in anew. Returns the role before. */
export async function setRole(tx: Tx, operator: string, project: number, role: ProjectRole | null): Promise<ProjectRole | null> {
  await lockOperator(tx, operator)
  const { rows } = await tx.query<{ role: ProjectRole }>('select role from operator_roles where operator = $1 and project = $2', [
    operator,
    project,
  ])
  const before = rows[0]?.role ?? null
  if (before === role) return before
  if (role === null) await tx.query('delete from operator_roles where operator = $1 and project = $2', [operator, project])
  else
    await tx.query(
      `insert into operator_roles (operator, project, role) values ($1, $2, $3)
       on conflict (operator, project) do update set role = excluded.role`,
      [operator, project, role],
    )
  await endSessions(tx, operator)
  return before
}

/** Throws `conflict` for the last owner. */
async function assertAnotherOwner(tx: Tx, operator: string): Promise<void> {
  // All of them are locked: of two owners who are removed at the same time one stays.
  const { rows } = await tx.query<{ id: string }>('select id from operators where is_owner and closed_at is null order by id for update')
  if (rows.some(({ id }) => id === operator) && rows.length === 1)
    throw conflict('this is the last owner: make somebody else an owner before')
}

/** Makes an operator an owner of the installation, or ends that. The operator signs in anew. Throws `conflict` for the last owner. */
export async function setOwner(tx: Tx, operator: string, isOwner: boolean): Promise<void> {
  if (!isOwner) await assertAnotherOwner(tx, operator)
  await tx.query('update operators set is_owner = $2 where id = $1', [operator, isOwner])
  await endSessions(tx, operator)
}

/** The account signs in nowhere any more, and its assistants neither; its address is free. Throws `conflict` for the last owner. */
export async function closeOperator(tx: Tx, operator: string): Promise<void> {
  await assertAnotherOwner(tx, operator)
  await tx.query('update operators set closed_at = clock_timestamp(), password_hash = null where id = $1', [operator])
  await clearSecondFactor(tx, operator)
  await clearPasskeys(tx, operator)
  await endIdentities(tx, operator)
  await tx.query('delete from operator_roles where operator = $1', [operator])
  await endLinks(tx, operator)
  await endSessions(tx, operator)
  await endAllowed(tx, operator)
}

/** Password, second factor, passkeys, single sign-on, sessions and assistants are gone: what remains is a link with which a new password is chosen. */
export async function resetOperator(tx: Tx, operator: string): Promise<void> {
  await lockOperator(tx, operator)
  await tx.query('update operators set password_hash = null where id = $1', [operator])
  await clearSecondFactor(tx, operator)
  await clearPasskeys(tx, operator)
  await endIdentities(tx, operator)
  await endSessions(tx, operator)
  // Whoever had the account may have allowed an assistant of their own.
  await endAllowed(tx, operator)
}

/** Demands a second factor of everybody (null) or of one operator, or no longer does. Sessions without one end. */
export async function demandSecondFactor(tx: Tx, operator: string | null, isNeeded: boolean): Promise<void> {
  if (operator === null) await tx.query('update operator_policy set needs_second_factor = $1', [isNeeded])
  else await tx.query('update operators set needs_second_factor = $2 where id = $1', [operator, isNeeded])
  if (!isNeeded) return
  await tx.query(
    `delete from operator_sessions where passkey is null and not by_provider
       and operator in (select id from operators where totp_secret is null and ($1::text is null or id = $1))`,
    [operator],
  )
}
