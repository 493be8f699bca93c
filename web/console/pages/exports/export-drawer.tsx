import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Export } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied, usePreferences } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Count } from '../../parts/amount.tsx'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { Manifest } from './manifest.tsx'
import { Bar, useExport } from './progress.tsx'
import { chipOf, fileText, isUnfinished, typeText, windowText } from './words.ts'

/** One export: how far it is, its file, and the figures to check it against. */
export default function ExportDrawer({ id, onClose }: { id: string; onClose: () => void }) {
  const read = useExport(id)
  return (
    <Drawer title={read.data ? t('Export of {what}', { what: typeText(read.data).toLowerCase() }) : t('Export')} onClose={onClose}>
      <DataState of={read}>{one => <Shown one={one} />}</DataState>
    </Drawer>
  )
}

function Shown({ one }: { one: Export }) {
  const { zone } = usePreferences()
  return (
    <>
      <div className="export-head">
        <StatusChip {...chipOf(one)} />
        {one.status === 'processing' && <Bar of={one} />}
        {one.file_url !== null && (
          <a href={one.file_url} download className="chip">
            <Icon name="download" size={14} />
            {t('Download')}
          </a>
        )}
      </div>
      {one.error && (
        <p className="notice warn">
          <Icon name="warn" size={15} />
          <span>
            {one.error.message} <code>{one.error.code}</code>
          </span>
        </p>
      )}
      {one.status === 'new' && <p className="notice">{t('It begins as soon as a worker is free. One may close this; it goes on.')}</p>}
      {one.status === 'cancelled' && <p className="notice">{t('Nothing of it is kept: what was written is removed within minutes.')}</p>}
      <Pairs
        rows={
          [
            [t('Rows'), typeText(one)],
            [t('Of'), windowText(one, zone)],
            [t('Platform'), one.platform ?? t('all')],
            [t('Segment'), one.segment_id === null ? t('everybody') : <code key="segment">{one.segment_id}</code>],
            [t('File'), fileText(one)],
            [t('Further columns'), one.include.length > 0 ? one.include.join(', ') : undefined],
            [t('Guard against formulas'), one.format === 'csv' ? (one.formula_guard ? t('yes') : t('no')) : undefined],
            [t('Made'), <Time key="made" at={one.created_at} />],
            [t('Kept until'), one.expires_at && <Time key="expires" at={one.expires_at} />],
            [t('Next file of changes'), one.updated_to && <Copy key="next" text={one.updated_to} />],
            [
              t('For'),
              one.report_id === null ? undefined : (
                <To key="report" to={`/reports/${one.report_id}`} search={{ at: one.report_run_id ?? undefined }} className="link">
                  {t('a run of a report')}
                </To>
              ),
            ],
            [t('Written so far'), isUnfinished(one) ? <Count key="rows" value={one.rows_written} /> : undefined],
            [t('Id'), <Copy key="id" text={one.id} />],
          ].filter(([, value]) => value !== undefined && value !== null) as never
        }
      />
      {one.manifest && <Manifest one={one} manifest={one.manifest} />}
      <Acts one={one} />
    </>
  )
}

function Acts({ one }: { one: Export }) {
  const [, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const [asked, setAsked] = useState(false)
  const { send, isPending, error } = useWrite('v4CancelExport', { changes: ['v4ListExports', 'v4GetExport'] })
  const ofReport = one.report_id === null ? undefined : t('it ends with the run of its report')
  const cancel = () =>
    void send({ path: { export_id: one.id } }).then(
      answer => answer && say(t('The export is cancelled')),
      () => setAsked(false),
    )
  return (
    <>
      {error && <Fault error={error} />}
      {asked && isUnfinished(one) && (
        <div className="export-ask" role="alert">
          <p>{t('What is written is removed. Another export of the same window has the same rows.')}</p>
          <Act denied={denied} size="xs" className="button-danger" loading={isPending} data-autofocus onClick={cancel}>
            {t('Cancel it')}
          </Act>
          <Button size="xs" variant="default" onClick={() => setAsked(false)}>
            {t('Let it go on')}
          </Button>
        </div>
      )}
      <div className="export-acts">
        <ShowTheCall name="v4GetExport" input={{ path: { export_id: one.id } }} />
        <Act denied={denied} size="xs" variant="default" onClick={() => set({ at: 'new', like: one.id }, { push: true })}>
          {t('Another like this')}
        </Act>
        {isUnfinished(one) && !asked && (
          <Act denied={denied ?? ofReport} size="xs" variant="default" onClick={() => setAsked(true)}>
            {t('Cancel this export')}
          </Act>
        )}
      </div>
    </>
  )
}
