import { Menu } from '@mantine/core'
import { useAddress } from '../../data/address.ts'
import { RANGE_TEXTS, RANGES } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { TilesMenu } from './tiles-menu.tsx'

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

/** Money is shown in one currency, at the rates of the days of the purchases. */
function Currency({ now }: { now: string | undefined }) {
  const [, set] = useAddress()
  const { data } = useRead('v4ListAnalyticsCurrencies', {})
  const codes = data?.data ?? []
  if (codes.length < 2 && now === undefined) return null
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <button type="button" className={now ? 'chip on' : 'chip'}>
          {t('in {currency}', { currency: now ?? 'USD' })}
          <Icon name="fold" size={12} />
        </button>
      </Menu.Target>
      <Menu.Dropdown className="menu-scroll">
        {codes.map(code => (
          <Menu.Item
            key={code}
            fw={code === (now ?? 'USD') ? 600 : undefined}
            onClick={() => set({ currency: code === 'USD' ? undefined : code })}
          >
            {code}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
