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
import { countUse, type UseKind, waitForUse } from '../../../domain/integrations/apple-ads/uses.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import { canonicalJson } from '../../../domain/kernel/canonical-json.ts'
import { conflict, invalidField, invalidFields, notFound, Refusal } from '../../../domain/kernel/refusal.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import type { Db, Tx } from '../../../store/connect.ts'
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
  /** Whether it is the first step of a call that is to be confirmed. */
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

/** Of the call itself, whether it is rehearsed or not. */
function hashOf({ idempotency_key: _, ...request }: Call['body']): Buffer {
  return createHash('sha256')
    .update(canonicalJson({ ...request, dry_run: false }))
    .digest()
}

const NAMES: Record<UseKind, string> = {
  report: 'reports',
  update: 'changes',
  enable: 'enables',
  raise_bid: 'raises',
  raise_budget: 'raises',
}

function assertFree(kind: UseKind, wait: number | null): void {
  if (wait !== null)
    throw new Problem('rate_limit_exceeded', `too many ${NAMES[kind]} of Apple Ads: try again in ${wait} s`, {
      headers: { 'Retry-After': String(wait) },
    })
}

/** Counts the use in the transaction, or throws 429. */
const count = async (tx: Tx, project: number, kind: UseKind) => assertFree(kind, await countUse(tx, project, kind))
/** Counts nothing; throws 429 where `count` would. */
const foresee = async (db: Db, project: number, kind: UseKind) => assertFree(kind, await waitForUse(db, project, kind))

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

/** Checks the request before anything of it is kept. */
async function prepare(call: Call): Promise<Prepared> {
  const { body, environment, dryRun, inTurn } = call
  const key = keyOf(call)
  const read = changeIn(body)
  if ('faults' in read) throw invalidFields(read.faults)
  // A dry run that was asked for as one has nothing to do with its key.
  if (body.dry_run && !dryRun) return { answer: await tryOut(call, read.change, null), isKnown: false }
  const hash = hashOf(body)
  const known = await inTurn(db => findUpdate(db, key, hash))
  if (known && known.is !== 'open') return { answer: answeredBy(known), isKnown: true }
  if (dryRun) return { answer: await tryOut(call, read.change, known?.before ?? null), isKnown: false }
  const { number: integration } = await inTurn(db => getConnection(db, environment))
  return perform(call, { key, hash, integration, change: read.change })
}

type Asking = { integration: number; change: EntityChange; signal: AbortSignal }
type Present = { target: EntityTarget; settings: Record<string, unknown>; value: string | null; currency: string }

/** What the entity has at Apple now. */
async function askPresent({ body, environment, inTurn, deps }: Call, { integration, change, signal }: Asking): Promise<Present> {
  const target = await inTurn(db => findTarget(db, integration, body))
  if (!target) throw notFound('entity of Apple Ads')
  const opened = await inTurn(db => openOfEnvironment(db, deps.secrets, environment))
  if (!opened) throw notFound('integration searchads')
  const present = await deps.appleAds.present(opened.settings, target, change.field, signal)
  assertDone(present)
  if (present.is !== 'value') throw notFound('entity of Apple Ads')
  return { target, settings: opened.settings, value: present.value, currency: present.currency }
}

/** The present value, where the change may be made. */
function changeable(wanted: EntityChange, value: string | null): string {
  const { field, before } = wanted
  if (value === null || !isSame(field, value, before)) throw conflict(`${field} is ${value ?? 'not set'} and not ${before}: read it again`)
  if (isBeyondRaise(wanted, value))
    throw new Problem('raise_limit_exceeded', `${field} may become three times the present amount at most, which is ${value}`)
  return value
}

const answerOf = (
  { type, id }: EntityTarget,
  { field, after }: EntityChange,
  rest: Pick<Answer, 'before' | 'applied'> & Partial<Pick<Answer, 'dry_run' | 'would_send'>>,
): Answer => ({
  object: 'apple_ads_entity_update',
  url: '/v4/analytics/apple-ads/entity/update',
  entity_type: type,
  entity_id: id,
  field,
  after,
  dry_run: false,
  would_send: null,
  ...rest,
})

