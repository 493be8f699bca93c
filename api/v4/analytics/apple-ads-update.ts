import { createHash } from 'node:crypto'
import {
  changeIn,
  type EntityChange,
  type EntityTarget,
  isBeyondRaise,
  isSame,
  type SendResult,
  type UpdateInput,
  useOf,
} from '../../../domain/integrations/apple-ads/change.ts'
import { getConnection, openOfEnvironment } from '../../../domain/integrations/apple-ads/connection.ts'
import {
  ASKING_MS,
  type BegunUpdate,
  type Claimed,
  claimUpdate,
  findTarget,
  findUpdate,
  type KnownUpdate,
  recordSending,
  releaseUpdate,
  settleUpdate,
  storeStatus,
  type UpdateKey,
} from '../../../domain/integrations/apple-ads/update-records.ts'
import { countUse, type UseKind } from '../../../domain/integrations/apple-ads/uses.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import { canonicalJson } from '../../../domain/kernel/canonical-json.ts'
import { conflict, invalidField, invalidFields, notFound, Refusal } from '../../../domain/kernel/refusal.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { timeLimit } from '../../../store/time-limit.ts'
import { transaction } from '../../../store/transaction.ts'
import { Problem } from '../../errors.ts'
import { type ApiDeps, preparedTransaction } from '../../operation.ts'
import type { StatementTurn } from '../../request-turns.ts'

type Answer = AnswerBody<'v4UpdateAppleAdsEntity'>
type Call = {
  body: UpdateInput & { dry_run: boolean; idempotency_key?: string | undefined }
  project: number
  environment: number
  idempotencyKey: string | undefined
  /** Of a call that is to be confirmed: it must leave its key free. */
  dryRun: boolean
  trail: Trail
  inTurn: StatementTurn
  deps: ApiDeps
}
/** `isKnown`: the answer is that of a former request. */
type Prepared = { answer: Answer; isKnown: boolean }

function keyOf({ body, environment, idempotencyKey }: Call): UpdateKey {
  const { idempotency_key: own } = body
  if (own !== undefined && idempotencyKey !== undefined && own !== idempotencyKey)
    throw invalidField('idempotency_key', 'must be equal to the header Idempotency-Key')
  const key = idempotencyKey ?? own
  if (key === undefined) throw invalidField('idempotency_key', 'is required, here or as the header Idempotency-Key')
  return { environment, key }
}

function hashOf({ idempotency_key: _, ...request }: Call['body']): Buffer {
  return createHash('sha256').update(canonicalJson(request)).digest()
}

/** Counts the use in the transaction, or throws 429. */
async function count(tx: Tx, project: number, kind: UseKind, what: string): Promise<void> {
  const wait = await countUse(tx, project, kind)
  if (wait !== null)
    throw new Problem('rate_limit_exceeded', `too many ${what} of Apple Ads: try again in ${wait} s`, {
      headers: { 'Retry-After': String(wait) },
    })
}

const inProgress = () =>
  new Problem('idempotency_in_progress', 'a request with this idempotency key is being performed', { headers: { 'Retry-After': '1' } })

/** The stored answer of a request that was carried out. Throws for one that cannot be begun. */
function answeredBy(begun: Exclude<KnownUpdate | BegunUpdate, { is: 'open' | 'claimed' }>): Answer {
  switch (begun.is) {
    case 'answered':
      return begun.answer as Answer
    case 'other':
      throw new Problem('idempotency_conflict', 'this idempotency key was used with another request')
    case 'in_progress':
      throw inProgress()
    case 'busy':
      throw new Problem('conflict', 'another request changes this entity at this moment: read it again', {
        headers: { 'Retry-After': '1' },
      })
    default:
      return begun satisfies never
  }
}

/** Throws for what Apple did not do. The outcome of a failure in between is unknown. */
function assertDone(result: SendResult | { is: 'value' }): void {
  if (result.is === 'absent') throw notFound('entity of Apple Ads')
  if (result.is === 'refused') throw conflict(`Apple refuses it: ${result.why}`)
  if (result.is === 'timeout') throw new Refusal('upstream_timeout', 'Apple did not answer in time')
  if (result.is === 'unavailable') throw new Refusal('network_error', `Apple did not answer: ${result.why}`)
}

/**
 * Checks the request, claims its key, and asks Apple. What Apple has done is settled and audited here: whatever else is stored meanwhile as
 * the answer to the key, the transaction of the operation only repeats it.
 */
