import './drawers.css'
import type { Automation, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { JsonText } from '../../parts/json-text.tsx'
import { t } from '../../parts/t.ts'
import { Backtest } from './backtest.tsx'
import { Ending } from './ending.tsx'
import { StepDrawer } from './step-drawer.tsx'
import type { useShown } from './use-counts.ts'
import { Versions } from './versions.tsx'
import type { NameOfEvent } from './words.ts'

/** What the address says is open. */
export default function Drawers({
  at,
  automation,
  shown,
  counts,
  nameOf,
}: {
  at: string
  automation: Automation
  shown: ReturnType<typeof useShown>
  counts: AutomationVersionCounts | undefined
  nameOf: NameOfEvent
}) {
  const [, set] = useAddress()
  const close = () => set({ at: undefined })
  switch (at) {
    case 'backtest':
      return (
        <Drawer title={t('Backtest')} onClose={close}>
          <Backtest id={automation.id} data={shown.version === automation.version ? undefined : shown.data} version={shown.version} />
        </Drawer>
      )
    case 'versions':
      return <Versions automation={automation} shown={shown.version} onClose={close} />
    case 'json':
      return (
        <Drawer title={t('JSON')} onClose={close}>
          <JsonText value={automation} />
        </Drawer>
      )
    case 'inactive':
    case 'delete':
      return <Ending key={at} how={at} automation={automation} onClose={close} />
    default:
      return at.startsWith('step.') && shown.data ? (
        <StepDrawer id={at.slice(5)} automation={automation} data={shown.data} counts={counts} nameOf={nameOf} onClose={close} />
      ) : null
  }
}
