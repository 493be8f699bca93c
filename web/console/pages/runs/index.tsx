import './runs.css'
import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { AutomationRun } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useSpanNow } from '../../data/spans.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { LiveMark } from '../../parts/live-mark.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { Filters } from './filters.tsx'
import { Nothing } from './nothing.tsx'
import { queryOf } from './query.ts'
import { isOpen, Rows } from './rows.tsx'

const loadCancel = () => import('./cancel-many.tsx').then(({ CancelMany }) => ({ default: CancelMany }))
const CancelMany = lazy(loadCancel)

/** What automations do and did, for everybody: which is under way, which is tried again, which has failed. */
export default function Runs() {
  const [search, set] = useAddress()
  const place = usePlace()
  const denied = useDenied('editor', place?.project)
  const now = useSpanNow(search.range)
  const input = { query: queryOf(search, now) }
  const isNewest = search.after === undefined
  const read = useRead('v4ListAllAutomationRuns', input, isNewest ? { topics: ['runs'], every: 60_000 } : {})
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const [cancels, setCancels] = useState<readonly string[]>()
  const open = (read.data?.data ?? []).filter(isOpen)
  // What has ended meanwhile, or is on no page that is seen, is not chosen any more.
  const chosen = new Set(open.filter(({ id }) => marked.has(id)).map(({ id }) => id))
  const older = read.data?.next_cursor
  const goOlder = () => older && set({ after: older }, { push: true })
  const choose = (id: string) => setMarked(new Set(chosen.has(id) ? [...chosen].filter(other => other !== id) : [...chosen, id]))
  useKeys({
    '[': { says: t('Older runs'), run: goOlder },
    ']': { says: t('The newest runs'), run: () => set({ after: undefined }) },
    x: { says: t('Choose the row'), run: () => chooseFocused() },
  })
  return (
    <Page
      wide
      title={t('Runs')}
      about={t('What automations do and did for each person, newest first')}
      actions={
        <>
          <ShowTheCall name="v4ListAllAutomationRuns" input={input} />
          <ExportMenu downloads={[{ says: t('These runs as CSV'), file: 'runs.csv', make: () => asCsv(read.data?.data ?? []) }]} />
        </>
      }
    >
      <Filters />
      <Card
        flush
        className="runs"
        title={isNewest ? t('Newest') : t('Older runs')}
        right={
          <>
            {isNewest ? (
              <LiveMark />
            ) : (
              <button type="button" className="chip" onClick={() => set({ after: undefined })}>
                <Icon name="up" size={13} />
                {t('The newest')}
              </button>
            )}
            {open.length > 0 && chosen.size < open.length && (
              <button type="button" className="chip" onClick={() => setMarked(new Set(open.map(({ id }) => id)))}>
                {counted(open.length, 'Choose the {n} under way', 'Choose all {n} under way')}
              </button>
            )}
            {chosen.size > 0 && (
              <>
                <button type="button" className="chip dashed" onClick={() => setMarked(new Set())}>
                  {t('Choose none')}
                </button>
                <Act
                  denied={denied}
                  size="xs"
                  variant="default"
                  leftSection={<Icon name="close" size={13} />}
                  onClick={() => setCancels([...chosen])}
                >
                  {counted(chosen.size, 'Cancel {n} run', 'Cancel {n} runs')}
                </Act>
              </>
            )}
          </>
        }
      >
        <DataState
          of={read}
          shape="table"
          rows={12}
          isEmpty={({ data }) => data.length === 0}
          empty={<Nothing hasMore={read.data?.has_more === true} further={goOlder} />}
        >
          {({ data, has_more }) => (
            <>
              <Rows runs={data} chosen={chosen} onChoose={choose} />
              <div className="runs-foot">
                {has_more ? (
                  <Button size="xs" variant="default" rightSection={<Icon name="next" size={12} />} onClick={goOlder}>
                    {t('Older')}
                  </Button>
                ) : (
                  <span className="soft">{t('These are the first ones.')}</span>
                )}
              </div>
            </>
          )}
        </DataState>
      </Card>
      <Suspense fallback={null}>
        {cancels && (
          <CancelMany
            ids={cancels}
            onClose={() => setCancels(undefined)}
            onDone={() => {
              setCancels(undefined)
              setMarked(new Set())
            }}
          />
        )}
      </Suspense>
    </Page>
  )
}

/** The box of the row that has the focus. */
const chooseFocused = () => document.activeElement?.closest('tr')?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()

const asCsv = (runs: readonly AutomationRun[]) =>
  csv([
    ['id', 'automation_id', 'automation', 'version', 'user_id', 'event_name', 'event_id', 'status', 'retrying', 'reason', 'error'].concat([
      'step',
      'created_at',
      'due_at',
      'next_attempt_at',
      'finished_at',
    ]),
    ...runs.map(run => [
      ...[run.id, run.automation_id, run.automation_name, run.automation_version, run.user_id, run.event.event_name, run.event.id],
      ...[run.status, String(run.is_retrying), run.reason, run.last_error, run.current_step],
      ...[run.created_at, run.due_at, run.next_attempt_at, run.finished_at],
    ]),
  ])
