import { Popover } from '@mantine/core'
import { useState } from 'react'
import { type Search, useAddress } from '../data/address.ts'
import { usePreferences } from '../data/session.ts'
import { NO_SPAN, SPANS } from '../data/spans.ts'
import { moment } from './format.ts'
import { Icon } from './icon.tsx'
import { SpanForm } from './span-form.tsx'
import { t } from './t.ts'

/** A span of time of a list, in the address; the list begins anew. `name`: what is of that time, for readers. */
export function SpanPick({ name }: { name: string }) {
  const [search, set] = useAddress()
  const { zone } = usePreferences()
  const [opened, setOpened] = useState(false)
  const own = search.from !== undefined || search.to !== undefined
  const preset = SPANS[search.range ?? '']
  const label = preset ? t(preset) : own ? textOf(search, zone) : t('Any time')
  return (
    <Popover position="bottom-start" width={300} withinPortal trapFocus returnFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <button
          type="button"
          className={preset || own ? 'chip on' : 'chip'}
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
          // On a busy page the focus may still be here.
          onKeyDown={({ key }) => key === 'Escape' && setOpened(false)}
        >
          <Icon name="clock" size={14} />
          <span className="chip-text" title={label}>
            {label}
          </span>
          <Icon name="fold" size={12} />
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={name}>
        <SpanForm
          search={search}
          onChoose={change => {
            set({ ...NO_SPAN, ...change, after: undefined })
            setOpened(false)
          }}
        />
      </Popover.Dropdown>
    </Popover>
  )
}

function textOf({ from, to }: Search, zone: string): string {
  const at = (text: string) => (Number.isFinite(Number(text)) ? moment(Number(text), zone) : text)
  if (from && to) return t('{from} to {to}', { from: at(from), to: at(to) })
  return from ? t('since {from}', { from: at(from) }) : t('before {to}', { to: at(to ?? '') })
}
