import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { count, span } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { MEANINGS, type Meaning } from './meanings.ts'
import type { Status } from './read.ts'

type Row = { name: string; value: number } & Meaning

/** A figure of a release that this page does not know yet is shown by its name. */
const rowsOf = (figures: Record<string, unknown>): Row[] =>
  Object.entries(figures).flatMap(([name, value]) =>
    typeof value === 'number' ? [{ name, value, ...(MEANINGS[name] ?? { says: plain(name) }) }] : [],
  )

const isBad = ({ value, from = 1 }: Row) => value >= from

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'says',
    head: t('Figure'),
    cell: row => (
      <>
        <span className="figure-says">{t(row.says)}</span>
        {isBad(row) && row.todo && <p className="figure-todo">{t(row.todo)}</p>}
        {isBad(row) && row.command && <Copy text={row.command} />}
      </>
    ),
  },
  {
    key: 'state',
    head: t('State'),
    cell: row =>
      isBad(row) ? <StatusChip status="look" tone="warn" label={t('needs attention')} /> : <StatusChip status="kept" label={t('good')} />,
  },
  {
    key: 'value',
    head: t('Now'),
    cell: ({ value, unit }) => (unit === 'seconds' ? (value > 0 ? span(value * 1_000) : '–') : count(value)),
    figures: true,
  },
  { key: 'name', head: t('In /readyz'), cell: ({ name }) => <code>{name}</code>, wideOnly: true },
]

/** The figures that decide whether readiness is degraded, what is not zero first. */
export function Figures({ figures }: { figures: Status['figures'] }) {
  if (figures === null)
    return (
      <Card title={t('Health')}>
        <Empty
          icon="clock"
          title={t('No figures at the moment')}
          why={t('The first look after a start takes some seconds; a slow database takes longer.')}
        />
      </Card>
    )
  const rows = rowsOf(figures)
  const sorted = [...rows.filter(isBad), ...rows.filter(row => !isBad(row))]
  return (
    <Card
      flush
      title={t('Health')}
      right={
        <a className="link" href="/docs/operating" target="_blank" rel="noopener">
          {t('What each figure means')}
        </a>
      }
    >
      <Table caption={t('Health')} columns={COLUMNS} rows={sorted} rowKey={({ name }) => name} />
    </Card>
  )
}
