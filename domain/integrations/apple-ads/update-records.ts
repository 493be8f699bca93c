import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { EntityTarget, EntityType, UpdateInput } from './change.ts'
import { LEVELS } from './spend.ts'

// A row says what was asked for before Apple is told. So after a crash, or without an answer, it is known that Apple may have made the change.

export type UpdateKey = { environment: Environment; key: string }
type Row = { request_hash: Buffer; is_sent: boolean; before: string | null; answer: unknown; is_claimed: boolean }
type Refused = { is: 'answered'; answer: unknown } | { is: 'other' } | { is: 'in_progress' }
/** `before`: the value that a former request replaced, which may have reached Apple; null: none has. */
export type KnownUpdate = Refused | { is: 'open'; before: string | null }
/** `claim`: proves that the request is this process's; `busy`: another request changes the entity at this moment. */
export type BegunUpdate = Refused | { is: 'busy' } | { is: 'claimed'; claim: string; before: string | null }
export type Claimed = UpdateKey & { claim: string }

const KEPT = `interval '24 hours'`
/** A process that dies leaves its claim for so long. */
const CLAIM = `interval '60 seconds'`
/** For all requests to Apple of one change: they have ended before the claim does. */
export const ASKING_MS = 45_000

const FIND = `select request_hash, sent_at is not null as is_sent, before, answer, coalesce(claimed_until > clock_timestamp(), false) as is_claimed
  from apple_ads_updates where environment = $1 and key = $2 and created_at > clock_timestamp() - ${KEPT}`

const judged = (row: Row, hash: Buffer): KnownUpdate => {
  if (!row.request_hash.equals(hash)) return { is: 'other' }
  if (row.answer !== null) return { is: 'answered', answer: row.answer }
  if (row.is_claimed) return { is: 'in_progress' }
  return { is: 'open', before: row.is_sent ? row.before : null }
}

/** What is known of a request; undefined: nothing. */
export async function findUpdate(db: Db, { environment, key }: UpdateKey, hash: Buffer): Promise<KnownUpdate | undefined> {
  const { rows } = await db.query<Row>(FIND, [environment, key])
  return rows[0] && judged(rows[0], hash)
}

/** Claims the request. The transaction has locked the project's uses of updates, so no other one decides at the same time. */
export async function claimUpdate(
  tx: Tx,
  { environment, key }: UpdateKey,
  { hash, entity_type, entity_id }: { hash: Buffer } & Pick<UpdateInput, 'entity_type' | 'entity_id'>,
): Promise<BegunUpdate> {
  await tx.query(
    `delete from apple_ads_updates where ctid = any (array(
       select ctid from apple_ads_updates where created_at < now() - ${KEPT} order by created_at limit 100 for update skip locked))`,
  )
  const { rowCount: busy } = await tx.query(
    `select from apple_ads_updates where environment = $1 and entity_type = $2 and entity_id = $3 and key <> $4
       and claimed_until > clock_timestamp() limit 1`,
    [environment, entity_type, entity_id, key],
  )
  if (busy === 1) return { is: 'busy' }
  const known = await findUpdate(tx, { environment, key }, hash)
  if (known && known.is !== 'open') return known
  // The key of a row that is too old to be found is a new one.
  if (!known) await tx.query('delete from apple_ads_updates where environment = $1 and key = $2', [environment, key])
  const { rows } = await tx.query<{ claim: string }>(
    `insert into apple_ads_updates (environment, key, request_hash, entity_type, entity_id, claimed_until)
     values ($1, $2, $3, $4, $5, clock_timestamp() + ${CLAIM})
     on conflict (environment, key) do update set claimed_until = excluded.claimed_until
     returning claimed_until::text as claim`,
    [environment, key, hash, entity_type, entity_id],
  )
  return { is: 'claimed', claim: rows[0]!.claim, before: known?.before ?? null }
}

const IS_CLAIMED = 'environment = $1 and key = $2 and claimed_until = $3::timestamptz'

/** From here on Apple may have made the change. False, with nothing written, where the claim is over. */
export async function recordSending(tx: Tx, { environment, key, claim }: Claimed, before: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update apple_ads_updates set sent_at = clock_timestamp(), before = $4 where ${IS_CLAIMED} and claimed_until > clock_timestamp()`,
    [environment, key, claim, before],
  )
  return rowCount === 1
}

/** The outcome is known: the answer of every repetition. False where a repetition has found it out before, when the claim was over. */
export async function settleUpdate(tx: Tx, { environment, key }: UpdateKey, answer: object): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update apple_ads_updates set settled_at = clock_timestamp(), claimed_until = null, answer = $3
     where environment = $1 and key = $2 and answer is null`,
    [environment, key, JSON.stringify(answer)],
  )
  return rowCount === 1
}

/** Nobody is at work on it any more. `isUnchanged`: Apple has certainly not made the change, so the key is free again. */
export const releaseUpdate = (db: Db, { environment, key, claim }: Claimed, isUnchanged: boolean): Promise<unknown> =>
  db.query(
    isUnchanged
      ? `delete from apple_ads_updates where ${IS_CLAIMED} and answer is null`
      : `update apple_ads_updates set claimed_until = null where ${IS_CLAIMED}`,
    [environment, key, claim],
  )

const LEVEL_OF: Record<EntityType, number> = { campaign: LEVELS.campaigns, ad_group: LEVELS.groups, keyword: LEVELS.keywords }

/** The entity with the organisation that its campaign belongs to; null: no campaign of this id was read. */
export async function findTarget(db: Db, integration: number, input: UpdateInput): Promise<EntityTarget | null> {
  const campaign = input.campaign_id ?? input.entity_id
  const { rows } = await db.query<{ org_id: string }>(
    'select org_id from apple_ads_entities where integration = $1 and level = 0 and id = $2',
    [integration, campaign],
  )
  const [found] = rows
  if (!found) return null
  return { type: input.entity_type, id: input.entity_id, campaign, adGroup: input.ad_group_id ?? null, org: found.org_id }
}

/** What is shown of the entity until Apple is read again. */
export const storeStatus = (tx: Tx, integration: number, { type, id }: EntityTarget, status: string): Promise<unknown> =>
  tx.query('update apple_ads_entities set status = $4 where integration = $1 and level = $2 and id = $3', [
    integration,
    LEVEL_OF[type],
    id,
    status,
  ])
