import { Menu } from '@mantine/core'
import { useRouterState } from '@tanstack/react-router'
import { Fragment } from 'react'
import { usePlace } from '../data/place.ts'
import { useSession } from '../data/session.ts'
import { Icon } from '../parts/icon.tsx'
import { plain, t } from '../parts/t.ts'
import { useGo } from '../parts/to.tsx'

/** Project and environment. A list stays the same list in the other project; a page of one person or chart point does not exist there. */
export function Switcher() {
  const place = usePlace()
  const { data } = useSession()
  const go = useGo()
  const pathname = useRouterState({ select: state => state.location.pathname })
  const section = `/${pathname.replace(/^\/console\/?/, '').split('/')[0] ?? ''}`
  const to = section === '/charts' ? pathname.replace(/^\/console/, '') : section
  const name = data?.projects.find(({ id }) => id === place?.project)?.name ?? place?.project ?? ''
  return (
    <Menu position="bottom-start" width={240} withinPortal>
      <Menu.Target>
        <button className="switch" type="button">
          <span className="unseen">{t('Project and environment:')} </span>
          <span className="grow">
            <b>{name || ' '}</b>
            <span>{place ? plain(place.environment) : ' '}</span>
          </span>
          <Icon name="swap" size={14} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {data?.projects.map(({ id, name: title, environments }) => (
          <Fragment key={id}>
            <Menu.Label>{title}</Menu.Label>
            {environments.map(environment => {
              const here = id === place?.project && environment === place.environment
              return (
                <Menu.Item
                  key={environment}
                  leftSection={<span className="here">{here && <Icon name="check" size={14} />}</span>}
                  onClick={() => go({ to, search: { p: id, env: environment === 'sandbox' ? 'sandbox' : undefined } })}
                >
                  {plain(environment)}
                </Menu.Item>
              )
            })}
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
