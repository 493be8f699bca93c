import type { UseQueryResult } from '@tanstack/react-query'
import type { Health as HealthAnswer, HealthFigure } from '../../../../clients/typescript/src/index.ts'
import { Card } from '../../parts/card.tsx'
import { Copy, Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { count, span } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { To } from '../../parts/to.tsx'
import { WORDS } from './figures.ts'

const COLUMNS: readonly Column<HealthFigure>[] = [
  {
    key: 'says',
    head: t('Figure'),
    cell: ({ figure, is_degraded, parts }) => {
      const words = WORDS[figure]
      return (
        <>
          <span className="health-says">{words ? t(words.says) : plain(figure)}</span>
          {is_degraded && words && (
            <p className="health-todo">
              {t(words.todo)}{' '}
              {words.to && (
                <To to={words.to.page} className="link">
                  {t(words.to.text)}
                </To>
              )}
            </p>
          )}
          {is_degraded && words?.command && <Copy text={words.command} />}
          {Object.keys(parts).length > 0 && (
            <p className="health-parts">
              {Object.entries(parts).map(([part, n], at) => (
                <span key={part}>
                  {at > 0 && ' · '}
                  <Part name={part} /> {count(n)}
                </span>
              ))}
            </p>
          )}
        </>
      )
    },
  },
  {
    key: 'state',
    head: t('State'),
    cell: ({ figure, is_degraded, count: n }) =>
      is_degraded ? (
        <StatusChip status="look" tone={figure === 'overdue' ? 'bad' : 'warn'} label={t('needs attention')} />
      ) : (
        <StatusChip status="kept" label={n > 0 ? t('in progress') : t('good')} />
      ),
  },
  { key: 'count', head: t('Now'), cell: ({ count: n }) => count(n), figures: true },
  {
    key: 'oldest',
    head: t('The first waits for'),
    cell: ({ oldest_seconds }) => (oldest_seconds === null ? '–' : span(oldest_seconds * 1_000)),
    figures: true,
    wideOnly: true,
  },
]

/** An integration and a report by their ids, which lead there. */
function Part({ name }: { name: string }) {
  const page = name.startsWith('int_') ? '/integrations' : name.startsWith('rep_') ? '/reports' : undefined
  if (page === undefined) return plain(name)
  return (
    <To to={`${page}/${name}`} className="link">
      <Id>{name}</Id>
    </To>
  )
}

/** What is late or was set aside in this environment, in words, with what to do about it. */
export const Health = ({
  of,
}: {
  of: Pick<UseQueryResult<HealthAnswer>, 'data' | 'error' | 'isError' | 'isPlaceholderData' | 'refetch'>
}) => (
  <Card
    flush
    className="health"
    title={t('Health')}
    right={
      <>
        {of.data &&
          (of.data.status === 'ok' ? (
            <StatusChip status="kept" label={t('nothing needs attention')} />
          ) : (
            <StatusChip status="look" tone="warn" label={t('something needs attention')} />
          ))}
        <a className="link" href="/docs/operating#whether-everything-happens" target="_blank" rel="noopener">
          {t('What each figure means')}
        </a>
      </>
    }
  >
    <DataState of={of} shape="table" rows={13}>
      {({ data }) => (
        <Table
          caption={t('Health')}
          columns={COLUMNS}
          rows={data.toSorted((one, other) => Number(other.is_degraded) - Number(one.is_degraded))}
          rowKey={({ figure }) => figure}
        />
      )}
    </DataState>
  </Card>
)
