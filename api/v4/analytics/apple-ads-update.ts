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
  type BegunUpdate,
  claimUpdate,
  findTarget,
  findUpdate,
  recordSending,
  releaseUpdate,
  settleUpdate,
  storeStatus,
  type UpdateKey,
} from '../../../domain/integrations/apple-ads/update-records.ts'
import { countUse, type UseKind } from '../../../domain/integrations/apple-ads/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { canonicalJson } from '../../../domain/kernel/canonical-json.ts'
import { conflict, invalidField, invalidFields, notFound, Refusal } from '../../../domain/kernel/refusal.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
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
  inTurn: StatementTurn
  deps: ApiDeps
}
type Prepared = { key: UpdateKey; answer: Answer; integration: number | null; target: EntityTarget | null }

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

/** The stored answer of a request that was carried out. Throws for one that cannot be begun. */
function answeredBy(begun: BegunUpdate): Answer | null {
  switch (begun.is) {
    case 'answered':
      return begun.answer as Answer
    case 'other':
      throw new Problem('idempotency_conflict', 'this idempotency key was used with another request')
    case 'in_progress':
      throw new Problem('idempotency_in_progress', 'a request with this idempotency key is being performed', {
        headers: { 'Retry-After': '1' },
      })
    case 'busy':
      throw conflict('another request changes this entity at this moment: read it again')
    case 'new':
    case 'unknown':
      return null
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

/** Checks the request, claims its key, and asks Apple. What it returns is certain, and is settled in the transaction of the operation. */
async function prepare(call: Call): Promise<Prepared> {
  const { body, project, environment, dryRun, inTurn } = call
  const key = keyOf(call)
  const read = changeIn(body)
  if ('faults' in read) throw invalidFields(read.faults)
  const hash = hashOf(body)
  const { number: integration } = await inTurn(db => getConnection(db, environment))
  const known = await inTurn(db => findUpdate(db, key, hash))
  const stored = known ? answeredBy(known) : null
  if (stored) return { key, answer: stored, integration: null, target: null }
  const begun = await inTurn(db =>
    transaction(db, async tx => {
      await count(tx, project, 'update', 'changes')
      return claimUpdate(tx, key, { hash, ...body })
    }),
  )
  const meanwhile = answeredBy(begun)
  if (meanwhile) return { key, answer: meanwhile, integration: null, target: null }
  // Whether Apple may have made the change, in this request or in one before it with the same key.
  const sending = { isUncertain: begun.is === 'unknown' }
  try {
    const target = await inTurn(db => findTarget(db, integration, body))
    if (!target) throw notFound('entity of Apple Ads')
    const answer = await change(call, { key, begun, target, change: read.change, sending })
    if (dryRun) {
      await inTurn(db => releaseUpdate(db, key, begun.is === 'new'))
      return { key, answer, integration: null, target: null }
    }
    return { key, answer, integration, target }
  } catch (error) {
    await inTurn(db => releaseUpdate(db, key, !sending.isUncertain))
    throw error
  }
}

type Changing = { key: UpdateKey; begun: BegunUpdate; target: EntityTarget; change: EntityChange; sending: { isUncertain: boolean } }

async function change({ body, project, environment, dryRun, inTurn, deps }: Call, changing: Changing): Promise<Answer> {
  const { key, begun, target, change: wanted, sending } = changing
  const { field, before, after } = wanted
  const isDry = body.dry_run || dryRun
  const opened = await inTurn(db => openOfEnvironment(db, deps.secrets, environment))
  if (!opened) throw notFound('integration searchads')
  const present = await deps.appleAds.present(opened.settings, target, field)
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
  if (begun.is === 'unknown' && value !== null && isSame(field, value, after)) return answer(true, null, begun.before)
  // Apple has another value, so the former request is not what is true now.
  sending.isUncertain = false
  if (value === null || !isSame(field, value, before)) throw conflict(`${field} is ${value ?? 'not set'} and not ${before}: read it again`)
  if (isBeyondRaise(wanted, value))
    throw new Problem('raise_limit_exceeded', `${field} may become three times the present amount at most, which is ${value}`)
  const request = deps.appleAds.callOf(target, { field, after, currency })
  if (isDry) return answer(false, request as Answer['would_send'])
  if (isSame(field, value, after)) return answer(false)
  const use = useOf(wanted, value)
  await inTurn(db =>
    transaction(db, async tx => {
      // A repetition of a request that Apple did not get was counted already.
      if (use && begun.is === 'new') await count(tx, project, use, use === 'enable' ? 'enables' : 'raises')
      await recordSending(tx, key, value)
    }),
  )
  sending.isUncertain = true
  const sent = await deps.appleAds.send(opened.settings, target, request)
  if (sent.is === 'refused' || sent.is === 'absent') sending.isUncertain = false
  assertDone(sent)
  return answer(true)
}

export const v4UpdateAppleAdsEntity = preparedTransaction('v4UpdateAppleAdsEntity', prepare, async ({ trail, tx, prepared }) => {
  const { key, answer, integration, target } = prepared
  if (integration !== null && target !== null) {
    await settleUpdate(tx, key, answer)
    if (answer.applied) {
      if (answer.field === 'status') await storeStatus(tx, integration, target, answer.after)
      const value = (text: string) => ({ [answer.field]: text })
      await audit(tx, trail, {
        resource: `apple_ads_${target.type}`,
        id: target.id,
        before: value(answer.before),
        after: value(answer.after),
      })
    }
  }
  return { body: answer, ...(integration === null && { headers: { 'Idempotency-Replayed': 'true' } }) }
})
