import './menu-entry.css'
import { Menu } from '@mantine/core'
import { Icon, type IconName } from './icon.tsx'

/** An entry of a menu; one that a role may not press says why. */
export function MenuEntry({
  icon,
  text,
  denied,
  danger,
  onClick,
}: {
  icon: IconName
  text: string
  denied?: string | undefined
  danger?: boolean
  onClick: () => void
}) {
  return (
    <Menu.Item
      leftSection={<Icon name={icon} size={14} />}
      disabled={denied !== undefined}
      className={danger ? 'menu-danger' : undefined}
      onClick={onClick}
    >
      {text}
      {denied && <span className="menu-reason">{denied}</span>}
    </Menu.Item>
  )
}
