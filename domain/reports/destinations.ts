import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { providerOf } from '../integrations/catalogue.ts'
import { PROVIDERS } from '../integrations/providers.ts'
import { notFound } from '../refusal.ts'
import type { Destination } from './report.ts'

/** A label is sent back as it was shown, so it has no more characters than may be sent. */
const LABEL_LENGTH = 255

type Found = { id: string; slug: string; title: string }

const SLUGS = PROVIDERS.filter(({ takes }) => takes.includes('R')).map(({ slug }) => slug)

const shown = ({ id, slug, title }: Found): Destination => ({
  type: 'target_integration',
  id,
  label: [...`${providerOf(slug).title}: ${title}`].slice(0, LABEL_LENGTH).join(''),
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
export async function lockDestinations(tx: Tx, environment: Environment, ids: string[]): Promise<Destination[]> {
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
