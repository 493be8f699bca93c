import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { useEffect, useState } from 'react'
import { usePlace } from '../data/place.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'
import { useGo } from '../parts/to.tsx'
import { useFound } from './found.ts'
import { keepRecent } from './recent.ts'

/** Search over pages, charts and people. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [settled] = useDebouncedValue(query, 150)
  const go = useGo()
  const place = usePlace()
  useEffect(() => spotlight.open(), [])
  const { groups, searching, failed } = useFound(query.trim(), settled.trim())
  return (
    <Spotlight.Root
      lockScroll={false}
      overlayProps={{ backgroundOpacity: 0.22, blur: 0 }}
      attributes={{ content: { 'aria-label': t('Search or go to') } }}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      maxHeight={440}
      onSpotlightClose={onClose}
      transitionProps={{ duration: 0 }}
    >
      <Spotlight.Search
        placeholder={t('Pages, charts, people by id, identity, e-mail or transaction')}
        leftSection={<Icon name="search" />}
        aria-label={t('Search')}
      />
      <Spotlight.ActionsList>
        {groups.map(({ group, hits }) => (
          <Spotlight.ActionsGroup key={group} label={group}>
            {hits.map(hit => (
              <Spotlight.Action
                key={hit.to + (hit.search?.at ?? '')}
                label={hit.text}
                description={hit.more}
                leftSection={<Icon name={hit.icon} />}
                onClick={() => {
                  keepRecent(place, hit)
                  go(hit)
                }}
              />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>{nothing(searching, failed)}</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

function nothing(searching: boolean, failed: boolean): string {
  if (searching) return t('Searching')
  if (failed) return t('The search did not answer. Pages and charts are found without it.')
  return t('Nothing has this name. People are found by id, identity, e-mail or transaction; events by their id.')
}
