import { type ReactNode, useState } from 'react'
import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { stepTitle } from './step-words.ts'

/** A new run with the same event, from its beginning or from one of its steps. */
export default function RunAgain({ run, onClose }: { run: AutomationRunDetail; onClose: () => void }) {
  const go = useGo()
  // A run that failed goes on with the step that failed.
  const failed = run.steps.slice(1).find(({ status }) => status === 'failed')?.step_id
  const [from, setFrom] = useState(failed ?? '')
  const input = { path: { run_id: run.id }, body: from === '' ? {} : { from_step: from } }
  const { send, isPending, error } = useWrite('v4ReplayAutomationRun', { changes: ['v4ListAllAutomationRuns'] })
  const again = async () => {
    try {
      const made = await send(input)
      if (made === undefined) return
      say(t('A new run with the same event has begun'))
      go({ to: `/runs/${encodeURIComponent(made.id)}` })
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Drawer title={t('Run it again')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void again()
        }}
      >
        <p>
          {t(
            'A new run begins with the same event and version {version} of the automation. It does its steps anew: messages are sent once more.',
            {
              version: run.automation_version,
            },
          )}
        </p>
        <p className="soft">{t('What decides whether a run starts, such as segments and the frequency, is not asked again.')}</p>
        <fieldset className="run-again">
          <legend className="form-label">{t('From where')}</legend>
          <From step="" chosen={from} onChoose={setFrom}>
            {t('From the beginning')}
          </From>
          {run.steps.slice(1).map(step => (
            <From key={step.step_id} step={step.step_id} chosen={from} onChoose={setFrom}>
              <bdi>{stepTitle(step)}</bdi> <code className="id">{step.step_id}</code>
            </From>
          ))}
        </fieldset>
        {from !== '' && <p className="soft">{t('The steps before it are taken over with their results and not done again.')}</p>}
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4ReplayAutomationRun" input={input} />
          <Send size="xs" loading={isPending}>
            {t('Run again')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}

type FromProps = { step: string; chosen: string; onChoose: (step: string) => void; children: ReactNode }

const From = ({ step, chosen, onChoose, children }: FromProps) => (
  <label>
    <input type="radio" name="from" value={step} checked={chosen === step} onChange={() => onChoose(step)} />
    <span>{children}</span>
  </label>
)
