import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { nowHere } from '../../data/clock.ts'
import { useDryRun } from '../../data/dry-run.ts'
import type { Input } from '../../data/operations.ts'
import { usePreferences } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { localOf, secondAt } from '../../parts/local-time.ts'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

type Body = Input<'v4ReplayIntegrationDeliveries'>['body']
type Status = NonNullable<Body['status']>[number]

const STATUSES: readonly (readonly [Status, string, string])[] = [
  ['failed', 'What failed', 'under the same webhook-id, with seven new attempts'],
  ['missing', 'What never had a delivery', 'of the last 30 days, such as events that the settings did not select then'],
  ['delivered', 'What was delivered', 'the receiver gets it once more; it knows it by its webhook-id'],
]
const DAY = 86_400
const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')

/** Sends the deliveries of a window again, after their number is counted and seen. */
export default function Replay({ of: { id }, onClose }: { of: Integration; onClose: () => void }) {
  const { zone } = usePreferences()
  const [, set] = useAddress()
  const [now] = useState(() => Math.ceil(nowHere() / 60_000) * 60)
  const [from, setFrom] = useState(localOf(String(now - DAY), zone))
  const [to, setTo] = useState(localOf(String(now), zone))
  const [names, setNames] = useState('')
  const [statuses, setStatuses] = useState<readonly Status[]>(['failed'])
  const [asked, ask] = useState<Body>()
  const [first, last] = [secondAt(from, zone), secondAt(to, zone)]
  const events = names.split(/[\s,]+/).filter(Boolean)
  const body =
    first !== undefined && last !== undefined && statuses.length > 0
      ? { from: iso(first), to: iso(last), status: [...statuses], ...(events.length > 0 && { events }) }
      : undefined
  const isCounted = asked !== undefined && JSON.stringify(asked) === JSON.stringify(body)
  const input = { path: { integration_id: id }, body: asked ?? { from: '', to: '' } }
  const plan = useDryRun('v4ReplayIntegrationDeliveries', input, { when: isCounted })
  const matched = isCounted ? (plan.data?.changes[0]?.after?.matched as number | undefined) : undefined
  const { send, isPending, error } = useWrite('v4ReplayIntegrationDeliveries', {
    changes: ['v4ListIntegrationDeliveries', 'v4ListIntegrations'],
  })
  const replay = () =>
    void send(input).then(
      answer => {
        if (!answer) return
        say(counted(answer.matched, '{n} delivery goes out again', '{n} deliveries go out again'))
        set({ at: undefined, tab: undefined, 'f.status': undefined, range: undefined, 'f.replay': answer.replay_id, after: undefined })
      },
      () => {},
    )
  return (
    <Drawer title={t('Replay deliveries')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (matched) replay()
          else if (isCounted) void plan.refetch()
          else ask(body)
        }}
      >
        <p className="soft delivery-note">{t('Events that the service received in this time go out again, each user’s in their order.')}</p>
        <div className="replay-times">
          <TextInput
            type="datetime-local"
            size="xs"
            label={t('From, in {zone}', { zone })}
            value={from}
            onChange={({ currentTarget }) => setFrom(currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            size="xs"
            label={t('Until')}
            value={to}
            onChange={({ currentTarget }) => setTo(currentTarget.value)}
          />
        </div>
        <fieldset className="replay-what">
          <legend className="form-label">{t('What goes out again')}</legend>
          {STATUSES.map(([status, label, description]) => (
            <Checkbox
              key={status}
              mb={8}
              label={t(label)}
              description={t(description)}
              checked={statuses.includes(status)}
              onChange={() => setStatuses(all => (all.includes(status) ? all.filter(one => one !== status) : [...all, status]))}
            />
          ))}
        </fieldset>
        <TextInput
          size="xs"
          label={t('Only these events')}
          description={t('Names with spaces or commas between them; all when empty')}
          placeholder="trial_started, subscription_renewed"
          value={names}
          onChange={({ currentTarget }) => setNames(currentTarget.value)}
        />
        {isCounted && (
          <DataState of={plan} rows={1}>
            {() => (
              <p role="status" className="replay-count">
                {matched === 0
                  ? t('Nothing would go out: no delivery of this time fits.')
                  : counted(matched ?? 0, '{n} delivery would go out again.', '{n} deliveries would go out again.')}
              </p>
            )}
          </DataState>
        )}
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4ReplayIntegrationDeliveries" input={{ path: { integration_id: id }, body: body ?? input.body }} />
          {matched ? (
            <Send size="xs" loading={isPending}>
              {counted(matched, 'Send {n} again', 'Send {n} again')}
            </Send>
          ) : (
            <Send size="xs" disabled={body === undefined} loading={isCounted && plan.isFetching}>
              {t('Count them')}
            </Send>
          )}
        </div>
      </form>
    </Drawer>
  )
}
