import './events.css'
import { Button } from '@mantine/core'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { Event, EventList } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useSpanNow } from '../../data/spans.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Catalogue } from './catalogue.tsx'
import { EventDrawer } from './event-drawer.tsx'
import { Filters } from './filters.tsx'
import { Log } from './log.tsx'
import { Nothing } from './nothing.tsx'
import { queryOf } from './query.ts'
import { useTail } from './tail.ts'
import { TailBar } from './tail-bar.tsx'

const PostEvent = lazy(() => import('./post-event.tsx'))

/** The log as it grows, what happened how often, and one event in full. */
export default function Events() {
  const [search, set] = useAddress()
  const place = usePlace()
  const denied = useDenied('editor', place?.project)
  const [posting, setPosting] = useState(false)
  const now = useSpanNow(search.range)
  const query = queryOf(search, now)
  const [follows, paused] = [search.after === undefined, search.tail === 'off']
  const { read, page, newer, rate } = useTail(query, { follows, paused: follows && paused })
  const older = page && cursorOf(page)
  const pause = () => set({ tail: paused ? undefined : 'off' })
  const goOlder = () => older !== undefined && set({ after: older }, { push: true })
  const open = useCallback((event: Event) => set({ at: event.id }, { push: true }), [set])
  useKeys({
    p: { says: paused ? t('Follow the log') : t('Pause the log'), run: pause },
    '[': { says: t('Older events'), run: goOlder },
    ']': { says: t('The newest events'), run: () => set({ after: undefined }) },
  })
  return (
    <Page
      wide
      title={t('Events')}
      about={t('The log as it grows, newest first')}
      actions={
        <>
          <ShowTheCall name="v4ListEvents" input={{ query }} />
          <ExportMenu downloads={[{ says: t('These events as CSV'), file: 'events.csv', make: () => asCsv(page) }]} />
          <Act denied={denied} size="xs" leftSection={<Icon name="bolt" size={14} />} onClick={() => setPosting(true)}>
            {t('Post a test event')}
          </Act>
        </>
      }
    >
      <Filters />
      <div className="grid two start events">
        <Card
          flush
          title={follows ? t('Newest') : t('Older events')}
          right={
            <TailBar
              follows={follows}
              paused={paused}
              newer={newer}
              rate={rate}
              onPause={pause}
              onNewest={() => set({ after: undefined })}
            />
          }
        >
          <DataState
            of={{ ...read, data: page }}
            shape="table"
            rows={14}
            isEmpty={({ data }) => data.length === 0}
            empty={<Nothing hasMore={page?.has_more === true} further={goOlder} />}
          >
            {({ data }) => <Log events={data} onOpen={open} />}
          </DataState>
          {page !== undefined && page.data.length > 0 && (
            <div className="log-foot">
              {page.has_more ? (
                <Button size="xs" variant="default" rightSection={<Icon name="next" size={12} />} onClick={goOlder}>
                  {t('Older')}
                </Button>
              ) : (
                <span className="soft">{t('These are the first ones.')}</span>
              )}
            </div>
          )}
        </Card>
        <Catalogue />
      </div>
      {search.at && <EventDrawer key={search.at} id={search.at} onClose={() => set({ at: undefined })} />}
      <Suspense fallback={null}>{posting && <PostEvent onClose={() => setPosting(false)} />}</Suspense>
    </Page>
  )
}

/** With a filter a page names the next one; without, its last event is the cursor. */
const cursorOf = ({ data, has_more, next_cursor }: EventList): string | undefined =>
  has_more ? (next_cursor ?? data.at(-1)?.id) : undefined

const asCsv = (page: EventList | undefined) =>
  csv([
    ['id', 'event_id', 'event_name', 'customer_uid', 'happened_at', 'properties'],
    ...(page?.data ?? []).map(event => [
      event.id,
      event.event_id,
      event.event_name,
      event.customer_uid,
      event.happened_at,
      JSON.stringify(event.properties),
    ]),
  ])
