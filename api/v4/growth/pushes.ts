import type { Push } from '../../../domain/growth/pushes/push.ts'
import { createPush, deletePush, getPush, listPushes, updatePush } from '../../../domain/growth/pushes/push.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { automationsSending } from '../../../domain/kernel/references/automations-sending.ts'
import type { Scopes } from '../../../domain/projects/authority.ts'
import type { Db } from '../../../store/connect.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { usedBy } from '../../uses.ts'

const shown = ({ id, ...rest }: Push) => ({ object: 'push' as const, id, url: `/v4/pushes/${id}`, ...rest })

/** What uses each push. */
async function usesOf(db: Db, environment: Environment, pushes: readonly Push[], scopes: Scopes) {
  const ids = pushes.map(({ id }) => id)
  const found = ids.length === 0 ? undefined : await automationsSending(db, environment, ids)
  return ({ id }: Push) => usedBy(found?.get(id), scopes)
}

export const v4ListPushes = onPool('v4ListPushes', async ({ query: { limit, starting_after }, environment, db, principal }) => {
  const { rows, restarted } = await listPushes(db, environment, limit, starting_after)
  const uses = await usesOf(db, environment, rows, principal.scopes)
  const item = (push: Push) => ({ ...shown(push), ...uses(push) })
  return { body: cursorPage({ url: '/v4/pushes', rows, limit, item }), headers: restartedHeader(restarted) }
})

export const v4CreatePush = inTransaction('v4CreatePush', async ({ body, environment, trail, tx }) => {
  const made = shown(await createPush(tx, environment, body))
  await audit(tx, trail, { resource: 'push', id: made.id, after: made })
  return { body: made }
})

export const v4GetPush = onPool('v4GetPush', async ({ path, environment, db, principal }) => {
  const push = await getPush(db, environment, path.push_id)
  return { body: { ...shown(push), ...(await usesOf(db, environment, [push], principal.scopes))(push) } }
})

export const v4UpdatePush = inTransaction('v4UpdatePush', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await updatePush(tx, environment, path.push_id, body)
  if (before) await audit(tx, trail, { resource: 'push', id: after.id, before: shown(before), after: shown(after) })
  return { body: shown(after) }
})

export const v4DeletePush = inTransaction('v4DeletePush', async ({ path, environment, trail, tx }) => {
  const before = await deletePush(tx, environment, path.push_id)
  await audit(tx, trail, { resource: 'push', id: before.id, before: shown(before) })
  return { body: undefined }
})
