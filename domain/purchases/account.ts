import { createHash } from 'node:crypto'
import type { Tx } from '../../store/connect.ts'
import { findUsers } from '../events/look-up.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Store } from './subscriptions/purchase.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The user ids that an account id of a store may stand for. The App Store accepts UUIDs only: the 32 digits of a user id of the service. */
function candidatesOf(platform: Store, account: string): string[] {
  if (platform !== 'app_store' || !UUID.test(account)) return [account]
  const lower = account.toLowerCase()
  return [`QON_${lower.replaceAll('-', '')}`, account, lower]
}

const USER_ID = /^QON_[0-9a-f]{32}$/
const hashOf = (name: string): string => createHash('sha256').update(name).digest('base64url')
const normalized = (name: string): string => (UUID.test(name) ? name.toLowerCase() : name)

/** The hash that is stored of an account id that no user has yet: after an erasure, no name of the user is left. */
export const accountHash = (account: string): string => hashOf(normalized(account))

/** The hashes of the account ids that may stand for a user id or an identity: the reverse of `candidatesOf`, without regard to the case of a UUID. */
export const accountHashesOf = (name: string): string[] => [
  accountHash(name),
  ...(USER_ID.test(name) ? [hashOf(name.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))] : []),
]

/** The user whom an app has named to the store: found by the user's id, else by the identity. Null: no such user is known. */
export async function userOfAccount(tx: Tx, environment: Environment, platform: Store, account: string | null): Promise<string | null> {
  if (account === null || account === '') return null
  const candidates = candidatesOf(platform, account)
  const byId = await findUsers(tx, environment, 'id', candidates)
  const named = candidates.find(id => byId.has(id))
  if (named !== undefined) return named
  const byIdentity = await findUsers(tx, environment, 'identity_id', candidates)
  const identity = candidates.find(id => byIdentity.has(id))
  return identity === undefined ? null : byIdentity.get(identity)!.id
}
