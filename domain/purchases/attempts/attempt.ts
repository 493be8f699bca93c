import { createHash } from 'node:crypto'
import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Page } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { Store } from '../subscriptions/purchase.ts'
import type { StoreWord } from '../verification.ts'
import type { AttemptReason } from './reason.ts'

export type AttemptSource = 'v3' | 'v4' | 'sdk'

/** What a refused claim was about. `token`: its digest. */
export type AttemptedClaim = { platform: Store | null; product: string | null; transaction: string | null; token: string | null }

export type NewAttempt = { source: AttemptSource; claimed: AttemptedClaim; reason: AttemptReason; word: StoreWord | null }

export type AttemptRow = {
  id: string
  source: AttemptSource
  platform: Store | null
  product: string | null
  transaction: string | null
  token_digest: string | null
  reason: AttemptReason
  answer_code: string | null
  answer_message: string | null
  created_at: string
  last_at: string
  times: number
}

const COLUMNS =
  'id::text, source, platform, product, transaction, token_digest, reason, answer_code, answer_message, created_at, last_at, times'

/** Stands for a purchase token or a signed transaction: the same one has the same digest, and nobody can claim with it. */
export const tokenDigest = (token: string): string => createHash('sha256').update(token).digest('hex').slice(0, 16)

/** The rows of a user: a client that tries one transaction after the other pushes its own oldest rows out. */
const MOST_ROWS = 200

const DROP_OLDEST = {
  name: 'drop-oldest-attempts',
  text: `delete from purchase_attempts where id = any (array(
           select id from purchase_attempts where environment = $1 and user_id = $2 order by created_at desc, id desc offset $3))`,
}

/** What must be equal for a repetition. A wrong request may name anything: without its names it makes one row a day. */
function hashOf({ source, claimed, reason }: NewAttempt): Buffer {
  const { platform, product, transaction, token } = claimed
  const named = reason === 'malformed' ? [null, null, null] : [product, transaction, token]
  return createHash('sha256')
    .update(JSON.stringify([source, platform, ...named, reason]))
    .digest()
}

/**
 * Records that a claim of a user was refused, in the first environment that has the user; of a user whom none has, or who is being erased, nothing. A
 * repetition on the same day counts in the row of the first one, with the latest answer of the store.
 */
export async function recordAttempt(db: Db, environments: Environment[], user: string, attempt: NewAttempt): Promise<void> {
  const { source, claimed, reason, word } = attempt
  const { platform, product, transaction, token } = claimed
  const { rows } = await db.query<{ environment: Environment; is_new: boolean }>({
    name: 'record-attempt',
    text: `insert into purchase_attempts (environment, user_id, source, platform, product, transaction, token_digest, reason, answer_code,
             answer_message, claim_hash, created_at, last_at)
           select u.environment, u.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, n.now, n.now
           from (
             select environment, id from users where environment = any ($1::int[]) and id = $2
             order by array_position($1::int[], environment) limit 1 for key share skip locked
           ) u cross join lateral environment_now(u.environment) n(now)
           on conflict (environment, user_id, day, claim_hash) do update set times = purchase_attempts.times + 1, last_at = excluded.last_at,
             answer_code = excluded.answer_code, answer_message = excluded.answer_message
           returning environment, times = 1 as is_new`,
    values: [
      environments,
      user,
      source,
      platform,
      product,
      transaction,
      token,
      reason,
      word?.code ?? null,
      word?.message ?? null,
      hashOf(attempt),
    ],
  })
  const recorded = rows[0]
  if (recorded?.is_new) await db.query({ ...DROP_OLDEST, values: [recorded.environment, user, MOST_ROWS] })
}

/** The refused claims of a user, newest first, one more than `limit` when more follow. Throws `not_found` for an unknown user. */
export async function listAttempts(
  db: Db,
  environment: Environment,
  user: string,
  { limit, after, reasons }: { limit: number; after: string | undefined; reasons: AttemptReason[] },
): Promise<Page<AttemptRow>> {
  const cursor = after !== undefined && /^[0-9]{1,18}$/.test(after) ? after : null
  const first = await db.query<{ at: string | null; id: string | null }>({
    name: 'attempts-cursor',
    text: `select c.created_at::text as at, c.id::text as id from users u
           left join purchase_attempts c on c.id = $3 and c.environment = u.environment and c.user_id = u.id
           where u.environment = $1 and u.id = $2`,
    values: [environment, user, cursor],
  })
  const from = first.rows[0]
  if (!from) throw notFound('user')
  const { rows } = await db.query<AttemptRow>({
    name: 'list-attempts',
    text: `select ${COLUMNS} from purchase_attempts a
           where environment = $1 and user_id = $2 and ($3::timestamptz is null or (created_at, a.id) < ($3, $4::bigint))
             and (cardinality($5::text[]) = 0 or reason = any ($5))
           order by created_at desc, a.id desc limit $6`,
    values: [environment, user, from.at, from.id, reasons, limit + 1],
  })
  return { rows, restarted: after !== undefined && from.id === null }
}

const KEPT_DAYS = 90

/** Removes attempts 90 days after they began by the clock of their environment; at most `batch` at once. */
export async function dropOldAttempts(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const { rowCount } = await db.query(
    `with old as materialized (
       select a.id from environments e cross join lateral (
         select id from purchase_attempts where environment = e.id and created_at < now() + e.clock_offset - make_interval(days => $1)
         order by created_at limit $2) a where $3::int is null or e.id = $3 limit $2
     ), locked as materialized (
       select a.id from purchase_attempts a where a.id = any (array(select id from old)) for update skip locked
     )
     delete from purchase_attempts where id = any (array(select id from locked))`,
    [KEPT_DAYS, batch, environment],
  )
  return rowCount ?? 0
}
