import type { Db, Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import { PROVIDERS, providerOf } from '../../integrations/providers.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound, Refusal } from '../../kernel/refusal.ts'
import type { Destination } from './report.ts'

/** A client may send a label back as it was shown, so a label has no more characters than a request may have. */
const LABEL_LENGTH = 255

type Target = { id: string; slug: string; title: string; is_addressed: boolean }

const TARGET_COLUMNS = `id, slug, title, slug <> 'email' or coalesce(settings -> 'recipients', '[]') not in ('[]', 'null') as is_addressed`

const SLUGS = PROVIDERS.filter(({ takes }) => takes.includes('R')).map(({ slug }) => slug)

const toDestination = ({ id, slug, title }: Target): Destination => ({
  type: 'target_integration',
  id,
  label: [...`${providerOf(slug).title}: ${title}`].slice(0, LABEL_LENGTH).join(''),
})

/** All destinations that a report can name, in the order of their creation: an e-mail integration only with recipients. */
export async function listDestinations(db: Db, environment: Environment): Promise<Destination[]> {
  const { rows } = await db.query<Target>(
    `select ${TARGET_COLUMNS} from integrations where environment = $1 and deleted_at is null and slug = any ($2) order by created_at, id`,
    [environment, SLUGS],
  )
  return rows.filter(({ is_addressed }) => is_addressed).map(toDestination)
}

const withoutRecipients = (i: number, { id, title }: Target) =>
  new Refusal(
    'integration_not_configured',
    `destinations[${i}].id names the e-mail integration ${id} (${title}), which has no recipients`,
    [{ field: 'recipients', message: `is empty in the settings of the integration ${id}` }],
  )

/** Whether one of the destinations gives the file to people, who open it in a spreadsheet. The destinations are locked. */
export async function needsFormulaGuard(tx: Tx, environment: Environment, ids: string[]): Promise<boolean> {
  const { rows } = await tx.query<{ needed: boolean }>(
    `select exists (select 1 from integrations where environment = $1 and id = any ($2) and slug in ('email', 'slack')) as needed`,
    [environment, ids],
  )
  return rows[0]!.needed
}

/**
 * The destinations with these ids, in the given order. Until the transaction ends none of them can be deleted. Throws `not_found` for the
 * first id that cannot be a destination, `integration_not_configured` for an e-mail integration without recipients.
 */
export async function lockDestinations(tx: Tx, environment: Environment, ids: string[]): Promise<Destination[]> {
  const { rows } = await tx.query<Target>(
    lockInOrder({
      ...{ table: 'integrations', key: 'id', keys: textKeys('$2'), columns: TARGET_COLUMNS },
      ...{ where: 'environment = $1 and deleted_at is null and slug = any ($3)', strength: 'share' },
    }),
    [environment, ids, SLUGS],
  )
  const found = new Map(rows.map(row => [row.id, row]))
  return ids.map((id, i) => {
    const target = found.get(id)
    if (!target) throw notFound(`destinations[${i}].id: destination`)
    if (!target.is_addressed) throw withoutRecipients(i, target)
    return toDestination(target)
  })
}
