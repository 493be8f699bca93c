import { findAppUser } from '../../domain/audience/customers/app-user.ts'
import { audit } from '../../domain/kernel/audit/record.ts'
import { claimNamed } from '../../domain/purchases/claim-named.ts'
import { isReportConflict } from '../../domain/purchases/record-reports.ts'
import { createIdentifiedUser, findIdentity, type Identity, type LinkOutcome, linkIdentity } from '../../domain/users/identity.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { notFoundV3, V3Problem } from './errors.ts'
import { atKey, type V3Call } from './operation.ts'

const identity = ({ id, user_id }: Identity) => ({ id, user_id })

export const v3GetIdentity = atKey('v3GetIdentity', async ({ path, owner, deps }) => {
  const found = await findIdentity(deps.listing, [owner.environment, owner.otherEnvironment], path.identity_id)
  if (!found) throw notFoundV3('Identity not found')
  return identity(found)
})

const noSuchUser = () => new V3Problem('relation_not_found', 'user not found', { status: 400 })
const taken = () => new V3Problem('already_exists', "identity already exists: it's linked to another user")

const REFUSED: Record<Exclude<LinkOutcome, 'linked'>, () => V3Problem> = {
  'no user': noSuchUser,
  'linked before': () => new V3Problem('already_exists', 'user already has identity'),
  'identity taken': taken,
  'user identified': () => new V3Problem('already_exists', 'user already converted'),
}

type Call = V3Call<'v3CreateIdentity'>

/**
 * Each change of a link writes an audit entry: an operator needs it when access went to the wrong person. Purchases that stores have
 * reported for the identity become those of the user.
 */
async function record(tx: Tx, { trail }: Call, environment: number, { id, user_id }: Identity): Promise<void> {
  await audit(tx, { ...trail, environment }, { resource: 'identity', id, after: { id, user_id }, user: user_id })
  await claimNamed(tx, environment, [{ id: user_id, identity: id }])
}

async function link(call: Call, user_id: string): Promise<Identity> {
  const { path, owner, db } = call
  const user = await findAppUser(db, [owner.environment, owner.otherEnvironment], user_id)
  if (!user) throw noSuchUser()
  const made = { id: path.identity_id, user_id }
  const outcome = await transaction(
    db,
    async tx => {
      const outcome = await linkIdentity(tx, user.environment, made.id, user_id)
      if (outcome === 'linked') await record(tx, call, user.environment, made)
      return outcome
    },
    isReportConflict,
  )
  if (outcome !== 'linked') throw REFUSED[outcome]()
  return made
}

async function linkNewUser(call: Call): Promise<Identity> {
  const { path, environment, db } = call
  const id = path.identity_id
  // Clients repeat this at each start of the app: most of the time it opens no transaction.
  if (await findIdentity(db, [environment], id)) throw taken()
  return transaction(
    db,
    async tx => {
      const user_id = await createIdentifiedUser(tx, environment, id, { isSeenLive: true })
      if (user_id === null) throw taken()
      await record(tx, call, environment, { id, user_id })
      return { id, user_id }
    },
    isReportConflict,
  )
}

export const v3CreateIdentity = atKey('v3CreateIdentity', async call =>
  identity(call.body?.user_id === undefined ? await linkNewUser(call) : await link(call, call.body.user_id)),
)
