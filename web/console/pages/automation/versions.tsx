import type { Automation, AutomationVersion } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePages } from '../../data/read.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { allOf, stepsOf } from './words.ts'

/** The versions that are stored; one of them is looked at on the page. */
export function Versions({ automation, shown, onClose }: { automation: Automation; shown: number; onClose: () => void }) {
  const [, set] = useAddress()
  const input = { path: { automation_id: automation.id }, query: { limit: 100 } }
  const read = usePages('v4ListAutomationVersions', input)
  return (
    <Drawer title={t('Versions')} onClose={onClose}>
      <p className="soft version-about">
        {t('A run goes by the version with which it was started. A version is stored until 90 days after the last run that may go by it.')}
      </p>
      <DataState of={read}>
        {versions => (
          <ol className="versions">
            {versions.map(one => (
              <li key={one.version}>
                <button
                  type="button"
                  className={one.version === shown ? 'version on' : 'version'}
                  aria-pressed={one.version === shown}
                  data-row
                  onClick={() => set({ v: one.is_current ? undefined : String(one.version), at: undefined })}
                >
                  <strong>
                    {t('Version {n}', { n: one.version })}
                    {one.is_current && <span className="soft"> · {t('now')}</span>}
                  </strong>
                  <span className="soft">
                    {one.created_at ? <Time at={one.created_at} /> : t('some time ago')}
                    {one.created_by && <bdi> · {whoOf(one.created_by)}</bdi>}
                  </span>
                  <span className="faint">{counted(allOf(stepsOf(one.data)).length, '{n} step', '{n} steps')}</span>
                </button>
              </li>
            ))}
          </ol>
        )}
      </DataState>
      {read.hasNextPage && (
        <button type="button" className="chip more" onClick={read.more}>
          {t('More')}
        </button>
      )}
      <div className="form-actions">
        <ShowTheCall name="v4ListAutomationVersions" input={input} />
      </div>
    </Drawer>
  )
}

const whoOf = ({ kind, id }: NonNullable<AutomationVersion['created_by']>) =>
  kind === 'operator' && id ? id : [plain(kind), id].filter(Boolean).join(' ')
