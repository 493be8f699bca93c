import type { Environment } from '../../../kernel/environment.ts'
import type { Bucket } from '../buckets.ts'
import { type Frame, frameOf } from '../charts/frame.ts'
import { PER_UNIT } from '../charts/money.ts'
import type { LeftOutMoney } from '../charts/unconverted.ts'
import type { FactAccess } from '../open-source.ts'
import type { FigureQuestion } from '../question.ts'
import { addedKpi, type ScreenKpi, shareKpi } from './kpi.ts'
import { type SalesOfScreens, salesOfScreens } from './sales.ts'
import { type SeenScreens, seenScreens } from './seen.ts'

/** `buckets`: those of the sparklines. `asOf`: what was recorded before this second counts. */
export type ScreenFigures<Code extends string> = {
  kpis: Record<Code, ScreenKpi>
  buckets: Bucket[]
  unconverted: LeftOutMoney[]
  behind: number
  asOf: number
}

type OverviewCode = 'views' | 'impressions' | 'trials' | 'purchases' | 'revenue' | 'conversion'

type OverviewKpis = Record<OverviewCode, ScreenKpi>

/**
 * All screens together, those included that are deleted, and each of `screens` by itself. Throws `upstream_timeout` after 30 s in the facts or in the
 * log.
 */
export async function screensOverview(
  access: FactAccess,
  environment: Environment,
  question: FigureQuestion,
  screens: readonly string[] = [],
): Promise<ScreenFigures<OverviewCode> & { screens: { uid: string; kpis: OverviewKpis }[] }> {
  const frame = frameOf(question)
  const { sales, of: sold, unconverted, behind, asOf } = await salesOfScreens(access, environment, question, frame, { each: screens })
  const seen = await seenScreens(access.scanning, environment, frame.grid, question.now, screens)
  return {
    kpis: overviewKpis(frame, sales, seen.all),
    screens: screens.map(uid => ({ uid, kpis: overviewKpis(frame, sold.get(uid)!, seen.of.get(uid)!) })),
    buckets: frame.buckets,
    unconverted,
    behind,
    asOf,
  }
}

const overviewKpis = (frame: Frame, sales: SalesOfScreens, seen: SeenScreens): OverviewKpis => ({
  views: addedKpi(frame, seen.views),
  impressions: addedKpi(frame, seen.impressions),
  trials: addedKpi(frame, sales.trials),
  purchases: addedKpi(frame, sales.purchases),
  revenue: addedKpi(frame, sales.revenue, PER_UNIT),
  conversion: shareKpi(frame, sales.purchases, seen.views),
})

type OneScreenCode = 'purchases' | 'trials' | 'revenue' | 'refunds' | 'conversion_rate' | 'cancel_rate'

/** One screen, whether or not it still exists. Throws `upstream_timeout` after 30 s. */
export async function figuresOfScreen(
  access: FactAccess,
  environment: Environment,
  question: FigureQuestion,
  screen: string,
): Promise<ScreenFigures<OneScreenCode>> {
  const frame = frameOf(question)
  const { sales, unconverted, behind, asOf } = await salesOfScreens(access, environment, question, frame, { screen })
  return {
    kpis: {
      purchases: addedKpi(frame, sales.purchases),
      trials: addedKpi(frame, sales.trials),
      revenue: addedKpi(frame, sales.revenue, PER_UNIT),
      refunds: addedKpi(frame, sales.refunds, PER_UNIT),
      conversion_rate: shareKpi(frame, sales.purchases, sales.trials),
      cancel_rate: shareKpi(frame, sales.cancelled, sales.trialsAndStarts),
    },
    buckets: frame.buckets,
    unconverted,
    behind,
    asOf,
  }
}
