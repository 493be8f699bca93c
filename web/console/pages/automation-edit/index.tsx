import '../automation/boxes.css'
import '../automation/drawers.css'
import './edit.css'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { draftOf, NEW } from './draft.ts'
import { Editor } from './editor.tsx'
import { useKept } from './kept.ts'

/** Makes an automation, or changes one: as a form or as JSON. */
export default function AutomationEdit() {
  const { id } = useParams({ strict: false }) as { id?: string }
  return id === undefined ? <New /> : <Existing key={id} id={id} />
}

/** What was typed before one went to another page is there again; `onDiscard` begins without it. */
function New() {
  const { kept, drop } = useKept(undefined)
  const [first, begin] = useState({ n: 0, kept })
  const discard = () => {
    drop()
    begin({ n: first.n + 1, kept: undefined })
  }
  return <Editor key={first.n} draft={first.kept?.draft ?? NEW} title={t('New automation')} onDiscard={first.kept && discard} />
}

function Existing({ id }: { id: string }) {
  const read = useRead('v4GetAutomation', { path: { automation_id: id } })
  // The state that is changed is the one that was read first: a later one comes only when it is asked for.
  const { kept, drop } = useKept(id)
  const [again, begin] = useState(kept)
  const [first, setFirst] = useState<Automation | undefined>(kept?.base)
  if (first === undefined && read.data !== undefined && !read.isPlaceholderData && !read.isFetching) setFirst(read.data)
  const discard = () => {
    drop()
    begin(undefined)
    setFirst(undefined)
  }
  if (first)
    return (
      <Editor
        key={again ? 'again' : 'new'}
        draft={again?.draft ?? draftOf(first)}
        automation={first}
        title={t('Edit {name}', { name: first.name })}
        onDiscard={again && discard}
      />
    )
  return (
    <Page wide title={t('Edit an automation')}>
      {read.error?.status === 404 ? (
        <NotHere icon="flow" title={t('No such automation')} to="/automations" all={t('All automations')} />
      ) : read.error ? (
        <Fault error={read.error} retry={read.refetch} />
      ) : (
        <Card>
          <Bars rows={9} />
        </Card>
      )}
    </Page>
  )
}
