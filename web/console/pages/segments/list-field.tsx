import { Textarea } from '@mantine/core'
import { Choice } from '../../parts/choice.tsx'
import { counted, t } from '../../parts/t.ts'
import { type Draft, idsIn, MOST_LISTED } from './draft.ts'

/** Whether it has a list of people, and who is on it. `listed`: how many are on the stored one. */
export function ListField({
  list,
  listed,
  fault,
  onChange,
}: {
  list: Draft['list']
  listed: number | null
  fault: string | undefined
  onChange: (list: Draft['list']) => void
}) {
  const isList = list !== 'none'
  const many = typeof list === 'object' ? idsIn(list.typed).length : 0
  return (
    <div className="segment-list-field">
      <p className="form-label">{t('Among')}</p>
      <Choice
        name={t('Among')}
        value={isList ? 'list' : 'all'}
        options={[
          ['all', 'Everybody'],
          ['list', 'People on a list'],
        ]}
        onChange={kind => onChange(kind === 'all' ? 'none' : listed === null ? { typed: '' } : 'kept')}
      />
      {list === 'kept' && (
        <p className="segment-note">
          {counted(listed ?? 0, 'The list has {n} person.', 'The list has {n} people.')}{' '}
          <button type="button" className="chip small" onClick={() => onChange({ typed: '' })}>
            {t('Replace it')}
          </button>
        </p>
      )}
      {typeof list === 'object' && (
        <>
          <Textarea
            size="xs"
            rows={6}
            aria-label={t('Ids of people')}
            placeholder={t('Ids of people, one on a line')}
            spellCheck={false}
            value={list.typed}
            error={many > MOST_LISTED ? t('A list has at most 10,000 people.') : fault}
            onChange={({ currentTarget }) => onChange({ typed: currentTarget.value })}
          />
          <p className="segment-note">
            {counted(many, '{n} id', '{n} ids')}
            {listed !== null && (
              <>
                {' · '}
                <button type="button" className="chip small" onClick={() => onChange('kept')}>
                  {counted(listed, 'Keep the list of {n} person', 'Keep the list of {n} people')}
                </button>
              </>
            )}
          </p>
        </>
      )}
    </div>
  )
}
