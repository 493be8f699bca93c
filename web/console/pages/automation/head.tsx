import { Menu } from '@mantine/core'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Id } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { MenuEntry } from '../../parts/menu-entry.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { AutomationStatus } from '../automations/columns.tsx'
import { useStatus } from './use-status.ts'

export const About = ({ automation }: { automation: Automation }) => (
  <span className="automation-about">
    <AutomationStatus of={automation} /> <Id>{automation.id}</Id>{' '}
    {automation.caption && (
      <bdi className="automation-caption" title={automation.caption}>
        {automation.caption}
      </bdi>
    )}
  </span>
)

/** What one can do with an automation. What the role does not allow is there, with the reason. */
export function Actions({ automation, call }: { automation: Automation; call: Input<'v4GetAutomationStepCounts'> }) {
  const [, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const { change, isPending } = useStatus(automation)
  const open = (at: string) => set({ at }, { push: true })
  const edit = () => go({ to: `/automations/${encodeURIComponent(automation.id)}/edit` })
  const isActive = automation.status === 'active'
  const next = isActive ? 'paused' : 'active'
  const toggle = () => void change(next)
  useKeys({
    ...(denied === undefined && { e: { says: t('Edit'), run: edit } }),
    ...(denied === undefined && { p: { says: isActive ? t('Pause') : t('Activate'), run: toggle } }),
    b: { says: t('Backtest'), run: () => open('backtest') },
    v: { says: t('Versions'), run: () => open('versions') },
  })
  return (
    <>
      <ShowTheCall name="v4GetAutomationStepCounts" input={call} />
      <Act size="xs" variant="default" denied={undefined} leftSection={<Icon name="retry" size={14} />} onClick={() => open('backtest')}>
        {t('Backtest')}
      </Act>
      <Act size="xs" variant="default" denied={denied} leftSection={<Icon name="sliders" size={14} />} onClick={edit}>
        {t('Edit')}
      </Act>
      <Act
        size="xs"
        {...(isActive && { variant: 'default' })}
        denied={denied}
        loading={isPending}
        leftSection={<Icon name={isActive ? 'clock' : 'bolt'} size={14} />}
        onClick={toggle}
      >
        {isActive ? t('Pause') : t('Activate')}
      </Act>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <button type="button" className="chip square" aria-label={t('More')}>
            <Icon name="dots" />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <MenuEntry icon="list" text={t('Versions')} onClick={() => open('versions')} />
          <MenuEntry icon="code" text={t('JSON')} onClick={() => open('json')} />
          {automation.status !== 'inactive' && (
            <MenuEntry icon="warn" text={t('Set inactive')} denied={denied} danger onClick={() => open('inactive')} />
          )}
          <MenuEntry icon="close" text={t('Delete')} denied={denied} danger onClick={() => open('delete')} />
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
