import type { ScreenSummary, ScreensOverviewKpis } from '../../../../clients/typescript/src/index.ts'
import { OVERVIEW, shownAs } from '../../data/screens.ts'
import { Figure } from '../../parts/amount.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

export const ScreenStatus = ({ status }: Pick<ScreenSummary, 'status'>) => (
  <StatusChip status={status} tone={status === 'published' ? 'good' : 'mute'} />
)

export const typeText = (type: ScreenSummary['type']): string =>
  type === 'web_flow' ? t('Web flow') : type === null ? t('Of no type yet') : plain(type)

export function columnsOf(figures: ReadonlyMap<string, ScreensOverviewKpis>, currency: string): readonly Column<ScreenSummary>[] {
  const figure = (code: keyof ScreensOverviewKpis, wideOnly = true): Column<ScreenSummary> => ({
    key: code,
    head: t(OVERVIEW[code].short ?? OVERVIEW[code].name),
    figures: true,
    wideOnly,
    cell: ({ id }) => {
      const kpi = figures.get(id)?.[code]
      if (kpi === undefined) return <span className="faint">–</span>
      const { measure } = OVERVIEW[code]
      return <Figure value={shownAs(kpi.value, measure)} measure={measure} currency={currency} short />
    },
  })
  return [
    {
      key: 'name',
      head: t('Screen'),
      cell: ({ name, type }) => (
        <span className="screens-name">
          <bdi className="screens-title" title={name}>
            {name}
          </bdi>
          <span className="screens-type">{typeText(type)}</span>
        </span>
      ),
    },
    { key: 'status', head: t('Status'), cell: ({ status }) => <ScreenStatus status={status} /> },
    {
      key: 'context',
      head: t('Context'),
      wideOnly: true,
      cell: ({ context_key }) =>
        context_key ? (
          <bdi className="screens-context" title={context_key}>
            <code>{context_key}</code>
          </bdi>
        ) : (
          <span className="faint">{t('none')}</span>
        ),
    },
    figure('impressions'),
    figure('views', false),
    figure('purchases'),
    figure('conversion', false),
    figure('revenue'),
    { key: 'changed', head: t('Changed'), wideOnly: true, cell: ({ updated_at }) => <Time at={updated_at} relative /> },
  ]
}
