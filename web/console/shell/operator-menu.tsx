import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { endSession, useSession, useSetPreferences } from '../data/session.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'
import type { Overlay } from './shell.tsx'

/** Who is signed in, and what belongs to the person and not to a project. */
export function OperatorMenu({ open }: { open: (overlay: Overlay) => void }) {
  const { data } = useSession()
  return (
    <div className="side-foot">
      <Menu position="top-start" width={220} withinPortal>
        <Menu.Target>
          <button type="button" className="operator" aria-label={t('Account of {email}', { email: data?.operator.email ?? '' })}>
            <span>{data?.operator.email ?? ' '}</span>
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="sliders" />} onClick={() => open('preferences')}>
            {t('Preferences')}
          </Menu.Item>
          <Menu.Item component="a" href="/console/account" leftSection={<Icon name="user" />}>
            {t('Account')}
          </Menu.Item>
          <Menu.Item component="a" href="/docs" target="_blank" leftSection={<Icon name="info" />}>
            {t('Documentation')}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="leave" />} onClick={() => void endSession()}>
            {t('Sign out')}
          </Menu.Item>
          {data && <Menu.Label>{t('Perennial {version}', { version: data.version })}</Menu.Label>}
        </Menu.Dropdown>
      </Menu>
      <ThemeButton />
      <button type="button" className="chip square" aria-label={t('Keys')} onClick={() => open('keys')}>
        ?
      </button>
    </div>
  )
}

export function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const { mutate } = useSetPreferences()
  const dark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const other = dark ? 'light' : 'dark'
  return (
    <button
      type="button"
      className="chip square"
      aria-label={dark ? t('Light theme') : t('Dark theme')}
      onClick={() => {
        setColorScheme(other)
        mutate({ theme: other })
      }}
    >
      <Icon name={dark ? 'sun' : 'moon'} size={14} />
    </button>
  )
}
