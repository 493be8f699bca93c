import type { Segment, SegmentUse } from '../../../../clients/typescript/src/index.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

const KINDS: Readonly<Record<SegmentUse['object'], { says: string; icon: IconName; to?: (id: string) => string }>> = {
  remote_configuration: { says: 'Configuration', icon: 'sliders', to: id => `/configurations/${id}` },
  experiment: { says: 'Experiment', icon: 'flask', to: id => `/experiments/${id}` },
  automation: { says: 'Automation', icon: 'flow', to: id => `/automations/${id}` },
  export: { says: 'Export', icon: 'file', to: id => `/exports?at=${id}` },
  analytics_view: { says: 'Saved view', icon: 'pin' },
}

/** What names the segment; what must be stopped before it can be deleted says so. */
export const UsedBy = ({ segment }: { segment: Segment }) => (
  <Card title={t('Used by')} flush>
    <Uses of={segment} />
  </Card>
)

export function Uses({ of: { used_by = [], used_by_has_more }, blockingOnly = false }: { of: Segment; blockingOnly?: boolean }) {
  const shown = blockingOnly ? used_by.filter(({ prevents_deletion }) => prevents_deletion) : used_by
  if (shown.length === 0) return <p className="segment-nothing">{t('Nothing names it.')}</p>
  return (
    <>
      <ul className="segment-uses">
        {shown.map(use => (
          <Use key={`${use.object} ${use.id}`} of={use} />
        ))}
      </ul>
      {used_by_has_more && <p className="segment-nothing">{t('And more: 50 of each kind are shown.')}</p>}
    </>
  )
}

function Use({ of: { object, id, name, status, prevents_deletion } }: { of: SegmentUse }) {
  const { says, icon, to } = KINDS[object]
  const title = name === null ? <Id>{id}</Id> : <bdi>{name}</bdi>
  const [path = '', query] = (to?.(encodeURIComponent(id)) ?? '').split('?')
  return (
    <li>
      <Icon name={icon} size={15} />
      <div>
        {path === '' ? (
          <span className="segment-use" title={name ?? undefined}>
            {title}
          </span>
        ) : (
          <To to={path} search={query === undefined ? undefined : { at: id }} className="segment-use link-quiet">
            {title}
          </To>
        )}
        <span className="soft">
          {t(says)}
          {prevents_deletion && ` · ${t('keeps it from being deleted')}`}
        </span>
      </div>
      {status !== null && <StatusChip status={status} />}
    </li>
  )
}
