import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { count, span } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import type { Status } from './read.ts'

type Consumer = Status['consumers'][number]

const COLUMNS: readonly Column<Consumer>[] = [
  { key: 'consumer', head: t('Reader'), cell: ({ consumer }) => plain(consumer) },
  { key: 'events', head: t('Not read yet'), cell: ({ events }) => count(events), figures: true },
  { key: 'seconds', head: t('Behind'), cell: ({ seconds }) => (seconds > 0 ? span(seconds * 1_000) : '–'), figures: true },
  { key: 'aside', head: t('Set aside'), cell: ({ set_aside }) => count(set_aside), figures: true },
]

/** How far automations and integrations have read the log. */
export const Consumers = ({ consumers }: { consumers: readonly Consumer[] }) => (
  <Card title={t('Readers of the log')} flush>
    {consumers.length === 0 ? (
      <p className="status-none">
        <StatusChip status="kept" label={t('none behind')} /> {t('Nothing waits to be read, and nothing was set aside.')}
      </p>
    ) : (
      <Table caption={t('Readers of the log')} columns={COLUMNS} rows={consumers} rowKey={({ consumer }) => consumer} />
    )}
    {consumers.some(({ set_aside }) => set_aside > 0) && (
      <p className="status-none">
        {t('What was set aside, with the reason; and, when that is gone, handled again:')}
        <Copy text="npm run cli -- set-aside list" />
        <Copy text="npm run cli -- set-aside replay --all" />
      </p>
    )}
  </Card>
)
