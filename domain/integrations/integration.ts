import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import type { TargetPlatform } from './catalogue.ts'

export type IntegrationRow = {
  id: string
  number: number
  slug: string
  title: string
  target_platform: TargetPlatform
  /** 0 paused, 1 active, 2 error. */
  active: 0 | 1 | 2
  created_at: string
  updated_at: string
  last_delivery_at: string | null
  last_error_at: string | null
  last_error_message: string | null
  delivery_error_count: number
  /** Whether it was active before: its place in the log is fixed then. */
  has_begun: boolean
}

export const INTEGRATION_COLUMNS = `id, number, slug, title, target_platform, active, created_at, updated_at, last_delivery_at, last_error_at,
  last_error_message, delivery_error_count, from_offsets is not null as has_begun`

export async function getIntegration(db: Db, environment: Environment, id: string): Promise<IntegrationRow> {
  const { rows } = await db.query<IntegrationRow>({
    name: 'get-integration',
    text: `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and id = $2 and deleted_at is null`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

/** Whoever pauses, activates or deletes it comes after those who make or park its deliveries, and before those who come later. */
export async function lockIntegration(tx: Tx, environment: Environment, id: string): Promise<IntegrationRow> {
  const { rows } = await tx.query<IntegrationRow>(
    `select ${INTEGRATION_COLUMNS} from integrations where environment = $1 and id = $2 and deleted_at is null for no key update`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}
