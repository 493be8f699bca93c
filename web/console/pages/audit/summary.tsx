import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { counted, plain, t } from '../../parts/t.ts'

const textOf = (value: unknown): string =>
  value === undefined || value === null || value === '' ? t('nothing') : typeof value === 'object' ? '…' : String(value)

type Leaf = { path: string; was: unknown; is: unknown }
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first value within a field that differs. */
function firstLeaf(path: string, was: unknown, is: unknown): Leaf {
  if (!isObject(was) || !isObject(is)) return { path, was, is }
  const name = Object.keys({ ...was, ...is }).find(key => JSON.stringify(was[key]) !== JSON.stringify(is[key]))
  return name === undefined ? { path, was, is } : firstLeaf(name, was[name], is[name])
}

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
  const { path, was: old, is: now } = firstLeaf(first, before[first], after[first])
  const [was, is] = [textOf(old), textOf(now)]
  const more = rest.length === 0 ? '' : counted(rest.length, 'and {n} more', 'and {n} more')
  return (
    <span className="audit-summary" title={`${path}: ${was} → ${is} ${more}`}>
      {plain(path)}: <bdi>{was}</bdi> → <bdi>{is}</bdi> {more}
    </span>
  )
}
