import { useRouterState } from '@tanstack/react-router'
import { useSession } from '../data/session.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'
import { To } from '../parts/to.tsx'
import { isAt, NAVIGATION } from './navigation.ts'
import { OperatorMenu } from './operator-menu.tsx'
import { Overdue } from './overdue.tsx'
import type { Overlay } from './shell.tsx'
import { Switcher } from './switcher.tsx'

/** The navigation at the left of wide screens. */
export function Side({ open }: { open: (overlay: Overlay) => void }) {
  const pathname = useRouterState({ select: state => state.location.pathname })
  const { data } = useSession()
  const owner = data?.operator.is_owner === true
  return (
    <nav className="side" aria-label={t('Main')}>
      <div className="brand">
        <Brand />
        Perennial
      </div>
      <Switcher />
      <button type="button" className="find" onClick={() => open('palette')}>
        <Icon name="search" size={14} />
        {t('Search or go to')}
        <kbd>Ctrl K</kbd>
      </button>
      {NAVIGATION.map(({ group, entries }) => (
        <div key={group} className="nav-group">
          {group && <div className="nav-title">{group}</div>}
          {entries
            .filter(({ ownerOnly }) => !ownerOnly || owner)
            .map(({ to, icon, text }) => (
              <To
                key={to}
                to={to}
                className={isAt(to, pathname) ? 'nav active' : 'nav'}
                aria-current={isAt(to, pathname) ? 'page' : undefined}
              >
                <Icon name={icon} />
                {text}
                {to === '/promises' && <Overdue />}
              </To>
            ))}
        </div>
      ))}
      <OperatorMenu open={open} />
    </nav>
  )
}

const Brand = () => (
  <svg
    width="26"
    height="26"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d="M12 20V9m0 5c-4 0-6-2.500-6-7 4 0 6 2.500 6 7zm0-3c0-4 2-6 6-6 0 4-2 6-6 6z" />
  </svg>
)
