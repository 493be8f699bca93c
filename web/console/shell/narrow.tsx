import { useRouterState } from '@tanstack/react-router'
import { Icon } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'
import { To } from '../parts/to.tsx'
import { BOTTOM, entryOf, isAt } from './navigation.ts'
import { ThemeButton } from './operator-menu.tsx'
import type { Overlay } from './shell.tsx'
import { Switcher } from './switcher.tsx'

/** The bar on top of narrow screens. It is no banner: the head of a dialog over the page is one. */
export const TopBar = ({ open }: { open: (overlay: Overlay) => void }) => (
  <nav className="top-bar" aria-label={t('Project and search')}>
    <Switcher />
    <button type="button" className="chip square" aria-label={t('Search or go to')} onClick={() => open('palette')}>
      <Icon name="search" />
    </button>
    <ThemeButton />
  </nav>
)

/** The five places at the bottom of narrow screens. */
export function BottomBar() {
  const pathname = useRouterState({ select: state => state.location.pathname })
  return (
    <nav className="bottom-bar" aria-label={t('Main, narrow screens')}>
      {BOTTOM.map(to => {
        const { icon, text } = entryOf(to)
        const here = isAt(to, pathname)
        return (
          <To key={to} to={to} className={here ? 'active' : ''} aria-current={here ? 'page' : undefined}>
            <Icon name={icon} size={18} />
            {text}
          </To>
        )
      })}
    </nav>
  )
}
