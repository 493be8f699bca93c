import type { Integration, IntegrationDeliveryDetail } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Pairs } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Copy, Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { reasonText } from '../integrations/words.ts'
import { Attempts } from './attempts.tsx'
import { RequestOf } from './request-of.tsx'

/** One delivery: whose event, each attempt with what came back, what is sent, and sending it again. */
export default function DeliveryDrawer({ of: integration, id, onClose }: { of: Integration; id: string; onClose: () => void }) {
  const input = { path: { integration_id: integration.id, delivery_id: id } }
  const read = useRead('v4GetIntegrationDelivery', input, { topics: ['deliveries'] })
  const delivery = read.data?.id === id ? read.data : undefined
  return (
    <Drawer title={plain(delivery?.event_name ?? t('Delivery'))} onClose={onClose}>
      <DataState of={{ ...read, data: delivery }} rows={6}>
        {shown => (
          <>
            <About of={shown} />
            <div className="delivery-actions">
              <Resend of={shown} integration={integration} />
              <ShowTheCall name="v4GetIntegrationDelivery" input={input} />
              <Only of={shown} />
            </div>
            <Attempts of={shown} />
            <RequestOf of={shown} />
          </>
        )}
      </DataState>
    </Drawer>
  )
}

function About({ of: one }: { of: IntegrationDeliveryDetail }) {
  return (
    <Pairs
      rows={[
        [
          t('Status'),
          <span key="status" className="delivery-about">
            <StatusChip status={one.status} />
            {one.reason && <span>{reasonText(one.reason)}</span>}
          </span>,
        ],
        ...(one.next_attempt_at ? [[t('Next attempt'), <Time key="next" at={one.next_attempt_at} />] as const] : []),
        [
          t('Event'),
          <To key="event" to="/events" search={{ at: one.event_id }} className="link row-cell">
            <Id>{one.event_id}</Id>
          </To>,
        ],
        [
          t('Customer'),
          one.user_id === null ? undefined : (
            <To key="customer" to={`/customers/${encodeURIComponent(one.user_id)}`} className="link row-cell">
              <Id>{one.user_id}</Id>
            </To>
          ),
        ],
        ...(one.run_id
          ? [
              [
                t('Automation run'),
                <To key="run" to={`/runs/${encodeURIComponent(one.run_id)}`} className="link row-cell">
                  <Id>{one.run_id}</Id>
                </To>,
              ] as const,
            ]
          : []),
        [t('Created'), <Time key="created" at={one.created_at} />],
        [t('Delivered'), <Time key="delivered" at={one.delivered_at} />],
        [t('webhook-id'), <Copy key="id" text={one.id} />],
      ]}
    />
  )
}

/** Why it cannot be sent again now. */
function whyNot({ status, reason }: IntegrationDeliveryDetail, { active }: Integration): string | undefined {
  if (reason === 'run_cancelled') return t('Its automation run was cancelled.')
  if (status !== 'delivered' && status !== 'failed') return t('It is under way.')
  return active === 1 ? undefined : t('Only an active integration sends again: start it first.')
}

function Resend({ of: one, integration }: { of: IntegrationDeliveryDetail; integration: Integration }) {
  const denied = useDenied('editor', usePlace()?.project)
  const { send, isPending, error } = useWrite('v4ResendIntegrationDelivery', {
    changes: ['v4GetIntegrationDelivery', 'v4ListIntegrationDeliveries', 'v4ListIntegrations'],
  })
  const why = whyNot(one, integration)
  const resend = () =>
    void send({ path: { integration_id: integration.id, delivery_id: one.id } }).then(
      sent => sent && say(t('It goes out again, under the same webhook-id')),
      () => {},
    )
  return (
    <>
      <Act denied={denied ?? why} size="xs" loading={isPending} leftSection={<Icon name="retry" size={14} />} onClick={resend}>
        {t('Send again')}
      </Act>
      {error && <Fault error={error} />}
    </>
  )
}

function Only({ of: { event_name, user_id, replay_id } }: { of: IntegrationDeliveryDetail }) {
  const [search, set] = useAddress()
  const only = (change: Record<string, string>) => set({ ...change, after: undefined, at: undefined })
  return (
    <>
      {search['f.name'] !== event_name && <Chip onClick={() => only({ 'f.name': event_name })}>{t('Only of this event')}</Chip>}
      {user_id && search['f.customer'] !== user_id && (
        <Chip onClick={() => only({ 'f.customer': user_id })}>{t('Only of this person')}</Chip>
      )}
      {replay_id && search['f.replay'] !== replay_id && <Chip onClick={() => only({ 'f.replay': replay_id })}>{t('Its replay')}</Chip>}
    </>
  )
}
