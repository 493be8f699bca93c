import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

/** A small button that is on or off: a filter, a kind in a timeline. */
export const Chip = ({ icon, on, onClick, children }: { icon?: IconName; on?: boolean; onClick?: () => void; children: ReactNode }) => (
  <button type="button" className={on ? 'chip on' : 'chip'} aria-pressed={on} onClick={onClick}>
    {icon && <Icon name={icon} size={14} />}
    {children}
  </button>
)
