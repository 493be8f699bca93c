import type { AutomationDataInput } from '../../../../clients/typescript/src/index.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { t } from '../../parts/t.ts'
import { Backtest } from '../automation/backtest.tsx'

/** The log played again with what is typed. */
export default function BacktestTyped({ id, data, onClose }: { id: string; data: AutomationDataInput; onClose: () => void }) {
  return (
    <Drawer title={t('Backtest of what is typed')} onClose={onClose}>
      <Backtest id={id} data={data} />
    </Drawer>
  )
}
