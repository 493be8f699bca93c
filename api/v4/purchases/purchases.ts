import { audit } from '../../../domain/kernel/audit/record.ts'
import type { Principal } from '../../../domain/operators/principal.ts'
import { getPurchase, listPurchases } from '../../../domain/purchases/read.ts'
import { gatherEvidenceWithReason } from '../../../domain/purchases/sandbox-claim.ts'
import { updatePurchase } from '../../../domain/purchases/update.ts'
import { assumedEvidence, claimToVerify, configOfStore } from '../../../domain/purchases/verification.ts'
import { inTransaction, onPool, planned, preparedTransaction } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { purchase, recordPurchase } from '../../purchase.ts'

export const v4ListUserPurchases = onPool('v4ListUserPurchases', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after, 'filter[platform]': platforms = [] } = query
  const { rows, restarted } = await listPurchases(db, environment, path.user_id, { limit, after, platforms })
  const url = `/v4/users/${path.user_id}/purchases` as const
  return {
    body: cursorPage({ url, rows, limit, item: row => purchase(row, path.user_id) }),
    headers: restartedHeader(restarted),
  }
})

// A named key with `purchases:write` is a server's, as the Secret Key is: its word counts as much.
const claimant = ({ project, environmentKind }: Pick<Principal, 'project' | 'environmentKind'>) =>
  ({ project, environment: environmentKind, key: 'secret' }) as const

export const v4CreatePurchase = planned(
  preparedTransaction(
    'v4CreatePurchase',
    async ({ body, inTurn, ...call }) => {
      const claim = claimToVerify(body)
      const config = await inTurn(db => configOfStore(db, call.project, claim))
      return gatherEvidenceWithReason(call.deps, claimant(call), claim, config)
    },
    async ({ path, body, trail, tx, prepared }) => ({
      body: await recordPurchase(tx, trail, { user: path.user_id, input: body, evidence: prepared }),
    }),
  ),
  async ({ path, body, trail, tx, ...call }) => {
    const claim = claimToVerify(body)
    const evidence = assumedEvidence(call.deps, claimant(call), claim, await configOfStore(tx, call.project, claim))
    await recordPurchase(tx, trail, { user: path.user_id, input: body, evidence })
  },
)

export const v4GetUserPurchase = onPool('v4GetUserPurchase', async ({ path, environment, db }) => ({
  body: purchase(await getPurchase(db, environment, path.user_id, path.purchase_id), path.user_id),
}))

export const v4UpdateUserPurchase = inTransaction('v4UpdateUserPurchase', async ({ path, body, environment, trail, tx }) => {
  const user = path.user_id
  const { before, after } = await updatePurchase(tx, environment, user, path.purchase_id, body)
  if (before !== after) {
    const shown = purchase(after, user)
    await audit(tx, trail, { resource: 'purchase', id: shown.id, user, before: purchase(before, user), after: shown })
  }
  return { body: purchase(after, user) }
})
