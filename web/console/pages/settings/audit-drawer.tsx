import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Pairs } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { actorOf, deedOf, thingOf } from './audit-words.ts'

export function AuditDrawer({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const [, set] = useAddress()
  const only = (change: Record<string, string>) => set({ ...change, after: undefined, at: undefined })
  return (
    <Drawer title={deedOf(entry.operation)} onClose={onClose}>
      <Pairs
        rows={[
          [t('Who'), actorOf(entry.actor)],
          [t('When'), <Time key="when" at={entry.created_at} />],
          [t('Operation'), <Copy key="operation" text={entry.operation} />],
          [t('On'), thingOf(entry.resource)],
          [t('Its id'), entry.resource_id === null ? undefined : <Copy key="id" text={entry.resource_id} />],
          [t('Request'), entry.request_id === null ? undefined : <Copy key="request" text={entry.request_id} />],
          [t('Reason'), entry.reason ?? undefined],
        ]}
      />
      <div className="drawer-actions">
        {entry.resource_id !== null && (
          <Chip onClick={() => only({ 'f.id': entry.resource_id! })}>{t('Everything about this object')}</Chip>
        )}
        <Chip onClick={() => only({ 'f.operation': entry.operation })}>{t('Only this operation')}</Chip>
      </div>
      <h3 className="settings-title">{titleOf(entry)}</h3>
      <Changes entry={entry} />
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

/** The fields that differ; of a new or removed object, all of them. */
function Changes({ entry: { before, after } }: { entry: AuditEntry }) {
  const [was, is] = [before ?? {}, after ?? {}]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    name => JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  )
  if (names.length === 0) return <p className="soft">{t('Its values are not written down, or none of them changed.')}</p>
  return (
    <dl className="changes">
      {names.map(name => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {before !== null && <del>{textOf(was[name])}</del>}
            {after !== null && <ins>{textOf(is[name])}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const textOf = (value: unknown): string =>
  value === undefined || value === null ? t('nothing') : typeof value === 'string' ? value : JSON.stringify(value, undefined, 1)
