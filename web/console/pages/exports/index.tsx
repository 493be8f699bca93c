import './exports.css'
import { lazy, Suspense } from 'react'
import type { Export } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied, usePreferences } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Count } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Progress } from './progress.tsx'
import { fileText, typeText, windowText } from './words.ts'

const NewExport = lazy(() => import('./new-export.tsx'))
const ExportDrawer = lazy(() => import('./export-drawer.tsx'))

const ON_PAGE = 50

/** Raw data as files: what is being made, what can be fetched, and how to check it. */
export default function Exports() {
  const [search, set] = useAddress()
  const { zone } = usePreferences()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListExports', input, { topics: ['exports'], every: 30_000 })
  const open = () => set({ at: 'new' }, { push: true })
  const close = () => set({ at: undefined, like: undefined })
  useKeys(denied === undefined ? { n: { says: t('New export'), run: open } } : {})
  return (
    <Page
      wide
      title={t('Exports')}
      about={t('Raw data as files, those of reports included. Files are kept for 7 days, their records for 90')}
      actions={
        <>
          <ShowTheCall name="v4ListExports" input={input} />
          <Act denied={denied} size="xs" leftSection={<Icon name="file" size={14} />} onClick={open}>
            {t('New export')}
          </Act>
        </>
      }
    >
      <Card
        flush
        title={search.after === undefined ? t('Newest') : t('Older exports')}
        right={
          search.after !== undefined && (
            <button type="button" className="chip" onClick={() => set({ after: undefined })}>
              <Icon name="up" size={13} />
              {t('The newest')}
            </button>
          )
        }
      >
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0}
          empty={
            <Empty
              icon="file"
              title={t('No export yet')}
              why={t('An export writes events, purchases or customers of a time, or how things stand, into one file.')}
              action={
                <Act denied={denied} size="xs" onClick={open}>
                  {t('Make the first one')}
                </Act>
              }
              curl={`curl "${location.origin}/v4/exports/history" -H "Authorization: Bearer $KEY"`}
            />
          }
        >
          {({ data, has_more, next_cursor }) => (
            <>
              <Table
                caption={t('Exports')}
                columns={columnsIn(zone)}
                rows={data}
                rowKey={({ id }) => id}
                onOpen={({ id }) => set({ at: id }, { push: true })}
              />
              {has_more && (
                <div className="exports-foot">
                  <button type="button" className="chip" onClick={() => set({ after: next_cursor }, { push: true })}>
                    {t('Older')}
                    <Icon name="next" size={12} />
                  </button>
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
      <Suspense fallback={null}>
        {search.at === 'new' && denied === undefined && <NewExport key={search.like} like={search.like} onClose={close} />}
        {search.at !== undefined && search.at !== 'new' && <ExportDrawer key={search.at} id={search.at} onClose={close} />}
      </Suspense>
    </Page>
  )
}

const columnsIn = (zone: string): readonly Column<Export>[] => [
  {
    key: 'what',
    head: t('What'),
    cell: one => (
      <span className="export-what">
        {typeText(one)}
        <span className="soft">{fileText(one)}</span>
      </span>
    ),
  },
  { key: 'window', head: t('Of'), cell: one => <span className="export-window">{windowText(one, zone)}</span>, wideOnly: true },
  { key: 'state', head: t('State'), cell: one => <Progress of={one} /> },
  {
    key: 'rows',
    head: t('Rows'),
    cell: ({ manifest }) => (manifest ? <Count value={manifest.rows} /> : <span className="faint">–</span>),
    figures: true,
  },
  {
    key: 'for',
    head: t('For'),
    cell: ({ report_id, report_run_id }) =>
      report_id === null ? (
        <span className="faint">–</span>
      ) : (
        <To to={`/reports/${report_id}`} search={{ at: report_run_id ?? undefined }} className="link">
          {t('a report')}
        </To>
      ),
    wideOnly: true,
  },
  { key: 'made', head: t('Made'), cell: ({ created_at }) => <Time at={created_at} />, wideOnly: true },
  {
    key: 'file',
    head: <span className="unseen">{t('File')}</span>,
    cell: one =>
      one.file_url === null ? null : (
        <a href={one.file_url} download className="chip small" aria-label={t('Download {what}', { what: `${typeText(one)}, ${one.id}` })}>
          <Icon name="download" size={13} />
          {t('Download')}
        </a>
      ),
    figures: true,
    wideOnly: true,
  },
]
