import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { Choice } from '../../parts/choice.tsx'
import { Pick } from '../../parts/pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { zones } from '../../parts/zones.ts'
import { ChartsField } from './charts-field.tsx'
import { type Draft, formatsOf, takesColumns } from './draft.ts'
import { TYPES } from './words.ts'

export type Fields = {
  draft: Draft
  change: (change: Partial<Draft>) => void
  faultOf: (field: string) => string | undefined
}

const TIMES = Array.from({ length: 48 }, (_, n) => `${String(Math.floor(n / 2)).padStart(2, '0')}:${n % 2 === 0 ? '00' : '30'}`)
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const RANGES = [1, 3, 7] as const

/** A label over a choice that has no field of its own. */
export const Row = ({ label, fault, children }: { label: string; fault?: string | undefined; children: ReactNode }) => (
  <div className="form-row">
    <p className="form-label">{label}</p>
    {children}
    {fault && <p className="form-fault">{fault}</p>}
  </div>
)

/** When: the cadence, the time of day, the zone, and what happens where its clocks change. */
export function When({ draft, change, faultOf }: Fields) {
  return (
    <fieldset className="form-part">
      <legend>{t('When')}</legend>
      <Row label={t('How often')} fault={faultOf('cadence')}>
        <Choice
          name={t('How often')}
          value={draft.cadence}
          options={[
            ['daily', 'Every day'],
            ['weekly', 'Every week'],
            ['monthly', 'Every month'],
          ]}
          onChange={cadence =>
            change({
              cadence,
              ...(cadence !== 'monthly' && !RANGES.some(days => days === draft.included_range_days) && { included_range_days: 7 }),
            })
          }
        />
      </Row>
      <div className="form-pair">
        {draft.cadence === 'weekly' && (
          <NativeSelect
            size="xs"
            label={t('On')}
            data={WEEKDAYS.map(day => ({ value: day, label: plain(day) }))}
            value={draft.weekday}
            onChange={({ currentTarget }) => change({ weekday: WEEKDAYS.find(day => day === currentTarget.value) ?? 'monday' })}
          />
        )}
        {draft.cadence === 'monthly' && (
          <NativeSelect
            size="xs"
            label={t('On day')}
            data={Array.from({ length: 31 }, (_, n) => ({ value: String(n + 1), label: n === 30 ? t('31, the last') : String(n + 1) }))}
            value={String(draft.day_of_month)}
            error={faultOf('day_of_month')}
            onChange={({ currentTarget }) => change({ day_of_month: Number(currentTarget.value) })}
          />
        )}
        <NativeSelect
          size="xs"
          label={t('At')}
          data={TIMES}
          value={draft.send_at}
          error={faultOf('send_at')}
          onChange={({ currentTarget }) => change({ send_at: currentTarget.value })}
        />
        <Row label={t('On the clocks of')} fault={faultOf('timezone')}>
          <Pick
            name={t('Zone')}
            text={draft.timezone}
            icon="clock"
            options={zones()}
            chosen={[draft.timezone]}
            onPick={timezone => change({ timezone })}
          />
        </Row>
      </div>
      <Row label={t('Where the clocks skip that time')}>
        <Choice
          name={t('Where the clocks skip that time')}
          value={draft.on_dst_gap}
          options={[
            ['shift', 'Send later'],
            ['skip', 'Skip that day'],
          ]}
          onChange={on_dst_gap => change({ on_dst_gap })}
        />
      </Row>
      <Row label={t('Where they show it twice')}>
        <Choice
          name={t('Where they show it twice')}
          value={draft.on_dst_overlap}
          options={[
            ['first', 'Send at the first'],
            ['both', 'Send at both'],
          ]}
          onChange={on_dst_overlap => change({ on_dst_overlap })}
        />
      </Row>
      <Row label={t('Of slots that no worker could start')}>
        <Choice
          name={t('Of slots that no worker could start')}
          value={draft.missed}
          options={[
            ['once', 'Send the latest'],
            ['all', 'Send all'],
            ['skip', 'Send none'],
          ]}
          onChange={missed => change({ missed })}
        />
      </Row>
    </fieldset>
  )
}

/** Another type, in a format that it has. */
const ofType = ({ format }: Draft, type: Draft['type']): Partial<Draft> => {
  const formats = formatsOf({ type })
  return { type, format: formats.includes(format) ? format : formats[0]! }
}

/** What: the rows or charts of the file and their form. */
export function What({ draft, change, faultOf }: Fields) {
  return (
    <fieldset className="form-part">
      <legend>{t('What')}</legend>
      <div className="form-pair">
        <NativeSelect
          size="xs"
          label={t('Of')}
          data={Object.entries(TYPES).map(([value, label]) => ({ value, label: t(label) }))}
          value={draft.type}
          onChange={({ currentTarget }) => change(ofType(draft, currentTarget.value as ScheduledReport['type']))}
        />
        <DaysField draft={draft} change={change} faultOf={faultOf} />
        <NativeSelect
          size="xs"
          label={t('Format')}
          data={formatsOf(draft)}
          value={draft.format}
          onChange={({ currentTarget }) => change({ format: currentTarget.value as ScheduledReport['format'] })}
        />
      </div>
      {draft.type === 'charts' && <ChartsField draft={draft} change={change} faultOf={faultOf} />}
      {takesColumns(draft) && (
        <div className="form-checks">
          {(['event_id', 'properties'] as const).map(column => (
            <Checkbox
              key={column}
              size="xs"
              label={column === 'event_id' ? t('With the ids of events') : t('With their custom properties')}
              checked={draft.include.includes(column)}
              onChange={({ currentTarget }) =>
                change({ include: currentTarget.checked ? [...draft.include, column] : draft.include.filter(one => one !== column) })
              }
            />
          ))}
        </div>
      )}
      {draft.format === 'csv' && (
        <Row label={t('Texts that a spreadsheet takes for formulas')}>
          <Choice
            name={t('Texts that a spreadsheet takes for formulas')}
            value={draft.formula_guard}
            options={[
              ['auto', 'Guard in mails'],
              ['on', 'Guard'],
              ['off', 'Leave'],
            ]}
            onChange={formula_guard => change({ formula_guard })}
          />
        </Row>
      )}
    </fieldset>
  )
}

function DaysField({ draft, change, faultOf }: Fields) {
  const label = draft.type === 'charts' ? t('Whole days') : t('Days in a file')
  const error = faultOf('included_range_days')
  if (draft.cadence !== 'monthly')
    return (
      <NativeSelect
        size="xs"
        label={label}
        data={RANGES.map(String)}
        value={String(draft.included_range_days)}
        error={error}
        onChange={({ currentTarget }) => change({ included_range_days: Number(currentTarget.value) })}
      />
    )
  return (
    <TextInput
      type="number"
      size="xs"
      label={label}
      min={1}
      max={31}
      required
      value={draft.included_range_days || ''}
      error={error}
      onChange={({ currentTarget }) => change({ included_range_days: Number(currentTarget.value) })}
    />
  )
}
