import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { actorOf, deedOf, thingOf } from '../../parts/audit-words.ts'
import { Pairs } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Difference } from '../../parts/difference.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { targetOf } from './target.ts'

/** One change: who, what, when, and its two sides as one text. */
export function EntryDrawer({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const [, set] = useAddress()
  const only = (change: Record<string, string>) => set({ ...change, after: undefined, at: undefined })
  const target = targetOf(entry)
  return (
    <Drawer title={deedOf(entry.operation)} onClose={onClose}>
      <Pairs
        rows={[
          [t('Who'), <bdi key="who">{actorOf(entry.actor)}</bdi>],
          [t('When'), <Time key="when" at={entry.created_at} />],
          [t('Operation'), <Copy key="operation" text={entry.operation} />],
          [t('On'), thingOf(entry.resource)],
          [t('Its id'), entry.resource_id === null ? undefined : <Copy key="id" text={entry.resource_id} />],
          [t('Request'), entry.request_id === null ? undefined : <Copy key="request" text={entry.request_id} />],
          [t('Reason'), entry.reason ?? undefined],
        ]}
      />
      <div className="audit-actions">
        {target && (
          <To {...target} className="chip">
            {t('Go there')}
            <Icon name="next" size={12} />
          </To>
        )}
        {entry.resource_id !== null && (
          <Chip onClick={() => only({ 'f.id': entry.resource_id! })}>{t('Everything about this object')}</Chip>
        )}
        {entry.actor.id !== null && <Chip onClick={() => only({ 'f.who': entry.actor.id! })}>{t('Everything by the same')}</Chip>}
        <Chip onClick={() => only({ 'f.operation': entry.operation })}>{t('Only this operation')}</Chip>
      </div>
      <h3 className="audit-title">{titleOf(entry)}</h3>
      <Difference before={entry.before} after={entry.after} none={t('Its values are not written down, or none of them changed.')} />
    </Drawer>
  )
}

/** An entry that is not on the page: a link opens it all the same. */
export function LinkedEntry({ id, onClose }: { id: string; onClose: () => void }) {
  const read = useRead('v4ListAuditLog', { query: { limit: 1, 'filter[id]': id } })
  const entry = read.data?.data[0]
  if (entry) return <EntryDrawer entry={entry} onClose={onClose} />
  return (
    <Drawer title={t('A change')} onClose={onClose}>
      <DataState of={read}>
        {() => (
          <Empty
            icon="audit"
            title={t('There is no such entry')}
            why={t('It is older than 400 days, or belongs to the other environment or another project.')}
          />
        )}
      </DataState>
    </Drawer>
  )
}

const titleOf = ({ before, after }: AuditEntry) =>
  before === null
    ? after === null
      ? t('What changed')
      : t('What was made')
    : after === null
      ? t('What was removed')
      : t('Before and afterwards')
