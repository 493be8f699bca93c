import { Button, Menu, Tooltip } from '@mantine/core'
import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useNoNetwork } from '../../data/online.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { MenuEntry } from '../../parts/menu-entry.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { NEEDS_EDITOR } from './access.tsx'

/** What one can do for the customer. What the role does not allow is there, with the reason. */
export function Actions({ id, view }: { id: string; view: CustomerData }) {
  const [, set] = useAddress()
  const place = usePlace()
  const open = (at: string) => set({ at }, { push: true })
  const isSandbox = place?.environment === 'sandbox'
  const noRole = useDenied('editor', place?.project)
  const noEvents = isSandbox ? noRole : t('in the sandbox alone')
  const noNetwork = useNoNetwork()
  const noAccess = view.canEditEntitlements ? noNetwork : NEEDS_EDITOR
  const noErasing = view.canRemoveCustomer ? undefined : t('needs the role admin')
  useKeys({
    ...(view.canEditEntitlements && { a: { says: t('Give access'), run: () => open('give') } }),
    ...(view.canEditEntitlements && { e: { says: t('Edit properties'), run: () => open('properties') } }),
    w: { says: t('Why did nothing come?'), run: () => open('why') },
  })
  return (
    <>
      <ShowTheCall name="v4GetCustomer" input={{ path: { customer_id: id } }} />
      <Button size="xs" variant="default" leftSection={<Icon name="search" size={14} />} onClick={() => open('why')}>
        {t('Why did nothing come?')}
      </Button>
      <Tooltip label={t(noAccess ?? '')} disabled={noAccess === undefined}>
        <Button size="xs" leftSection={<Icon name="gift" size={14} />} disabled={noAccess !== undefined} onClick={() => open('give')}>
          {t('Give access')}
        </Button>
      </Tooltip>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <button type="button" className="chip square" aria-label={t('More')}>
            <Icon name="dots" />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="code" size={14} />} onClick={() => open('json')}>
            {t('JSON')}
          </Menu.Item>
          <MenuEntry icon="bolt" text={t('Send a test event')} denied={noEvents} onClick={() => open('test-event')} />
          <MenuEntry icon="close" text={t('Erase')} denied={noErasing} danger onClick={() => open('erase')} />
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
