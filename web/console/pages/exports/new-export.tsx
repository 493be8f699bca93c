import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { RANGE_TEXTS } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'
import { useWrite } from '../../data/write.ts'
import { Bars } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { TYPES } from '../reports/words.ts'
import { bodyOf, type Draft, draftLike, newDraft, presetWindow, takesChanges, takesColumns, takesWindow } from './draft.ts'
import { FileFields, Who } from './file-fields.tsx'

const PRESETS = ['7d', '28d', '90d', '365d'] as const

/** Asks for a file. `like`: an export whose settings it begins with. */
export default function NewExport({ like, onClose }: { like: string | undefined; onClose: () => void }) {
  const { zone } = usePreferences()
  const now = useNow()
  const read = useRead('v4GetExport', { path: { export_id: like ?? '' } }, { when: like !== undefined })
  const [begun, setBegun] = useState<Draft>()
  const first = begun ?? (like === undefined ? now !== undefined && newDraft(zone, now) : read.data && draftLike(read.data, zone))
  if (begun === undefined && first) setBegun(first)
  return (
    <Drawer title={t('New export')} onClose={onClose}>
      {read.error && <Fault error={read.error} retry={read.refetch} />}
      {begun && now !== undefined ? <Form first={begun} zone={zone} now={now} /> : <Bars />}
    </Drawer>
  )
}

function Form({ first, zone, now }: { first: Draft; zone: string; now: number }) {
  const [, set] = useAddress()
  const [draft, setDraft] = useState(first)
  const change = (more: Partial<Draft>) => setDraft(last => ({ ...last, ...more }))
  const { send, isPending, error } = useWrite('v4CreateExport', { changes: ['v4ListExports'] })
  const body = bodyOf(draft, zone)
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message
  const windowed = takesWindow(draft)
  const ready = !windowed || (body.from_timestamp !== undefined && body.to_timestamp !== undefined)
  const make = async () => {
    const made = await send({ body })
    if (made !== undefined) set({ at: made.id, like: undefined, after: undefined })
  }
  return (
    <form
      className="form export-form"
      onSubmit={event => {
        event.preventDefault()
        if (ready) void make().catch(() => {})
      }}
    >
      <NativeSelect
        size="xs"
        label={t('Rows')}
        data={Object.entries(TYPES)
          .filter(([value]) => value !== 'charts')
          .map(([value, label]) => ({ value, label: t(label) }))}
        value={draft.type}
        onChange={({ currentTarget }) => change({ type: currentTarget.value as Draft['type'] })}
      />
      {takesChanges(draft) && (
        <Checkbox
          size="xs"
          label={t('Only customers who changed since a time')}
          checked={draft.changes}
          onChange={({ currentTarget }) => change({ changes: currentTarget.checked })}
        />
      )}
      {takesChanges(draft) && draft.changes && (
        <TextInput
          type="datetime-local"
          size="xs"
          label={t('Since, in {zone}', { zone })}
          description={t('Then it names the time at which the next file of changes begins')}
          value={draft.since}
          required
          error={faultOf('updated_from')}
          onChange={({ currentTarget }) => change({ since: currentTarget.value })}
        />
      )}
      {windowed && (
        <div className="form">
          <div className="export-presets">
            {PRESETS.map(range => (
              <button key={range} type="button" className="chip small" onClick={() => change(presetWindow(range, zone, now))}>
                {t(RANGE_TEXTS[range] ?? range)}
              </button>
            ))}
          </div>
          <div className="export-window-fields">
            <TextInput
              type="datetime-local"
              size="xs"
              label={t('From, in {zone}', { zone })}
              value={draft.from}
              required
              error={faultOf('from_timestamp')}
              onChange={({ currentTarget }) => change({ from: currentTarget.value })}
            />
            <TextInput
              type="datetime-local"
              size="xs"
              label={t('Until')}
              value={draft.to}
              required
              error={faultOf('to_timestamp')}
              onChange={({ currentTarget }) => change({ to: currentTarget.value })}
            />
          </div>
          <p className="export-note">
            {draft.type === 'customers'
              ? t('By the time at which a customer was recorded, at most 366 days.')
              : t(
                  'By the time at which an event was received, at most 366 days. Exports whose windows adjoin have no row in common, and none is missing.',
                )}
          </p>
        </div>
      )}
      {!windowed && !takesChanges(draft) && (
        <p className="export-note">{t('Every row as it stands when it is written, whatever the time.')}</p>
      )}
      <FileFields draft={draft} change={change} faultOf={faultOf} takesColumns={takesColumns(draft)} />
      <Who draft={draft} change={change} faultOf={faultOf} takesSegment={!(takesChanges(draft) && draft.changes)} />
      {error && <Fault error={error} />}
      <div className="form-actions">
        <ShowTheCall name="v4CreateExport" input={{ body }} />
        <Send size="xs" loading={isPending} disabled={!ready}>
          {t('Make the file')}
        </Send>
      </div>
    </form>
  )
}
