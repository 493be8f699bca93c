import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import type { Shown } from './create.ts'
import { lockSegment, refuseSystem } from './update.ts'

const NAMED_BY: [what: string, statement: string][] = [
  [
    'an active remote configuration',
    `select 1 from remote_configurations where environment = $1 and status = 'active' and segmentation_conditions @> $2::jsonb limit 1`,
  ],
  [
    'an active or paused experiment',
    `select 1 from experiments where environment = $1 and status in ('active', 'paused') and segmentation_conditions @> $2::jsonb limit 1`,
  ],
  [
    'an active or paused automation',
    `select 1 from automations a
     join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
     where a.environment = $1 and a.status in ('active', 'paused') and v.data ->> 'segments' = $2::jsonb -> 0 ->> 'value' limit 1`,
  ],
  [
    'an unfinished export',
    `select 1 from exports where environment = $1 and status in ('new', 'processing') and segment_id = $2::jsonb -> 0 ->> 'value' limit 1`,
  ],
]

/**
 * Throws `conflict` while something in use names the segment. Whoever names a segment holds its row (`holdSegments`), so after the
 * lock here all of them are committed and seen, and later ones find no segment.
 */
export async function deleteSegment(tx: Tx, environment: Environment, id: string, trail: Trail, shown: Shown): Promise<void> {
  refuseSystem(id)
  const segment = await lockSegment(tx, environment, id, true)
  const naming = JSON.stringify([{ metric: 'segment', value: id }])
  const { rows } = await tx.query<{ what: string }>(
    NAMED_BY.map(([what, statement]) => `select '${what}' as what where exists (${statement})`).join(' union all '),
    [environment, naming],
  )
  if (rows[0]) throw conflict(`the segment is in use by ${rows.map(({ what }) => what).join(', ')}`)
  await tx.query('delete from segments where environment = $1 and id = $2', [environment, id])
  await audit(tx, trail, { resource: 'segment', id, before: shown(segment) })
}
