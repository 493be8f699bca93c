import { type AttemptRow, listAttempts } from '../../../domain/purchases/attempts/attempt.ts'
import { onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

const attempt = (user: string, { product, transaction, answer_code: code, answer_message: message, ...row }: AttemptRow) => ({
  object: 'purchase_attempt' as const,
  url: `/v4/users/${user}/purchase-attempts/${row.id}`,
  user_id: user,
  id: row.id,
  source: row.source,
  platform: row.platform,
  product_id: product,
  transaction_id: transaction,
  token_digest: row.token_digest,
  reason: row.reason,
  store_answer: code === null ? null : { code, message },
  times: row.times,
  created_at: row.created_at,
  last_at: row.last_at,
})

export const v4ListUserPurchaseAttempts = onPool('v4ListUserPurchaseAttempts', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after } = query
  const user = path.user_id
  const reasons = query['filter[reason][]'] ?? []
  const { rows, restarted } = await listAttempts(db, environment, user, { limit, after, reasons })
  return {
    body: cursorPage({ url: `/v4/users/${user}/purchase-attempts`, rows, limit, item: row => attempt(user, row) }),
    headers: restartedHeader(restarted),
  }
})
