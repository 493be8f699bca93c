import './growth.css'
import type { RemoteConfigurationUses } from '../../../../clients/typescript/src/index.ts'
import { shortId } from '../copy.tsx'
import { StatusChip } from '../status-chip.tsx'
import { t } from '../t.ts'
import { To } from '../to.tsx'

/** The experiments whose groups serve a configuration, running ones first. */
export function UsedBy({ of: uses }: { of: RemoteConfigurationUses | undefined }) {
  const { experiments, has_more } = uses ?? { experiments: [], has_more: false }
  if (experiments.length === 0) return <span className="faint">{t('none')}</span>
  return (
    <ul className="growth-rows">
      {experiments.map(({ id, name, status }) => (
        <li key={id}>
          <To to={`/experiments/${id}`} className="link">
            <bdi>{name ?? shortId(id)}</bdi>
          </To>
          <StatusChip status={status} />
        </li>
      ))}
      {has_more && <li className="faint">{t('and more')}</li>}
    </ul>
  )
}
