import { isDeepStrictEqual } from 'node:util'
import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { automationNaming } from '../../kernel/references/automation-naming.ts'
import { inUse, invalidField, notFound } from '../../kernel/refusal.ts'

/** A template of a push notification, as the API shows it. */
export type Push = {
  id: string
  name: string
  title: string
  body: string
  image_url: string | null
  deep_link: string | null
  data: Record<string, string>
  integration_id: string | null
  created_at: string
  updated_at: string
}

export type PushInput = Omit<Push, 'id' | 'created_at' | 'updated_at'>

const PUSH_COLUMNS = 'id, name, title, body, image_url, deep_link, data, integration_id, created_at, updated_at'

/** In the order of the columns after the id. */
const valuesOf = ({ name, title, body, image_url, deep_link, data, integration_id }: PushInput): unknown[] => [
  name,
  title,
  body,
  image_url,
  deep_link,
  JSON.stringify(data),
  integration_id,
]

/** Providers that send pushes. */
const PUSH_PROVIDERS = ['onesignal', 'firebase']

/**
 * Locks the integration that a push names until the end of the transaction: a concurrent deletion of the integration waits, and then finds
 * the push. Throws `not_found`; `invalid_data` for a provider that sends no pushes.
 */
async function lockIntegration(tx: Tx, environment: Environment, id: string | null): Promise<void> {
  if (id === null) return
  const { rows } = await tx.query<{ slug: string }>(
    'select slug from integrations where environment = $1 and id = $2 and deleted_at is null for key share',
    [environment, id],
  )
  if (!rows[0]) throw notFound(`integration_id: integration ${id}`)
  if (!PUSH_PROVIDERS.includes(rows[0].slug))
    throw invalidField('integration_id', `must be an integration of ${PUSH_PROVIDERS.join(' or ')}`)
}

export async function findPush(db: Db, environment: Environment, id: string): Promise<Push | null> {
  const { rows } = await db.query<Push>(`select ${PUSH_COLUMNS} from pushes where environment = $1 and id = $2`, [environment, id])
  return rows[0] ?? null
}

export async function getPush(db: Db, environment: Environment, id: string): Promise<Push> {
  const push = await findPush(db, environment, id)
  if (!push) throw notFound('push')
  return push
}

const LISTED = { table: 'pushes', columns: PUSH_COLUMNS, order: 'newest' as const }

export const listPushes = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Push>> =>
  pageOf(db, LISTED, environment, { limit, after })

export async function createPush(tx: Tx, environment: Environment, input: PushInput): Promise<Push> {
  await lockIntegration(tx, environment, input.integration_id)
  const { rows } = await tx.query<Push>(
    `insert into pushes (environment, id, name, title, body, image_url, deep_link, data, integration_id, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, t, t from date_trunc('second', environment_now($1)) t returning ${PUSH_COLUMNS}`,
    [environment, orderedId('psh'), ...valuesOf(input)],
  )
  return rows[0]!
}

async function lockPush(tx: Tx, environment: Environment, id: string, strength: 'update' | 'no key update'): Promise<Push> {
  const { rows } = await tx.query<Push>(`select ${PUSH_COLUMNS} from pushes where environment = $1 and id = $2 for ${strength}`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('push')
  return rows[0]
}

/** Replaces the template. `before` is null when nothing changes. */
export async function updatePush(
  tx: Tx,
  environment: Environment,
  id: string,
  input: PushInput,
): Promise<{ before: Push | null; after: Push }> {
  const before = await lockPush(tx, environment, id, 'no key update')
  await lockIntegration(tx, environment, input.integration_id)
  const { id: _id, created_at: _created, updated_at: _updated, ...present } = before
  if (isDeepStrictEqual(present, input)) return { before: null, after: before }
  const { rows } = await tx.query<Push>(
    `update pushes set name = $3, title = $4, body = $5, image_url = $6, deep_link = $7, data = $8, integration_id = $9,
       updated_at = environment_now($1) where environment = $1 and id = $2 returning ${PUSH_COLUMNS}`,
    [environment, id, ...valuesOf(input)],
  )
  return { before, after: rows[0]! }
}

/** Deletes a push and returns its last state. Throws `conflict` while an active or paused automation names the push. */
export async function deletePush(tx: Tx, environment: Environment, id: string): Promise<Push> {
  const push = await lockPush(tx, environment, id, 'update')
  const holder = await automationNaming(tx, environment, 'push', id)
  if (holder) throw inUse('push', holder)
  await tx.query('delete from pushes where environment = $1 and id = $2', [environment, id])
  return push
}
