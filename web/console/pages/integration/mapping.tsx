import { TextInput } from '@mantine/core'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'

type Row = [event: string, name: string]

/** Names under which events go out; without one it is the event's own. */
export function Mapping({ rows, onChange }: { rows: readonly Row[]; onChange: (rows: Row[]) => void }) {
  const set = (at: number, row: Row) => onChange(rows.map((other, n) => (n === at ? row : other)))
  return (
    <div>
      <p className="form-label">{t('Names of events at the provider')}</p>
      {rows.map(([event, name], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; its texts change while one types
        <div key={at} className="mapping">
          <TextInput
            size="xs"
            aria-label={t('Event {n}', { n: at + 1 })}
            placeholder="trial_started"
            value={event}
            onChange={({ currentTarget }) => set(at, [currentTarget.value, name])}
          />
          <Icon name="next" size={12} />
          <TextInput
            size="xs"
            aria-label={t('Name of event {n}', { n: at + 1 })}
            placeholder="Trial"
            value={name}
            onChange={({ currentTarget }) => set(at, [event, currentTarget.value])}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={t('Take name {n} away', { n: at + 1 })}
            onClick={() => onChange(rows.filter((_, n) => n !== at))}
          >
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
      <button type="button" className="chip dashed" onClick={() => onChange([...rows, ['', '']])}>
        {t('Give an event another name')}
      </button>
    </div>
  )
}
