import { Menu } from '@mantine/core'
import { useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { RANGE_TEXTS, RANGES } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { TilesMenu } from './tiles-menu.tsx'

/** Without another choice, money is in US dollars. */
const USUAL = 'USD'

/** Range, currency, and which figures there are. */
export function Controls({ range, currency }: { range: string; currency: string | undefined }) {
  const [, set] = useAddress()
  return (
    <>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <button type="button" className="chip">
            <Icon name="clock" size={14} />
            {RANGE_TEXTS[range]}
            <Icon name="fold" size={12} />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {RANGES.map(key => (
            <Menu.Item key={key} fw={key === range ? 600 : undefined} onClick={() => set({ range: key === '28d' ? undefined : key })}>
              {t(RANGE_TEXTS[key]!)}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Currency now={currency} />
      <TilesMenu />
    </>
  )
}

/** Money is shown in one currency, at the rates of the days of the purchases. Which ones there are is asked when somebody wants to know. */
function Currency({ now = USUAL }: { now: string | undefined }) {
  const [, set] = useAddress()
  const [opened, setOpened] = useState(false)
  const { data } = useRead('v4ListAnalyticsCurrencies', {}, { when: opened })
  return (
    <Menu position="bottom-start" withinPortal opened={opened} onChange={setOpened}>
      <Menu.Target>
        <button type="button" className={now === USUAL ? 'chip' : 'chip on'}>
          {t('in {currency}', { currency: now })}
          <Icon name="fold" size={12} />
        </button>
      </Menu.Target>
      <Menu.Dropdown className="menu-scroll">
        {(data?.data ?? [now]).map(code => (
          <Menu.Item key={code} fw={code === now ? 600 : undefined} onClick={() => set({ currency: code === USUAL ? undefined : code })}>
            {code}
          </Menu.Item>
        ))}
        {data?.data.length === 1 && <Menu.Label>{t('Rates of exchange bring more')}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  )
}
