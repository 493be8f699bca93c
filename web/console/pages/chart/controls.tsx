import { memo } from 'react'
import { type Search, useAddress, useAhead } from '../../data/address.ts'
import { CHARTS, titleOfChart } from '../../data/charts.ts'
import type { Unit } from '../../data/range.ts'
import { Chip } from '../../parts/chip.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Pick } from '../../parts/pick.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { zones } from '../../parts/zones.ts'
import { type Question, unitsOf } from './question.ts'

const UNITS: Record<Unit, string> = { hour: 'Hour', day: 'Day', week: 'Week', month: 'Month' }
const ALL = CHARTS.flatMap(({ group, charts }) => charts.map(({ code, title }) => ({ code, label: title, group })))

const inUnit = (unit: Unit): Search => ({ unit, at: undefined })
const splitBy = (attribute: string): Search => ({ split: attribute || undefined, hide: undefined, at: undefined, line: undefined })
const inZone = (zone: string): Search => ({ tz: zone, at: undefined })

/** What is asked: chart, range, unit, split, filters, previous period, currency, zone. */
export const Controls = memo(function Controls({ question, money, compares }: { question: Question; money: boolean; compares: boolean }) {
  const { code, search, range, unit, split, zone, comparing, meta } = question
  const [, set] = useAddress()
  const ahead = useAhead()
  const go = useGo()
  const splits = meta?.segmentations ?? []
  return (
    <div className="filters">
      <Pick
        name={t('Chart')}
        text={titleOfChart(code)}
        icon="chart"
        wide
        options={ALL}
        chosen={[code]}
        onPick={other =>
          go({ to: `/charts/${other}`, search: { ...search, at: undefined, line: undefined, hide: undefined, type: undefined } })
        }
      />
      <RangePick range={range} zone={zone} />
      <Choice
        name={t('Unit')}
        value={unit}
        options={unitsOf(range).map(one => [one, UNITS[one]] as const)}
        onChange={one => set(inUnit(one))}
        ahead={one => ahead(inUnit(one))}
      />
      {(splits.length > 0 || meta === undefined) && (
        <Pick
          name={t('Split by')}
          text={
            split
              ? t('By {attribute}', { attribute: (splits.find(one => one.code === split)?.label ?? plain(split)).toLowerCase() })
              : t('Split by')
          }
          icon="branch"
          on={split !== undefined}
          options={[...(split ? [{ code: '', label: t('No split') }] : []), ...splits]}
          chosen={split ? [split] : []}
          onPick={one => set(splitBy(one))}
          ahead={one => ahead(splitBy(one))}
        />
      )}
      <Filters conditions={meta?.filter_conditions} />
      {compares && (
        <Chip icon="swap" on={comparing} onClick={() => set({ compare: comparing ? 'no' : undefined })}>
          {t('Previous period')}
        </Chip>
      )}
      {money && <CurrencyPick />}
      <Pick
        name={t('Time zone')}
        text={zone}
        options={zones()}
        chosen={[zone]}
        onPick={one => set(inZone(one))}
        ahead={one => ahead(inZone(one))}
      />
    </div>
  )
})
