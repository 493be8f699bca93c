import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Search } from '../data/address.ts'
import { usePreferences } from '../data/session.ts'
import { SPANS } from '../data/spans.ts'
import { localOf, secondAt } from './local-time.ts'
import { t } from './t.ts'

/** A span that ends now, or two moments of the operator's zone. */
export function SpanForm({ search, onChoose }: { search: Search; onChoose: (change: Search) => void }) {
  const { zone } = usePreferences()
  const [from, setFrom] = useState(localOf(search.from, zone))
  const [to, setTo] = useState(localOf(search.to, zone))
  const [first, last] = [secondAt(from, zone), secondAt(to, zone)]
  const turned = first !== undefined && last !== undefined && first >= last
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        if (!turned) onChoose({ from: first?.toString(), to: last?.toString() })
      }}
    >
      <div className="spans">
        <button type="button" className={search.range || first || last ? 'chip' : 'chip on'} onClick={() => onChoose({})}>
          {t('Any time')}
        </button>
        {Object.entries(SPANS).map(([key, text]) => (
          <button type="button" key={key} className={search.range === key ? 'chip on' : 'chip'} onClick={() => onChoose({ range: key })}>
            {t(text)}
          </button>
        ))}
      </div>
      <TextInput
        type="datetime-local"
        size="xs"
        label={t('From, in {zone}', { zone })}
        value={from}
        onChange={({ currentTarget }) => setFrom(currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        size="xs"
        label={t('Until')}
        value={to}
        error={turned ? t('This is not after the beginning.') : undefined}
        onChange={({ currentTarget }) => setTo(currentTarget.value)}
      />
      <div className="form-actions">
        <Button type="submit" size="xs" disabled={first === undefined && last === undefined}>
          {t('Show')}
        </Button>
      </div>
    </form>
  )
}
