import { useState } from 'react'
import type { RemoteConfigurationDetail } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { ForGood } from '../../parts/growth/for-good.tsx'
import { contextText, percentText } from '../../parts/growth/words.ts'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { HeldBy } from '../../parts/used-by.tsx'

type Props = { of: RemoteConfigurationDetail; onClose: () => void }
const CHANGES = {
  changes: ['v4ListRemoteConfigurations', 'v4GetRemoteConfiguration', 'v4ListRemoteConfigurationUsers', 'v4ListExperimentGroups'],
} as const

/** The steps of a configuration that do not lead back. */
export default function Steps({ step, ...props }: Props & { step: 'activate' | 'archive' | 'delete' }) {
  return step === 'activate' ? <Activate {...props} /> : step === 'archive' ? <Archive {...props} /> : <Delete {...props} />
}

function Activate({ of: configuration, onClose }: Props) {
  const input = { path: { config_id: configuration.id }, body: { status: 'active' as const } }
  const plan = useDryRun('v4ChangeRemoteConfigurationStatus', input)
  const { send, isPending } = useWrite('v4ChangeRemoteConfigurationStatus', CHANGES)
  const [failed, setFailed] = useState<unknown>()
  const activate = useOne(async () => {
    setFailed(undefined)
    await send(input)
    say(t('It is active'))
    onClose()
  })
  const { context_key, segment_percent, segmentation_conditions, payload } = configuration
  return (
    <Drawer title={t('Activate this configuration')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (plan.data !== undefined) void activate().catch(setFailed)
        }}
      >
        <ul className="growth-steps">
          <li>
            {t('Apps that ask {key} are served its payload from their next request on.', {
              key: context_key === null ? contextText(null) : t('with the key {key}', { key: context_key }),
            })}
          </li>
          <li>
            {t('To {percent} of these people:', { percent: percentText(segment_percent) })}{' '}
            <ConditionsInWords conditions={segmentation_conditions} />.
          </li>
          <li>{t('It comes before the other active configurations of this key: the one activated last counts.')}</li>
          <li>{t('People in an experiment whose group has a payload, and pinned people, keep what they have.')}</li>
          <li>{t('It cannot become a draft again. It can be edited, and archived.')}</li>
        </ul>
        {Object.keys(payload).length === 0 && <p className="notice warn">{t('Its payload is empty: apps would be served nothing.')}</p>}
        <DataState of={plan} rows={1}>
          {() => null}
        </DataState>
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          <ShowTheCall name="v4ChangeRemoteConfigurationStatus" input={input} />
          <Send size="xs" loading={isPending} disabled={plan.data === undefined}>
            {t('Activate it')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}

function Archive({ of: configuration, onClose }: Props) {
  const input = { path: { config_id: configuration.id }, body: { status: 'archived' as const } }
  const plan = useDryRun('v4ChangeRemoteConfigurationStatus', input)
  const { send } = useWrite('v4ChangeRemoteConfigurationStatus', CHANGES)
  return (
    <ForGood
      title={t('Archive this configuration')}
      id={configuration.id}
      what={t('configuration')}
      says={[
        t('This cannot be undone: an archived configuration can be read and deleted, nothing else.'),
        t('Nobody is served by it any more, pinned people included: the next active configuration that fits takes its place, or none.'),
        t('While the group of an active or paused experiment serves it, the service refuses.'),
      ]}
      plan={plan}
      inTheWay={<HeldBy of={configuration} />}
      act={t('Archive for good')}
      call={<ShowTheCall name="v4ChangeRemoteConfigurationStatus" input={input} />}
      onDo={async () => {
        await send(input)
        say(t('It is archived'))
        onClose()
      }}
      onClose={onClose}
    />
  )
}

function Delete({ of: configuration, onClose }: Props) {
  const go = useGo()
  const input = { path: { config_id: configuration.id } }
  const plan = useDryRun('v4DeleteRemoteConfiguration', input)
  const { send } = useWrite('v4DeleteRemoteConfiguration', { changes: ['v4ListRemoteConfigurations', 'v4ListExperimentGroups'] })
  return (
    <ForGood
      title={t('Delete this configuration')}
      id={configuration.id}
      what={t('configuration')}
      says={[
        t('This cannot be undone. Payload, types and pins go with it; groups of drafts that named it name none.'),
        t('Nobody is served by it any more.'),
        t('While the group of an active or paused experiment serves it, the service refuses.'),
      ]}
      plan={plan}
      inTheWay={<HeldBy of={configuration} />}
      act={t('Delete for good')}
      call={<ShowTheCall name="v4DeleteRemoteConfiguration" input={input} />}
      onDo={async () => {
        await send(input)
        say(t('The configuration is deleted'))
        go({ to: '/configurations' })
      }}
      onClose={onClose}
    />
  )
}
