import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'

/** What a draft lacks before it can start, as the service says it. */
export function NotReady({ of: { id, status } }: { of: Experiment }) {
  const denied = useDenied('editor', usePlace()?.project)
  const input = { path: { experiment_id: id }, body: { status: 'active' as const } }
  const { error } = useDryRun('v4ChangeExperimentStatus', input, { when: status === 'draft' && denied === undefined })
  if (error === null || error.status !== 409) return null
  return (
    <div className="notice warn" role="status">
      <Icon name="info" />
      <div>
        <b>{t('It cannot start yet:')}</b> {error.message}.
      </div>
    </div>
  )
}
