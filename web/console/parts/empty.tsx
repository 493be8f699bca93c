import type { ReactNode } from 'react'
import { Copy } from './copy.tsx'
import { Icon, type IconName } from './icon.tsx'

/** What would stand here, why it does not, one action, and the call as curl. */
export const Empty = ({
  icon = 'list',
  title,
  why,
  action,
  curl,
}: {
  icon?: IconName
  title: string
  why: ReactNode
  action?: ReactNode
  curl?: string
}) => (
  <div className="empty">
    <span className="empty-icon">
      <Icon name={icon} size={22} />
    </span>
    <p className="empty-title">{title}</p>
    <p>{why}</p>
    {action && <div className="empty-action">{action}</div>}
    {curl && (
      <div className="empty-code">
        <Copy text={curl} />
      </div>
    )}
  </div>
)
