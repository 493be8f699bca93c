import { useState } from 'react'
import { useAddress } from '../data/address.ts'
import { useRead } from '../data/read.ts'
import { Pick } from './pick.tsx'
import { t } from './t.ts'

/** The currency of all money; those that have rates. */
export function CurrencyPick() {
  const [search, set] = useAddress()
  const [asked, setAsked] = useState(false)
  const { data } = useRead('v4ListAnalyticsCurrencies', {}, { when: asked })
  const currency = search.currency ?? 'USD'
  const known = data?.data ?? [currency]
  return (
    <Pick
      name={t('Currency')}
      text={currency}
      icon="coins"
      options={known.map(code => ({ code, label: code }))}
      chosen={[currency]}
      onOpen={() => setAsked(true)}
      onPick={code => set({ currency: code === 'USD' ? undefined : code })}
    />
  )
}
