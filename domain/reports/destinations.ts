import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import type { Destination } from './report.ts'

/** Providers that take report files, with the titles that labels begin with. */
export const DESTINATION_TITLES = {
  amazon_s3: 'Amazon S3',
  google_cloud_storage: 'Google Cloud Storage',
  slack: 'Slack',
  webhooks: 'Webhooks',
  email: 'E-mail (SMTP)',
} as const
export type DestinationSlug = keyof typeof DESTINATION_TITLES

/** A label is sent back as it was shown, so it has no more characters than may be sent. */
const LABEL_LENGTH = 255

type Found = { id: string; slug: DestinationSlug; title: string }

const SLUGS = Object.keys(DESTINATION_TITLES)

const shown = ({ id, slug, title }: Found): Destination => ({
  type: 'target_integration',
  id,
  label: [...`${DESTINATION_TITLES[slug]}: ${title}`].slice(0, LABEL_LENGTH).join(''),
})

/** All that a report can name, in the order of their creation. */
export async function listDestinations(db: Db, environment: Environment): Promise<Destination[]> {
  const { rows } = await db.query<Found>(
    `select id, slug, title from integrations where environment = $1 and deleted_at is null and slug = any ($2) order by created_at, id`,
    [environment, SLUGS],
  )
  return rows.map(shown)
}

/** Those named, in their order, held until the transaction ends: none is deleted meanwhile. 404 for the first that cannot be one. */
export async function holdDestinations(tx: Tx, environment: Environment, ids: string[]): Promise<Destination[]> {
  const { rows } = await tx.query<Found>(
    `select id, slug, title from integrations where environment = $1 and id = any ($2) and deleted_at is null and slug = any ($3)
     order by id for share`,
    [environment, ids, SLUGS],
  )
  const known = new Map(rows.map(row => [row.id, shown(row)]))
  return ids.map((id, i) => {
    const destination = known.get(id)
    if (!destination) throw notFound(`destinations[${i}].id: destination`)
    return destination
  })
}
