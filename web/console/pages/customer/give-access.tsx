import { useState } from 'react'
import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { usePages, useRead } from '../../data/read.ts'
import { useNow } from '../../data/use-now.ts'
import { Chip } from '../../parts/chip.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { useGive } from './use-access.ts'

const DAY = 86_400
/** In days; null is without end. */
const TERMS: readonly (readonly [days: number | null, text: string])[] = [
  [7, '7 days'],
  [30, '30 days'],
  [null, 'For ever'],
]

/** Gives access by hand: what, and for how long. In the sandbox its clock counts. */
export function GiveAccess({ id, view, onClose }: { id: string; view: CustomerData; onClose: () => void }) {
  const defined = usePages('v4ListEntitlements', { query: { limit: 100 } })
  const held = useRead('v4ListUserEntitlements', { path: { user_id: id } })
  const { give, isPending, error } = useGive(id, view)
  const [chosen, setChosen] = useState<string>()
  const [days, setDays] = useState<number | null>(7)
  const now = useNow()
  const expiresAt = days === null || now === undefined ? 0 : Math.floor(now / 1000) + days * DAY
  const now_held = held.data?.data.find(one => one.id === chosen && one.is_active)
  const paid = now_held !== undefined && now_held.source !== 'manual'
  const body = { entitlement_id: chosen ?? '', expires_at: expiresAt }
  const send = async () => {
    if (chosen === undefined || now === undefined) return
    try {
      await give(chosen, expiresAt, now_held)
      onClose()
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Drawer title={t('Give access')} onClose={onClose}>
      <DataState
        of={defined}
        isEmpty={data => data.length === 0}
        empty={
          <Empty
            icon="gift"
            title={t('No entitlement is defined')}
            why={t('An entitlement names what people may use. Make one in the catalogue, then it can be given.')}
            action={
              <To to="/catalogue" search={{ tab: 'entitlements' }} className="link">
                {t('Entitlements of the catalogue')}
              </To>
            }
          />
        }
      >
        {data => (
          <form
            className="form"
            onSubmit={event => {
              event.preventDefault()
              void send()
            }}
          >
            <fieldset className="choice">
              <legend className="form-label">{t('What')}</legend>
              {data.map(one => (
                <Chip key={one.id} on={chosen === one.id} onClick={() => setChosen(one.id)}>
                  {one.id}
                </Chip>
              ))}
              {defined.hasNextPage && (
                <button type="button" className="chip dashed" onClick={defined.more}>
                  {t('More')}
                </button>
              )}
            </fieldset>
            <fieldset className="choice">
              <legend className="form-label">{t('How long')}</legend>
              {TERMS.map(([term, text]) => (
                <Chip key={text} on={days === term} onClick={() => setDays(term)}>
                  {t(text)}
                </Chip>
              ))}
            </fieldset>
            <p className="soft">
              {days === null ? (
                t('Without an end, until it is taken away.')
              ) : (
                <>
                  {t('Until')} <Time at={expiresAt} />.
                </>
              )}
              {now_held && !paid && <> {t('This replaces the end of what was given before.')}</>}
            </p>
            {paid && <p className="notice warn">{t('The customer has this through a purchase: nothing can be given beside it.')}</p>}
            {error && <Fault error={error} />}
            <div className="form-actions">
              {chosen && <ShowTheCall name="v4GrantUserEntitlement" input={{ path: { user_id: id }, body }} />}
              <Send size="xs" loading={isPending} disabled={chosen === undefined || paid || now === undefined}>
                {t('Give access')}
              </Send>
            </div>
          </form>
        )}
      </DataState>
    </Drawer>
  )
}