/** Sends nothing and leaves the key free. Only a dry run that was asked for as one counts, and only among the changes of a minute and an hour. */
async function tryOut(call: Call, wanted: EntityChange, formerly: string | null): Promise<Answer> {
  const { project, environment, dryRun, inTurn, deps } = call
  const { field, after } = wanted
  const { number: integration } = await inTurn(db => getConnection(db, environment))
  await inTurn(db => (dryRun ? foresee(db, project, 'update') : transaction(db, tx => count(tx, project, 'update'))))
  const limit = timeLimit(ASKING_MS)
  try {
    const { target, value, currency } = await askPresent(call, { integration, change: wanted, signal: limit.signal })
    const isDone = formerly !== null && value !== null && isSame(field, value, after)
    const before = isDone ? formerly : changeable(wanted, value)
    const dry = { before, applied: false, dry_run: true }
    if (isDone || isSame(field, before, after)) return answerOf(target, wanted, dry)
    const use = useOf(wanted, before)
    if (use && formerly === null) await inTurn(db => foresee(db, project, use))
    const request = deps.appleAds.callOf(target, { field, after, currency })
    return answerOf(target, wanted, { ...dry, would_send: request as Answer['would_send'] })
  } finally {
    limit.end()
  }
}

/** A refusal to read is no answer to whether the request before was carried out: it is not kept as one. */
const stillUnknown = (error: unknown): unknown =>
  error instanceof Refusal && (error.code === 'conflict' || error.code === 'not_found')
    ? new Refusal('network_error', `what became of the request before is not known: ${error.message}`)
    : error

type Request = { key: UpdateKey; hash: Buffer; integration: number; change: EntityChange }

/**
 * Claims the key and makes the change. What Apple has done is settled and audited here: whatever else is stored meanwhile as the answer to the
 * key, the transaction of the operation only repeats it.
 */
async function perform(call: Call, { key, hash, integration, change }: Request): Promise<Prepared> {
  const { body, project, trail, inTurn } = call
  const limit = timeLimit(ASKING_MS)
  const begun = await inTurn(db =>
    transaction(db, async tx => {
      await count(tx, project, 'update')
      return claimUpdate(tx, key, { hash, ...body })
    }),
  )
  if (begun.is !== 'claimed') return { answer: answeredBy(begun), isKnown: true }
  const claimed = { ...key, claim: begun.claim }
  // Whether Apple may have made the change, in this request or in one before it with the same key.
  const sending = { isUncertain: begun.before !== null }
  try {
    const present = await askPresent(call, { integration, change, signal: limit.signal }).catch(error => {
      throw sending.isUncertain ? stillUnknown(error) : error
    })
    const answer = await send(call, present, { claimed, formerly: begun.before, change, sending, signal: limit.signal })
    await inTurn(db => transaction(db, tx => settle(tx, trail, { key, answer, integration, target: present.target })))
    return { answer, isKnown: false }
  } catch (error) {
    await inTurn(db => releaseUpdate(db, claimed, !sending.isUncertain))
    throw error
  } finally {
    limit.end()
  }
}

type Sending = {
  claimed: Claimed
  /** The value that a former request may have replaced. */
  formerly: string | null
  change: EntityChange
  sending: { isUncertain: boolean }
  signal: AbortSignal
}

async function send({ project, inTurn, deps }: Call, { target, settings, value, currency }: Present, one: Sending): Promise<Answer> {
  const { claimed, formerly, change, sending, signal } = one
  const { field, after } = change
  if (formerly !== null && value !== null && isSame(field, value, after))
    return answerOf(target, change, { before: formerly, applied: true })
  // Apple has another value, so the former request is not what is true now.
  sending.isUncertain = false
  const before = changeable(change, value)
  if (isSame(field, before, after)) return answerOf(target, change, { before, applied: false })
  const use = useOf(change, before)
  const isOurs = await inTurn(db =>
    transaction(db, async tx => {
      // A repetition of a request that Apple did not get was counted already.
      if (use && formerly === null) await count(tx, project, use)
      return recordSending(tx, claimed, before)
    }),
  )
  if (!isOurs) throw inProgress()
  sending.isUncertain = true
  const sent = await deps.appleAds.send(settings, target, { field, after, currency }, signal)
  if (sent.is === 'refused' || sent.is === 'absent') sending.isUncertain = false
  assertDone(sent)
  return answerOf(target, change, { before, applied: true })
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
