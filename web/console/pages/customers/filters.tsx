import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { Chip } from '../../parts/chip.tsx'
import { Icon } from '../../parts/icon.tsx'
import { CUSTOMER_STATUSES } from '../../parts/statuses.ts'
import { t } from '../../parts/t.ts'

const PLATFORMS = { iOS: 'iOS', Android: 'Android', Stripe: 'Stripe', Paddle: 'Paddle' }
const LONGEST = 255

export function Filters() {
  return (
    <div className="customers-filters">
      <Search />
      <Choices name="status" label={t('Status')} choices={Object.entries(CUSTOMER_STATUSES).map(([code, { says }]) => [code, t(says)])} />
      <Choices name="target_platform" label={t('Platform')} choices={Object.entries(PLATFORMS)} />
    </div>
  )
}

/** What is typed goes into the address when one stops for a moment, and a changed address, as by *Back*, into the field. */
function Search() {
  const [search, set] = useAddress()
  const given = search.q ?? ''
  const [text, setText] = useState(given)
  const send = useDebouncedCallback((value: string) => set({ q: value.trim() || undefined, cursor: undefined }), 180)
  useEffect(() => setText(before => (before.trim() === given ? before : given)), [given])
  return (
    <label className="customers-search">
      <Icon name="search" size={14} />
      <span className="unseen">{t('Search customers')}</span>
      <input
        type="search"
        placeholder={t('Id, identity, e-mail, name or transaction')}
        maxLength={LONGEST}
        spellCheck={false}
        data-filter
        value={text}
        onChange={({ currentTarget: { value } }) => {
          setText(value)
          send(value)
        }}
      />
    </label>
  )
}

/** Several may be on; none is all. */
function Choices({ name, label, choices }: { name: string; label: string; choices: readonly (readonly [code: string, text: string])[] }) {
  const [search, set] = useAddress()
  const key = `f.${name}`
  const on = new Set((search[key] ?? '').split(',').filter(Boolean))
  const toggle = (code: string) => {
    const next = choices.map(([known]) => known).filter(known => on.has(known) !== (known === code))
    set({ [key]: next.join(',') || undefined, cursor: undefined })
  }
  return (
    <fieldset className="filters customers-choices">
      <legend className="unseen">{label}</legend>
      {choices.map(([code, text]) => (
        <Chip key={code} on={on.has(code)} onClick={() => toggle(code)}>
          {text}
        </Chip>
      ))}
    </fieldset>
  )
}
