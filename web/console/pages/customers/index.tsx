import './customers.css'
import { useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { ExportMenu } from '../../parts/export-menu.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Table } from '../../parts/table.tsx'
import { COLUMNS, customersFile } from './columns.tsx'
import { Filters } from './filters.tsx'
import { Metrics } from './metrics.tsx'
import { Nobody } from './nobody.tsx'
import { Pager } from './pager.tsx'
import { listQuery, SORTED_BY } from './query.ts'

/** Everybody: found by what names them, sorted, page by page. */
export default function Customers() {
  const [search, set] = useAddress()
  const input: Input<'v4ListCustomers'> = { query: listQuery(search) }
  const read = useRead('v4ListCustomers', input, { topics: ['facts'] })
  const rows = read.data?.data ?? []
  return (
    <Page
      wide
      title={t('Customers')}
      about={<Metrics />}
      actions={
        <>
          <ShowTheCall name="v4ListCustomers" input={input} />
          <ExportMenu downloads={[{ says: t('This page as CSV'), file: 'customers.csv', make: () => customersFile(rows) }]} />
        </>
      }
    >
      <Filters />
      <Card flush>
        <DataState of={read} shape="table" rows={14} isEmpty={({ data }) => data.length === 0} empty={<Nobody />}>
          {({ data }) => (
            <Table
              caption={t('Customers')}
              columns={COLUMNS}
              rows={data}
              rowKey={({ id }) => id}
              target={({ id }) => ({ to: `/customers/${encodeURIComponent(id)}` })}
              sort={search.sort ?? SORTED_BY}
              onSort={sort => set({ sort: sort === SORTED_BY ? undefined : sort, cursor: undefined })}
            />
          )}
        </DataState>
      </Card>
      <Pager next={read.data?.has_more ? (read.data.next_cursor ?? undefined) : undefined} waits={read.isPlaceholderData} />
    </Page>
  )
}
