import { foldUsersFirst } from '../../domain/analytics/folding/fold-batch.ts'
import { findAppUser } from '../../domain/audience/customers/app-user.ts'
import { evaluateWithin } from '../../domain/growth/remote-configurations/evaluate.ts'
import { entitlementsAt } from '../../domain/purchases/entitlements/user-entitlement.ts'
import { findIdentity } from '../../domain/users/identity.ts'
import { noteSeen } from '../../domain/users/last-seen.ts'
import { listProperties } from '../../domain/users/properties.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import type { Tenant } from '../product.ts'

/** A statement of the product. The user and the identity stand in `values` as these words. */
export type Recorded = { name: string; text: string; values: unknown[] }
const USER = '$user'
const IDENTITY = '$identity'

const CONTEXT = 'home'

/** What the app asks at its start; in this order. */
export const requestsOf = (user: string, identity: string) => [
  `/v3/users/${user}`,
  `/v3/users/${user}/properties`,
  `/v3/identities/${identity}`,
  `/v3/users/${user}/entitlements`,
  `/v3/remote-config?user_id=${user}&context_key=${CONTEXT}`,
]

/** The statements that the product sends for each of these requests, as its own functions send them, and the one that writes when a user was seen. */
export async function recordStatements(
  pool: Pool,
  { environment }: Tenant,
  other: number,
  user: string,
  identity: string,
): Promise<{ requests: Recorded[][]; noteSeen: Recorded }> {
  let sent: Recorded[] = []
  const words = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(words)
    return value === user ? USER : value === identity ? IDENTITY : value
  }
  const recording = {
    query: (query: Recorded) => {
      sent.push({ ...query, values: query.values.map(words) })
      return pool.query(query)
    },
  } as unknown as Pool
  const taken = async (work: () => Promise<unknown>) => {
    sent = []
    await work()
    return sent
  }
  const find = () => findAppUser(recording, [environment, other], user)
  const now = (await find())!.now / 1000
  const requests = [
    await taken(find),
    await taken(async () => [await find(), await listProperties(recording, environment, user)]),
    await taken(async () => [await find(), await findIdentity(recording, [environment, other], identity)]),
    await taken(async () => [await find(), await entitlementsAt(recording, environment, user, now)]),
    await taken(async () => {
      await find()
      await foldUsersFirst(recording, environment, [user])
      await evaluateWithin(recording as unknown as Tx, environment, user, { keys: [CONTEXT], overrides: {} })
    }),
  ]
  const [seen] = await taken(() => noteSeen(recording, environment, user))
  return { requests, noteSeen: seen! }
}
