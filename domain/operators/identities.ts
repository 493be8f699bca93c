import type { Db, Tx } from '../../store/connect.ts'
import { accountName } from './account-name.ts'
import type { ProvidedPerson } from './provider.ts'

type Subject = Pick<ProvidedPerson, 'issuer' | 'subject'>

/** The open account that is linked to somebody at the provider. */
export async function linkedAccount(db: Db, { issuer, subject }: Subject): Promise<{ id: string; email: string } | null> {
  const { rows } = await db.query<{ id: string; email: string }>(
    `select o.id, o.email from operator_identities i join operators o on o.id = i.operator
     where i.issuer = $1 and i.subject = $2 and o.closed_at is null`,
    [issuer, subject],
  )
  return rows[0] ?? null
}

/** Links the open account with the e-mail address. Null: there is none, or it or the person is linked already. */
export async function linkByEmail(tx: Tx, { issuer, subject }: Subject, email: string): Promise<string | null> {
  // The account is locked within the statement: one that is closed at the same moment is not linked afterwards.
  const { rows } = await tx.query<{ operator: string }>(
    `with account as (
       select id from operators where lower(email) collate "C" = $3 and closed_at is null for no key update
     )
     insert into operator_identities (issuer, subject, operator, email) select $1, $2, id, $4 from account
     on conflict do nothing returning operator`,
    [issuer, subject, accountName(email), email],
  )
  return rows[0]?.operator ?? null
}

/** Links an account whose row is locked. False: it or the person is linked already. */
export async function linkOperator(tx: Tx, operator: string, { issuer, subject, email }: ProvidedPerson): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into operator_identities (issuer, subject, operator, email)
     select $1, $2, id, $4 from operators where id = $3 and closed_at is null on conflict do nothing`,
    [issuer, subject, operator, email],
  )
  return rowCount === 1
}

/** The next sign-in at the provider links the account anew. */
export async function endIdentities(tx: Tx, operator: string): Promise<void> {
  await tx.query('delete from operator_identities where operator = $1', [operator])
}

/** With what an operator signs in. `linked`: to the provider that is asked for. */
export type WaysIn = { hasPassword: boolean; linked: { email: string | null; at: string } | null }

/** `issuer`: of the provider of now; null: there is none. Links to one of before do not count. */
export async function waysIn(db: Db, operator: string, issuer: string | null): Promise<WaysIn> {
  const { rows } = await db.query<{ has_password: boolean; email: string | null; linked_at: string | null }>(
    `select o.password_hash is not null as has_password, i.email, i.linked_at
     from operators o left join operator_identities i on i.operator = o.id and i.issuer = $2 where o.id = $1`,
    [operator, issuer],
  )
  const row = rows[0]
  return { hasPassword: row?.has_password ?? false, linked: row?.linked_at ? { email: row.email, at: row.linked_at } : null }
}
