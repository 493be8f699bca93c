import './automations.css'
import { Button } from '@mantine/core'
import { useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { usePages } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Table } from '../../parts/table.tsx'
import { useGo } from '../../parts/to.tsx'
import { useEventNames } from '../automation/use-names.ts'
import { columns } from './columns.tsx'
import { Filters } from './filters.tsx'
import { listQuery } from './query.ts'

/** All automations: what starts each, and what it did in the last day. */
export default function Automations() {
  const [search, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const nameOf = useEventNames()
  const input: Input<'v4ListAutomations'> = { query: listQuery(search) }
  const read = usePages('v4ListAutomations', input, { every: 10_000 })
  const create = () => go({ to: '/automations/new' })
  useKeys(denied === undefined ? { n: { says: t('New automation'), run: create } } : {})
  const filtered = search['f.status'] !== undefined || search['f.event'] !== undefined
  const make = (
    <Act size="xs" denied={denied} leftSection={<Icon name="flow" size={14} />} onClick={create}>
      {t('New automation')}
    </Act>
  )
  return (
    <Page
      wide
      title={t('Automations')}
      about={t('What is done for a customer when something happens: at once, later, or depending on what happens meanwhile')}
      actions={
        <>
          <ShowTheCall name="v4ListAutomations" input={input} />
          {make}
        </>
      }
    >
      <Filters />
      <Card flush>
        <DataState
          of={read}
          shape="table"
          rows={8}
          isEmpty={rows => rows.length === 0}
          empty={
            filtered ? (
              <Empty
                icon="flow"
                title={t('No automation is selected')}
                why={t('None has the chosen status and starts with the chosen event.')}
                action={
                  <Button size="xs" variant="default" onClick={() => set({ 'f.status': undefined, 'f.event': undefined })}>
                    {t('Show all')}
                  </Button>
                }
              />
            ) : (
              <Empty
                icon="flow"
                title={t('No automation yet')}
                why={t('One begins with an event and goes through steps: wait, branch, send, show a screen, give access.')}
                action={make}
                curl={curlOf('v4CreateAutomation', { body: EXAMPLE })}
              />
            )
          }
        >
          {rows => (
            <Table
              caption={t('Automations')}
              columns={columns(nameOf)}
              rows={rows}
              rowKey={({ id }) => id}
              target={({ id }) => ({ to: `/automations/${encodeURIComponent(id)}` })}
            />
          )}
        </DataState>
        {read.hasNextPage && (
          <div className="automations-foot">
            <button type="button" className="chip" disabled={read.isFetchingNextPage} onClick={read.more}>
              {t('More')}
            </button>
          </div>
        )}
      </Card>
    </Page>
  )
}

const EXAMPLE = {
  name: 'Thank you',
  status: 'inactive',
  data: {
    initiators: [{ uid: 'subscription_started', type: 'event' }],
    steps: [{ id: 'mark', type: 'set_property', key: 'thanked', value: 'yes' }],
  },
}
