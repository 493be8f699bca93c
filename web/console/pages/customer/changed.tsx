import { useRead } from '../../data/read.ts'
import { JsonText } from '../../parts/json-text.tsx'
import { t } from '../../parts/t.ts'
import type { EntryOf } from './timeline-rows.ts'

/** What a change has changed, as the audit log keeps it. */
export function Changed({ entry }: { entry: EntryOf<'change'> }) {
  const query = { ...(entry.resource_id !== null && { 'filter[resource_id]': entry.resource_id }), limit: 100 }
  const { data } = useRead('v4ListAuditLog', { query }, { when: entry.resource_id !== null })
  const found = data?.data.find(({ id }) => id === entry.id)
  if (!found) return null
  return (
    <>
      <p className="form-label">{t('Before')}</p>
      <JsonText value={found.before} />
      <p className="form-label">{t('After')}</p>
      <JsonText value={found.after} />
    </>
  )
}
