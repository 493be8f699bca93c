import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Pool, Tx } from '../../store/connect.ts'
import { bearerToken, orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import { hashKey, type Secrets } from '../projects/secrets.ts'

/** For how long somebody may choose a password. */
export const LINK_HOURS = 72

/** Makes a link with which the operator chooses a password, in the place of an earlier one. Returns its code. */
export async function makeLink(tx: Tx, operator: string): Promise<string> {
  const code = bearerToken()
  await tx.query(
    `insert into operator_links (id, operator, hash, expires_at) values ($1, $2, $3, clock_timestamp() + make_interval(hours => $4))
     on conflict (operator) do update set id = excluded.id, hash = excluded.hash, expires_at = excluded.expires_at`,
    [orderedId('lnk'), operator, hashKey(code), LINK_HOURS],
  )
  return code
}

/** `operator` is null in the link of the first operator, who has no account yet. */
export type PasswordLink = { operator: string | null; email: string | null; name: string | null }

/** Null: there is no such link, or it is over. */
export async function readLink(db: Db, code: string): Promise<PasswordLink | null> {
  const { rows } = await db.query<PasswordLink>(
    `select l.operator, o.email, o.name from operator_links l left join operators o on o.id = l.operator
     where l.hash = $1 and l.expires_at > clock_timestamp() and o.closed_at is null`,
    [hashKey(code)],
  )
  return rows[0] ?? null
}

/** The link opens nothing from now on. True for one of its uses: the other ones wait for it. */
export async function takeLink(tx: Tx, code: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from operator_links where hash = $1 and expires_at > clock_timestamp()', [hashKey(code)])
  return rowCount === 1
}

/** What the operator was sent opens nothing any more. */
export async function endLinks(tx: Tx, operator: string): Promise<void> {
  await tx.query('delete from operator_links where operator = $1', [operator])
}

/** One at a time: the first operator is made once. */
export const lockFirstOperator = (tx: Tx) => tx.query('select pg_advisory_xact_lock($1, 0)', [LOCK.firstOperator])

/** Whether anybody can sign in, or has an invitation. */
export async function hasOperators(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>('select exists (select 1 from operators where closed_at is null) as has')
  return rows[0]!.has
}

/**
 * The code with which the first operator signs up, for one hour; null when there is an operator. Every process that starts meanwhile gets the
 * same code: it is derived from APP_SECRET and from the id in the database, so that each of them can print it.
 */
export const firstOperatorCode = (pool: Pool, secrets: Secrets): Promise<string | null> =>
  transaction(pool, async tx => {
    await lockFirstOperator(tx)
    if (await hasOperators(tx)) {
      await endFirstLink(tx)
      return null
    }
    const codeOf = (id: string) => secrets.sign(`first operator ${id}`)
    const fresh = orderedId('lnk')
    const { rows } = await tx.query<{ id: string }>(
      `insert into operator_links as l (id, operator, hash, expires_at) values ($1, null, $2, clock_timestamp() + interval '1 hour')
       on conflict ((operator is null)) where operator is null do update set
         id = case when l.expires_at > clock_timestamp() then l.id else excluded.id end,
         hash = case when l.expires_at > clock_timestamp() then l.hash else excluded.hash end,
         expires_at = excluded.expires_at
       returning id`,
      [fresh, hashKey(codeOf(fresh))],
    )
    return codeOf(rows[0]!.id)
  })

/** There is an operator: nobody signs up as the first one. */
export async function endFirstLink(tx: Tx): Promise<void> {
  await tx.query('delete from operator_links where operator is null')
}
