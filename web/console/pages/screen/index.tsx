import '../overview/tiles.css'
import './screen.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Card } from '../../parts/card.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { UsedBy } from '../../parts/used-by.tsx'
import { About, Actions } from './head.tsx'
import { Holds } from './holds.tsx'
import { Standing } from './standing.tsx'

const Figures = lazy(() => import('./figures.tsx'))
const Publish = lazy(() => import('./publish.tsx'))
const Rename = lazy(() => import('./rename.tsx'))
const DeleteScreen = lazy(() => import('./delete-screen.tsx'))

/** One screen: whether apps show it, what was sold on it, and what it holds. */
export default function OneScreen() {
  const { id } = useParams({ strict: false }) as { id: string }
  const read = useRead('v4GetScreen', { path: { screen_id: id } }, { every: 60_000 })
  if (read.data)
    return <Shown key={id} screen={read.data as Screen} failed={read.isError ? <Fault error={read.error} retry={read.refetch} /> : null} />
  const isGone = read.error?.status === 404
  return (
    <Page wide title={t('Screen')}>
      {isGone ? (
        <NotHere icon="screen" title={t('No such screen')} to="/screens" all={t('All screens')} />
      ) : (
        <Card>{read.isError ? <Fault error={read.error} retry={read.refetch} /> : <Bars rows={9} />}</Card>
      )}
    </Page>
  )
}

function Shown({ screen, failed }: { screen: Screen; failed: React.ReactNode }) {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const close = () => set({ at: undefined })
  return (
    <Page wide title={screen.name} about={<About screen={screen} />} actions={<Actions screen={screen} denied={denied} />}>
      {failed}
      <Standing screen={screen} />
      <Suspense fallback={<Bars shape="chart" />}>
        <Figures id={screen.id} />
      </Suspense>
      <div className="grid two start">
        <Holds screen={screen} />
        <Card title={t('Used by')}>
          <UsedBy of={screen} none={t('Nothing names this screen.')} />
        </Card>
      </div>
      <Suspense fallback={null}>
        {search.at === 'publish' && <Publish screen={screen} denied={denied} onClose={close} />}
        {search.at === 'edit' && <Rename screen={screen} denied={denied} onClose={close} />}
        {search.at === 'delete' && <DeleteScreen screen={screen} denied={denied} onClose={close} />}
      </Suspense>
    </Page>
  )
}
