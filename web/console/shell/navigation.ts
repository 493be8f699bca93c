import type { IconName } from '../parts/icon.tsx'

export type Entry = { to: string; icon: IconName; text: string; key: string; ownerOnly?: boolean }

/** The pages of the navigation in their groups, each with the key after `g`. */
export const NAVIGATION: readonly { group: string; entries: readonly Entry[] }[] = [
  {
    group: '',
    entries: [
      { to: '/', icon: 'home', text: 'Overview', key: 'o' },
      { to: '/events', icon: 'list', text: 'Events', key: 'e' },
      { to: '/customers', icon: 'people', text: 'Customers', key: 'u' },
    ],
  },
  {
    group: 'Analytics',
    entries: [
      { to: '/charts', icon: 'chart', text: 'Charts', key: 'c' },
      { to: '/cohorts', icon: 'grid', text: 'Cohorts', key: 'h' },
      { to: '/ltv', icon: 'coins', text: 'LTV', key: 'l' },
      { to: '/insights', icon: 'insight', text: 'Insights', key: 'j' },
    ],
  },
  {
    group: 'Growth',
    entries: [
      { to: '/catalogue', icon: 'catalogue', text: 'Catalogue', key: 'k' },
      { to: '/segments', icon: 'segment', text: 'Segments', key: 'm' },
      { to: '/configurations', icon: 'knobs', text: 'Configurations', key: 'f' },
      { to: '/experiments', icon: 'versus', text: 'Experiments', key: 'v' },
      { to: '/screens', icon: 'screen', text: 'Screens', key: 'w' },
      { to: '/pushes', icon: 'push', text: 'Pushes', key: 'y' },
    ],
  },
  {
    group: 'What happens',
    entries: [
      { to: '/automations', icon: 'flow', text: 'Automations', key: 'a' },
      { to: '/runs', icon: 'runs', text: 'Runs', key: 'n' },
      { to: '/reports', icon: 'mail', text: 'Reports', key: 'r' },
      { to: '/exports', icon: 'file', text: 'Exports', key: 'x' },
      { to: '/integrations', icon: 'plug', text: 'Integrations', key: 'i' },
      { to: '/promises', icon: 'promise', text: 'Promises', key: 'p' },
      { to: '/sandbox', icon: 'flask', text: 'Sandbox', key: 'b' },
      { to: '/audit', icon: 'audit', text: 'Audit', key: 'd' },
    ],
  },
  {
    group: 'Project',
    entries: [
      { to: '/settings', icon: 'gear', text: 'Settings', key: 's' },
      { to: '/status', icon: 'pulse', text: 'Status', key: 't', ownerOnly: true },
    ],
  },
]

/** The places of the bar at the bottom of narrow screens: five at most. */
export const BOTTOM: readonly string[] = ['/', '/charts', '/customers', '/events', '/settings']

export const entryOf = (to: string): Entry => NAVIGATION.flatMap(({ entries }) => entries).find(entry => entry.to === to)!

/** Whether an entry is the one of the address: `/charts` also for `/charts/mrr`. */
export const isAt = (to: string, pathname: string): boolean => {
  const path = pathname.replace(/^\/console/, '').replace(/\/$/, '')
  return to === '/' ? path === '' : path === to || path.startsWith(`${to}/`)
}
