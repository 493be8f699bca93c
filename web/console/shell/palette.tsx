import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { useEffect, useState } from 'react'
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
  useEffect(() => spotlight.open(), [])
  const { groups, searching } = useFound(query.trim(), settled.trim())
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
        placeholder={t('Pages, charts, customers by id, identity or e-mail')}
        leftSection={<Icon name="search" />}
        aria-label={t('Search')}
      />
      <Spotlight.ActionsList>
        {groups.map(({ group, hits }) => (
          <Spotlight.ActionsGroup key={group} label={group}>
            {hits.map(hit => (
              <Spotlight.Action
                key={hit.to}
                label={hit.text}
                description={hit.more}
                leftSection={<Icon name={hit.icon} />}
                onClick={() => {
                  keepRecent(hit)
                  go(hit)
                }}
              />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && (
          <Spotlight.Empty>
            {searching ? t('Searching') : t('Nothing has this name. People are found by id, identity or e-mail.')}
          </Spotlight.Empty>
        )}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}
