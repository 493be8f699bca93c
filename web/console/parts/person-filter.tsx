import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useRead } from '../data/read.ts'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** A person by what the search takes: id, identity, e-mail address, transaction. `onFind` has the id of the user. */
export function PersonFilter({ name, onFind }: { name: string; onFind: (id: string) => void }) {
  const [typed, setTyped] = useState('')
  const [asked, ask] = useState<string>()
  const { data, isFetching, error } = useRead('v4Search', { query: { q: asked ?? '' } }, { when: asked !== undefined })
  const isRead = asked !== undefined && data !== undefined && !isFetching
  const found = isRead ? data.data.find(({ kind }) => kind === 'customer')?.id : undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each that is found
  useEffect(() => {
    if (found === undefined) return
    onFind(found)
    setTyped('')
    ask(undefined)
  }, [found])
  const nobody = isRead && found === undefined ? t('Nobody is found by this.') : undefined
  return (
    <form
      className="person-filter"
      onSubmit={event => {
        event.preventDefault()
        if (typed.trim().length > 1) ask(typed.trim())
      }}
    >
      <TextInput
        data-filter
        size="xs"
        leftSection={<Icon name="user" size={13} />}
        aria-label={name}
        placeholder={t('Person: id, identity, e-mail')}
        value={typed}
        error={error?.message ?? nobody}
        maxLength={256}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value)
          ask(undefined)
        }}
      />
    </form>
  )
}
