import { useMediaQuery } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Card } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { count } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { NothingStarted } from './nothing-started.tsx'
import { StepList } from './step-list.tsx'
import { countsOf, PRESETS, type useCounts, type useRange, type useShown } from './use-counts.ts'
import type { NameOfEvent } from './words.ts'

const Flow = lazy(() => import('./flow.tsx'))

type Props = {
  automation: Automation
  shown: ReturnType<typeof useShown>
  ranged: ReturnType<typeof useRange>
  counted: ReturnType<typeof useCounts>['read']
  nameOf: NameOfEvent
}

/** The flow of the version that is looked at, with what became of the runs of the range. */
export function FlowCard({ automation, shown, ranged, counted, nameOf }: Props) {
  const narrow = useMediaQuery('(max-width: 860px)', undefined, { getInitialValueInEffect: false })
  const counts = countsOf(counted.data?.data, shown.version)
  const { data } = shown
  return (
    <Card
      flush
      title={shown.version === automation.version ? t('Flow') : t('Flow of version {n}', { n: shown.version })}
      right={
        <>
          {counted.data && <Versions automation={automation} shown={shown.version} of={counted.data.data} />}
          {ranged && <RangePick {...ranged} presets={PRESETS} />}
        </>
      }
    >
      {counted.error && <Fault error={counted.error} retry={counted.refetch} />}
      {counted.data?.is_complete === false && (
        <p className="notice automation-notice">
          <Icon name="info" size={16} />
          <span>
            {t('The newest 100,000 runs are counted, since')} <Time at={counted.data.counted_from} />
          </span>
        </p>
      )}
      {counted.data && <NothingStarted automation={automation} counts={counted.data.data} nameOf={nameOf} />}
      {shown.gone ? (
        <p className="automation-gone">{t('This version is not stored any more: no run goes by it.')}</p>
      ) : data === undefined ? (
        <Bars shape="chart" />
      ) : narrow ? (
        <StepList data={data} counts={counts} nameOf={nameOf} />
      ) : (
        <div className={counted.isPlaceholderData ? 'stale' : undefined}>
          <Suspense fallback={<Bars shape="chart" />}>
            <Flow key={shown.version} data={data} counts={counts} nameOf={nameOf} />
          </Suspense>
        </div>
      )}
    </Card>
  )
}

/** The versions by which runs of the range went; one of them is looked at. */
function Versions({
  automation,
  shown,
  of,
}: {
  automation: Automation
  shown: number
  of: readonly { version: number; started: number }[]
}) {
  const [, set] = useAddress()
  const known = new Map(of.map(({ version, started }) => [version, started]))
  const versions = [...new Set([automation.version, shown, ...known.keys()])].sort((a, b) => b - a).slice(0, 6)
  if (versions.length < 2) return null
  return (
    <fieldset className="automation-versions">
      <legend className="unseen">{t('Version')}</legend>
      {versions.map(version => (
        <Chip
          key={version}
          on={version === shown}
          onClick={() => set({ v: version === automation.version ? undefined : String(version), at: undefined })}
        >
          {t('Version {version}: {n}', { version, n: count(known.get(version) ?? 0) })}
        </Chip>
      ))}
    </fieldset>
  )
}
