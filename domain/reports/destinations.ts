import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { PROVIDERS, providerOf } from '../integrations/providers.ts'
import { notFound } from '../refusal.ts'
import type { Destination } from './report.ts'

/** A client may send a label back as it was shown, so a label has no more characters than a request may have. */
const LABEL_LENGTH = 255

type Target = { id: string; slug: string; title: string }

const SLUGS = PROVIDERS.filter(({ takes }) => takes.includes('R')).map(({ slug }) => slug)

const toDestination = ({ id, slug, title }: Target): Destination => ({
  type: 'target_integration',
  id,
  label: [...`${providerOf(slug).title}: ${title}`].slice(0, LABEL_LENGTH).join(''),
})

/** All destinations that a report can name, in the order of their creation. */
export async function listDestinations(db: Db, environment: Environment): Promise<Destination[]> {
  const { rows } = await db.query<Target>(
    `select id, slug, title from integrations where environment = $1 and deleted_at is null and slug = any ($2) order by created_at, id`,
    [environment, SLUGS],
  )
  return rows.map(toDestination)
}

/**
 * The destinations with these ids, in the given order. Until the transaction ends none of them can be deleted. Throws `not_found` for the
 * first id that cannot be a destination.
 */
export async function lockDestinations(tx: Tx, environment: Environment, ids: string[]): Promise<Destination[]> {
  const { rows } = await tx.query<Target>(
    `select id, slug, title from integrations where environment = $1 and id = any ($2) and deleted_at is null and slug = any ($3)
     order by id for share`,
    [environment, ids, SLUGS],
  )
  const found = new Map(rows.map(row => [row.id, toDestination(row)]))
  return ids.map((id, i) => {
    const destination = found.get(id)
    if (!destination) throw notFound(`destinations[${i}].id: destination`)
    return destination
  })
}
