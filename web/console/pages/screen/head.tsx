import { Menu } from '@mantine/core'
import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Id } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { MenuEntry } from '../../parts/menu-entry.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { ScreenStatus, typeText } from '../screens/columns.tsx'

export const About = ({ screen }: { screen: Screen }) => (
  <span className="screen-about">
    <ScreenStatus status={screen.status} /> <span>{typeText(screen.type)}</span> <Id>{screen.id}</Id>
  </span>
)

/** What one can do with a screen. What the role does not allow is there, with the reason. */
export function Actions({ screen, denied }: { screen: Screen; denied: string | undefined }) {
  const [, set] = useAddress()
  const go = useGo()
  const input = { path: { screen_id: screen.id } }
  const copying = useWrite('v4CopyScreen', { changes: ['v4ListScreens'] })
  const open = (at: string) => set({ at }, { push: true })
  const copy = () =>
    void copying.send(input).then(
      made => {
        say(t('The copy is a draft'))
        go({ to: `/screens/${encodeURIComponent(made.id)}` })
      },
      (error: Error) => say(error.message),
    )
  const isPublished = screen.status === 'published'
  useKeys(
    denied === undefined
      ? {
          e: { says: t('Rename the screen'), run: () => open('edit') },
          c: { says: t('Make a copy'), run: ({ repeat }) => !repeat && copy() },
        }
      : {},
  )
  return (
    <>
      <ShowTheCall name="v4GetScreen" input={input} />
      <Act
        denied={denied}
        size="xs"
        variant="default"
        leftSection={<Icon name="copy" size={14} />}
        loading={copying.isPending}
        onClick={copy}
      >
        {t('Make a copy')}
      </Act>
      <Act denied={denied} size="xs" variant="default" leftSection={<Icon name="sliders" size={14} />} onClick={() => open('edit')}>
        {t('Rename')}
      </Act>
      <Act
        denied={denied ?? (isPublished ? t('It is published already.') : undefined)}
        size="xs"
        leftSection={<Icon name="bolt" size={14} />}
        onClick={() => open('publish')}
      >
        {t('Publish')}
      </Act>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <button type="button" className="chip square" aria-label={t('More')}>
            <Icon name="dots" />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <MenuEntry icon="close" text={t('Delete')} denied={denied} danger onClick={() => open('delete')} />
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
