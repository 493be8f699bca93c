import { useState } from 'react'
import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Again } from '../../parts/again.tsx'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { ForGood, ForGoodForm } from '../../parts/growth/for-good.tsx'
import { contextText, percentText } from '../../parts/growth/words.ts'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'

type Props = { of: Experiment; onClose: () => void }
const CHANGES = { changes: ['v4GetExperiment', 'v4ListExperiments', 'v4GetExperimentsSummary', 'v4ListExperimentUsers'] } as const

/** The steps of an experiment that do not lead back. */
export default function Steps({ step, ...props }: Props & { step: 'start' | 'end' | 'delete' }) {
  return step === 'start' ? <Start {...props} /> : step === 'end' ? <End {...props} /> : <Delete {...props} />
}

function Start({ of: experiment, onClose }: Props) {
  const input = { path: { experiment_id: experiment.id }, body: { status: 'active' as const } }
  const plan = useDryRun('v4ChangeExperimentStatus', input)
  const { send, isPending } = useWrite('v4ChangeExperimentStatus', CHANGES)
  const [failed, setFailed] = useState<unknown>()
  const start = useOne(async () => {
    setFailed(undefined)
    await send(input)
    say(t('The experiment has started'))
    onClose()
  })
  return (
    <Drawer title={t('Start this experiment')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (plan.data !== undefined) void start().catch(setFailed)
        }}
      >
        <ul className="growth-steps">
          <li>
            {t('From now on it takes in people whose app asks {key}, {percent} of these:', {
              key: experiment.context_key === '' ? contextText('') : t('with the key {key}', { key: experiment.context_key }),
              percent: percentText(experiment.segment_percent ?? 100),
            })}{' '}
            <ConditionsInWords conditions={experiment.segmentation_conditions ?? []} />.
          </li>
          <li>{t('Each of them is put into a group by the weights, and stays in it.')}</li>
          <li>
            {t(
              'It cannot become a draft again: groups, what they serve, conditions and key are fixed. Share, names and weights can change.',
            )}
          </li>
          <li>{t('It can be paused and go on; ending it is for good.')}</li>
        </ul>
        <DataState of={plan} rows={1}>
          {() => null}
        </DataState>
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          <ShowTheCall name="v4ChangeExperimentStatus" input={input} />
          <Send size="xs" loading={isPending} disabled={plan.data === undefined}>
            {t('Start it')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}

function End({ of: experiment, onClose }: Props) {
  const { send, error } = useWrite('v4ChangeExperimentStatus', CHANGES)
  const input = { path: { experiment_id: experiment.id }, body: { status: 'finished' as const } }
  const end = async () => {
    await send(input)
    say(t('The experiment has ended'))
    onClose()
  }
  return (
    <Drawer title={t('End this experiment')} onClose={onClose}>
      <Again error={error}>
        <Ending id={experiment.id} input={input} onDo={end} />
      </Again>
    </Drawer>
  )
}

type EndInput = { path: { experiment_id: string }; body: { status: 'finished' } }

/** The plan of what is sensitive is asked for once somebody may do it. */
function Ending({ id, input, onDo }: { id: string; input: EndInput; onDo: () => Promise<unknown> }) {
  const plan = useDryRun('v4ChangeExperimentStatus', input)
  return (
    <ForGoodForm
      id={id}
      what={t('experiment')}
      says={[
        t('This cannot be undone: an ended experiment does not start again.'),
        t('Its variants are served to nobody any more: people get what everybody gets.'),
        t('Results stay as they are then: what people do later does not count.'),
        t('No group is put into effect: to serve its payload to everybody, activate its configuration.'),
      ]}
      plan={plan}
      act={t('End it for good')}
      call={<ShowTheCall name="v4ChangeExperimentStatus" input={input} />}
      onDo={onDo}
    />
  )
}

function Delete({ of: experiment, onClose }: Props) {
  const go = useGo()
  const input = { path: { experiment_id: experiment.id } }
  const plan = useDryRun('v4DeleteExperiment', input)
  const { send } = useWrite('v4DeleteExperiment', {
    changes: ['v4ListExperiments', 'v4GetRemoteConfiguration', 'v4ListRemoteConfigurations'],
  })
  return (
    <ForGood
      title={t('Delete this experiment')}
      id={experiment.id}
      what={t('experiment')}
      says={[
        t('This cannot be undone. Groups, who was in them, and the copies of offerings go with it.'),
        t('Its results can no longer be seen.'),
      ]}
      plan={plan}
      act={t('Delete for good')}
      call={<ShowTheCall name="v4DeleteExperiment" input={input} />}
      onDo={async () => {
        await send(input)
        say(t('The experiment is deleted'))
        go({ to: '/experiments' })
      }}
      onClose={onClose}
    />
  )
}
