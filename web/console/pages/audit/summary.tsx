import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { counted, plain, t } from '../../parts/t.ts'

const textOf = (value: unknown): string =>
  value === undefined || value === null || value === '' ? t('nothing') : typeof value === 'object' ? '…' : String(value)

/** Fields that say only that something was changed. */
const OF_EACH = new Set(['updated_at', 'version'])

/** What changed in one line: the first field with both values, and how many more. */
export function Summary({ entry: { before, after } }: { entry: AuditEntry }) {
  if (before === null) return <span className="faint">{after === null ? '–' : t('new')}</span>
  if (after === null) return <span className="faint">{t('removed')}</span>
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    name => !OF_EACH.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const [first, ...rest] = names
  if (first === undefined) return <span className="faint">–</span>
  const [was, is] = [textOf(before[first]), textOf(after[first])]
  const more = rest.length === 0 ? '' : counted(rest.length, 'and {n} more', 'and {n} more')
  return (
    <span className="audit-summary" title={`${first}: ${was} → ${is} ${more}`}>
      {plain(first)}: <bdi>{was}</bdi> → <bdi>{is}</bdi> {more}
    </span>
  )
}
