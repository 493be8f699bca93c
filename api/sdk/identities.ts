import { audit } from '../../domain/kernel/audit/record.ts'
import { notFound } from '../../domain/kernel/refusal.ts'
import { claimNamed } from '../../domain/purchases/claim-named.ts'
import { handOverPurchases } from '../../domain/purchases/hand-over.ts'
import { isReportConflict } from '../../domain/purchases/record-reports.ts'
import { createIdentifiedUser, findIdentity, linkIdentity } from '../../domain/users/identity.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { ofKnownUser, ofUser, type SdkCall } from './operation.ts'

type Call = SdkCall<'sdkIdentifyUser'>

/**
 * Each change of a link writes an audit entry: an operator needs it when access went to the wrong person. Purchases that stores have
 * reported for the identity become those of the user.
 */
async function recordLink(tx: Tx, { trail, environment, body: { identity_id: id } }: Call, user_id: string): Promise<void> {
  await audit(tx, trail, { resource: 'identity', id, after: { id, user_id }, user: user_id })
  await claimNamed(tx, environment, [{ id: user_id, identity: id }])
}

/** The user of the identity afterwards: a link is never changed, so an existing link stays. */
async function identify(tx: Tx, call: Call): Promise<string> {
  const { body, environment, user } = call
  const identity = body.identity_id
  const outcome = await linkIdentity(tx, environment, identity, user.id)
  switch (outcome) {
    case 'linked':
      await recordLink(tx, call, user.id)
      return user.id
    case 'linked before':
      return user.id
    case 'user identified': {
      // After a logout the SDK continues with its first user, who may be another person by now.
      const made = await createIdentifiedUser(tx, environment, identity, { isSeenLive: true })
      if (made === null) return ownerOf(tx, call)
      await recordLink(tx, call, made)
      return made
    }
    case 'identity taken':
      return ownerOf(tx, call)
    case 'no user':
      throw notFound('user')
    default:
      return outcome satisfies never
  }
}

async function ownerOf(tx: Tx, { body, environment }: Call): Promise<string> {
  const found = await findIdentity(tx, [environment], body.identity_id)
  if (!found) throw notFound('user')
  return found.user_id
}

/** A transaction of its own: it locks lineages before users. After a crash before it, the next request of the SDK repeats the work. */
const handOver = ({ db, trail, environment, user, body }: Call, to: string) =>
  transaction(
    db,
    async tx => {
      const lineages = await handOverPurchases(tx, environment, user.id, to)
      if (lineages === 0) return
      const change = { before: { user_id: user.id }, after: { user_id: to, lineages } }
      await audit(tx, trail, { resource: 'identity', id: body.identity_id, ...change, user: to, reason: 'purchases handed over' })
    },
    isReportConflict,
  )

export const sdkIdentifyUser = ofUser(
  'sdkIdentifyUser',
  call =>
    call.inTurn(async db => {
      const { user } = call
      const id = await transaction(db, tx => identify(tx, call), isReportConflict)
      if (id !== user.id && user.identity_id === null) await handOver(call, id)
      return { success: true as const, data: { anon_id: id } }
    }),
  ({ body }) => body.anon_id,
)

export const sdkGetUser = ofKnownUser(
  'sdkGetUser',
  ({ path }) => path.id,
  async ({ user: { id, identity_id } }) => ({ success: true as const, data: { id, ...(identity_id !== null && { identity_id }) } }),
)
