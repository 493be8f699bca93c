import { automationUses } from '../../kernel/references/automation-naming.ts'
import { conditionUses } from '../../kernel/references/condition-uses.ts'
import type { UseSource } from '../../kernel/references/uses.ts'

const NAMED = `jsonb_build_array(jsonb_build_object('metric', 'segment', 'value', $2::text))`

/** What names a segment, except what has ended. */
export const SEGMENT_USES: readonly UseSource[] = [
  conditionUses('remote_configuration', NAMED, { blocking: `'active'`, ended: `'archived'` }),
  conditionUses('experiment', NAMED, { blocking: `'active', 'paused'`, ended: `'finished'` }),
  automationUses('segment'),
  {
    object: 'export',
    scanned: false,
    statement: exports => `select x.id, null::text as name, x.status, '[]'::jsonb as parts, true as blocks from ${exports} x
      where x.environment = $1 and x.status in ('new', 'processing') and x.segment_id = $2`,
  },
  {
    object: 'analytics_view',
    scanned: true,
    statement: views => `select w.id, w.name, null::text as status, '[]'::jsonb as parts, false as blocks from ${views} w
      where w.environment = $1 and jsonb_typeof(w.query -> 'filter[segment_id][]') = 'array' and w.query -> 'filter[segment_id][]' ? $2`,
  },
]
