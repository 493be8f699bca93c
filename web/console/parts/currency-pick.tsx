import { useState } from 'react'
import { type Search, useAddress, useAhead } from '../data/address.ts'
import { useRead } from '../data/read.ts'
import { Pick } from './pick.tsx'
import { t } from './t.ts'

const inCurrency = (code: string): Search => ({ currency: code === 'USD' ? undefined : code })

/** The currency of all money; those that have rates. */
export function CurrencyPick() {
  const [search, set] = useAddress()
  const ahead = useAhead()
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
      onPick={code => set(inCurrency(code))}
      ahead={code => ahead(inCurrency(code))}
    />
  )
}
