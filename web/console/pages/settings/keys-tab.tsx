import { useState } from 'react'
import type { ApiKey } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { actorOf } from '../../parts/audit-words.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'

const isOver = ({ expires_at }: ApiKey) => expires_at !== null && Date.parse(expires_at) <= Date.now()

const COLUMNS: readonly Column<ApiKey>[] = [
  { key: 'name', head: t('Name'), cell: key => <span className="key-name">{key.name}</span> },
  { key: 'end', head: t('Ends with'), cell: key => <code>…{key.last_four}</code> },
  {
    key: 'scopes',
    head: t('Opens'),
    cell: key => <span className="nowrap">{counted(key.scopes.length, '{n} scope', '{n} scopes')}</span>,
    wideOnly: true,
  },
  {
    key: 'until',
    head: t('Until'),
    cell: key =>
      isOver(key) ? (
        <StatusChip status="expired" />
      ) : key.expires_at ? (
        <Time at={key.expires_at} real />
      ) : (
        <span className="soft">{t('it is revoked')}</span>
      ),
    wideOnly: true,
  },
  {
    key: 'used',
    head: t('Last used'),
    cell: key => (key.last_used_at ? <Time at={key.last_used_at} relative real /> : <span className="soft">{t('never')}</span>),
  },
]

/** Keys for programs: each opens one environment, with the scopes that it was given. */
export default function KeysTab() {
  const [search, set] = useAddress()
  const place = usePlace()
  const denied = useDenied('admin', place?.project)
  const [making, setMaking] = useState(false)
  const read = useRead('v4ListApiKeys', { query: { limit: 100, starting_after: search.after } })
  const at = read.data?.data.find(({ id }) => id === search.at)
  const make = (
    <Act denied={denied} size="xs" leftSection={<Icon name="key" size={14} />} onClick={() => setMaking(true)}>
      {t('New key')}
    </Act>
  )
  const environment = place?.environment === 'sandbox' ? t('the sandbox') : t('production')
  return (
    <>
      <Card flush title={t('Named keys of {environment}', { environment })} right={make}>
        <DataState
          of={read}
          shape="table"
          rows={4}
          isEmpty={({ data }) => data.length === 0}
          empty={
            <Empty
              icon="key"
              title={t('No named key yet')}
              why={t('Give each program a key of its own, with the scopes that it needs: it can be revoked without the others.')}
              curl={`curl "${location.origin}/v4/api-keys" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"name": "Warehouse export", "scopes": ["exports:read", "exports:write"]}'`}
            />
          }
        >
          {({ data, has_more, next_cursor }) => (
            <>
              <Table
                caption={t('Named keys')}
                columns={COLUMNS}
                rows={data}
                rowKey={({ id }) => id}
                onOpen={({ id }) => set({ at: id }, { push: true })}
              />
              {has_more && (
                <div className="table-foot">
                  <button type="button" className="chip" onClick={() => set({ after: next_cursor }, { push: true })}>
                    {t('Older')}
                    <Icon name="next" size={12} />
                  </button>
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
      {at && <KeyDrawer key={at.id} of={at} denied={denied} onClose={() => set({ at: undefined })} />}
      {making && <NewKey onClose={() => setMaking(false)} />}
    </>
  )
}

function KeyDrawer({ of: key, denied, onClose }: { of: ApiKey; denied: string | undefined; onClose: () => void }) {
  const [revoking, setRevoking] = useState(false)
  return (
    <Drawer title={key.name} onClose={onClose}>
      <Pairs
        rows={[
          [t('Id'), <Copy key="id" text={key.id} />],
          [t('Ends with'), <code key="end">…{key.last_four}</code>],
          [t('Works until'), key.expires_at ? <Time key="until" at={key.expires_at} real /> : t('it is revoked')],
          [t('Works from'), key.allowed_addresses.length > 0 ? key.allowed_addresses.join(', ') : t('everywhere')],
          [t('Made'), <Time key="made" at={key.created_at} />],
          [t('Made by'), actorOf(key.created_by)],
          [t('Last used'), key.last_used_at ? <Time key="used" at={key.last_used_at} real /> : t('never')],
          [t('Last used from'), key.last_used_address ?? undefined],
        ]}
      />
      <h3 className="settings-title">{t('Opens')}</h3>
      <div className="scopes-shown">
        {key.scopes.map(scope => (
          <code key={scope}>{scope}</code>
        ))}
      </div>
      <div className="key-actions">
        <Act denied={denied} size="xs" className={denied ? undefined : 'button-danger'} onClick={() => setRevoking(true)}>
          {t('Revoke')}
        </Act>
      </div>
      {revoking && (
        <RevokeKey
          of={key}
          onClose={done => {
            setRevoking(false)
            if (done) onClose()
          }}
        />
      )}
    </Drawer>
  )
}
