import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type Difference, differences, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { bodyOf, type Draft, draftOf, FIELDS, inWords, isShowing, newDraft, slotsQuery } from './draft.ts'
import { type Fields, Row, What, When } from './form-fields.tsx'
import { NextSlots } from './next-slots.tsx'
import { WhereTo } from './where-to.tsx'
import { scheduleText } from './words.ts'

const CHANGES = ['v4ListScheduledReports', 'v4GetScheduledReport', 'v4ListScheduledReportSlots', 'v4ListScheduledReportRuns'] as const

/** Makes a report, or replaces one; its next slots stand beside the schedule while it changes. */
export default function ReportForm({
  report,
  begin,
  onDone,
  onClose,
}: {
  report?: ScheduledReport
  /** How a new one begins, where it does not begin as usual. */
  begin?: Draft | undefined
  onDone: (id: string) => void
  onClose: () => void
}) {
  const environment = usePlace()?.environment ?? 'production'
  const { zone } = usePreferences()
  const [before, setBefore] = useState(report)
  const [draft, setDraft] = useState<Draft>(() => (report ? draftOf(report) : (begin ?? newDraft(zone))))
  const [newer, setNewer] = useState<{ report: ScheduledReport; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const making = useWrite('v4CreateScheduledReport', { changes: CHANGES })
  const changing = useWrite('v4UpdateScheduledReport', { changes: CHANGES })
  const look = useLook('v4GetScheduledReport', { path: { report_id: report?.id ?? '' } })
  const error = making.error ?? changing.error
  const body = bodyOf(draft, environment)
  const fields: Fields = {
    draft,
    change: change => setDraft(last => ({ ...last, ...change })),
    faultOf: field => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}[`))?.message,
  }
  const save = useOne(async () => {
    setFailed(undefined)
    if (before === undefined) {
      const made = await making.send({ body })
      if (made === undefined) return
      say(t('The report is made'))
      return onDone(made.id)
    }
    const now = await look()
    if (now.updated_at !== before.updated_at) {
      setBefore(now)
      return setNewer({ report: now, found: differences(inWords(before), inWords(now), FIELDS) })
    }
    await changing.send({ path: { report_id: before.id }, body })
    say(t('The report is saved'))
    onDone(before.id)
  })
  const ready = draft.report_name.trim() !== '' && draft.destinations.length > 0 && isShowing(draft)
  return (
    <Modal
      opened
      onClose={onClose}
      size={860}
      title={report ? t('Edit the report') : t('New report')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <form
        className="form report-form"
        onSubmit={event => {
          event.preventDefault()
          if (ready) void save().catch(setFailed)
        }}
      >
        <div className="form-pair wide">
          <TextInput
            label={t('Name')}
            value={draft.report_name}
            required
            maxLength={255}
            data-autofocus
            error={fields.faultOf('report_name')}
            onChange={({ currentTarget: { value } }) => fields.change({ report_name: value })}
          />
          <Row label={t('State')}>
            <Choice
              name={t('State')}
              value={draft.status}
              options={[
                ['active', 'Active'],
                ['draft', report?.last_run ? 'Paused' : 'Draft'],
              ]}
              onChange={status => fields.change({ status })}
            />
          </Row>
        </div>
        <div className="report-form-parts">
          <div className="form">
            <When {...fields} />
            <What {...fields} />
            <WhereTo {...fields} />
          </div>
          <Next draft={draft} />
        </div>
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              setDraft(draftOf(newer.report))
              setNewer(undefined)
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          {report ? (
            <ShowTheCall name="v4UpdateScheduledReport" input={{ path: { report_id: report.id }, body }} />
          ) : (
            <ShowTheCall name="v4CreateScheduledReport" input={{ body }} />
          )}
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={making.isPending || changing.isPending} disabled={!ready}>
            {saveText(report, newer !== undefined)}
          </Send>
        </div>
      </form>
    </Modal>
  )
}

function saveText(report: ScheduledReport | undefined, isNewer: boolean): string {
  if (report === undefined) return t('Make the report')
  return isNewer ? t('Save mine') : t('Save')
}

/** By the same solver that workers take slots with: the page computes none. */
function Next({ draft }: { draft: Draft }) {
  const read = useRead('v4PreviewScheduledReportSlots', { query: slotsQuery(draft) })
  return (
    <section className="report-next" aria-label={t('Next five slots')}>
      <h3>{draft.status === 'active' ? t('Next five slots') : t('Its slots, if it were active')}</h3>
      <p className="soft">
        {scheduleText(draft)}, {draft.timezone}
      </p>
      <DataState of={read} rows={5}>
        {({ data }) => <NextSlots slots={data} schedule={draft} />}
      </DataState>
    </section>
  )
}