async function prepare(call: Call): Promise<Prepared> {
  const { body, project, environment, dryRun, inTurn } = call
  const key = keyOf(call)
  const read = changeIn(body)
  if ('faults' in read) throw invalidFields(read.faults)
  const hash = hashOf(body)
  const known = await inTurn(db => findUpdate(db, key, hash))
  if (known && known.is !== 'open') return { answer: answeredBy(known), isKnown: true }
  const { number: integration } = await inTurn(db => getConnection(db, environment))
  const limit = timeLimit(ASKING_MS)
  const begun = await inTurn(db =>
    transaction(db, async tx => {
      await count(tx, project, 'update', 'changes')
      return claimUpdate(tx, key, { hash, ...body })
    }),
  )
  if (begun.is !== 'claimed') return { answer: answeredBy(begun), isKnown: true }
  const claimed = { ...key, claim: begun.claim }
  // Whether Apple may have made the change, in this request or in one before it with the same key.
  const sending = { isUncertain: begun.before !== null }
  try {
    const target = await inTurn(db => findTarget(db, integration, body))
    if (!target) throw notFound('entity of Apple Ads')
    const changing = { claimed, formerly: begun.before, target, change: read.change, sending, signal: limit.signal }
    const answer = await change(call, changing)
    if (dryRun) await inTurn(db => releaseUpdate(db, claimed, begun.before === null))
    else await inTurn(db => transaction(db, tx => settle(tx, call.trail, { key, answer, integration, target })))
    return { answer, isKnown: false }
  } catch (error) {
    await inTurn(db => releaseUpdate(db, claimed, !sending.isUncertain))
    throw error
  } finally {
    limit.end()
  }
}

type Changing = {
  claimed: Claimed
  /** The value that a former request may have replaced. */
  formerly: string | null
  target: EntityTarget
  change: EntityChange
  sending: { isUncertain: boolean }
  signal: AbortSignal
}

async function change({ body, project, environment, dryRun, inTurn, deps }: Call, changing: Changing): Promise<Answer> {
  const { claimed, formerly, target, change: wanted, sending, signal } = changing
  const { field, before, after } = wanted
  const isDry = body.dry_run || dryRun
  const opened = await inTurn(db => openOfEnvironment(db, deps.secrets, environment))
  if (!opened) throw notFound('integration searchads')
  const present = await deps.appleAds.present(opened.settings, target, field, signal)
  assertDone(present)
  if (present.is !== 'value') throw notFound('entity of Apple Ads')
  const { value, currency } = present
  const answer = (applied: boolean, wouldSend: Answer['would_send'] = null, was = value ?? before): Answer => ({
    object: 'apple_ads_entity_update',
    url: '/v4/analytics/apple-ads/entity/update',
    entity_type: target.type,
    entity_id: target.id,
    field,
    before: was,
    after,
    dry_run: isDry,
    applied,
    would_send: wouldSend,
  })
  if (formerly !== null && value !== null && isSame(field, value, after)) return answer(true, null, formerly)
  // Apple has another value, so the former request is not what is true now.
  sending.isUncertain = false
  if (value === null || !isSame(field, value, before)) throw conflict(`${field} is ${value ?? 'not set'} and not ${before}: read it again`)
  if (isBeyondRaise(wanted, value))
    throw new Problem('raise_limit_exceeded', `${field} may become three times the present amount at most, which is ${value}`)
  const request = deps.appleAds.callOf(target, { field, after, currency })
  if (isDry) return answer(false, request as Answer['would_send'])
  if (isSame(field, value, after)) return answer(false)
  const use = useOf(wanted, value)
  const isOurs = await inTurn(db =>
    transaction(db, async tx => {
      // A repetition of a request that Apple did not get was counted already.
      if (use && formerly === null) await count(tx, project, use, use === 'enable' ? 'enables' : 'raises')
      return recordSending(tx, claimed, value)
    }),
  )
  if (!isOurs) throw inProgress()
  sending.isUncertain = true
  const sent = await deps.appleAds.send(opened.settings, target, request, signal)
  if (sent.is === 'refused' || sent.is === 'absent') sending.isUncertain = false
  assertDone(sent)
  return answer(true)
}

type Made = { key: UpdateKey; answer: Answer; integration: number; target: EntityTarget }

async function settle(tx: Tx, trail: Trail, { key, answer, integration, target }: Made): Promise<void> {
  const isFirst = await settleUpdate(tx, key, answer)
  if (!isFirst || !answer.applied) return
  if (answer.field === 'status') await storeStatus(tx, integration, target, answer.after)
  const value = (text: string) => ({ [answer.field]: text })
  await audit(tx, trail, {
    resource: `apple_ads_${target.type}`,
    id: target.id,
    before: value(answer.before),
    after: value(answer.after),
  })
}

export const v4UpdateAppleAdsEntity = preparedTransaction('v4UpdateAppleAdsEntity', prepare, async ({ prepared: { answer, isKnown } }) => ({
  body: answer,
  ...(isKnown && { headers: { 'Idempotency-Replayed': 'true' } }),
}))
