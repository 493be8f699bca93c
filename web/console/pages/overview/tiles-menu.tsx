import { Popover } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { usePins } from './pins.ts'

const load = () => import('./tiles-list.tsx')
const TilesList = lazy(load)

/** Which figures stand on the overview, and in which order. They belong to the operator. The list is loaded for whoever comes near. */
export function TilesMenu() {
  const { isUsual } = usePins()
  return (
    <Popover position="bottom-start" width={300} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <button type="button" className={isUsual ? 'chip dashed' : 'chip'} onPointerEnter={load} onFocus={load}>
          <Icon name="pin" size={14} />
          {t('Figures')}
        </button>
      </Popover.Target>
      <Popover.Dropdown className="tiles-menu" aria-label={t('Figures of the overview')}>
        <Suspense fallback={null}>
          <TilesList />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  )
}
