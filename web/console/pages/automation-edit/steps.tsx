import { createContext, useContext } from 'react'
import type { AutomationStep } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import { STEP_TYPES, type StepType, stepLook } from '../automation/words.ts'
import { newStep } from './draft.ts'
import { OwnFault } from './faults.tsx'
import { StepFields, Text } from './step-fields.tsx'

/** All steps of the form: a new one gets an id that none of them has. */
export const AllSteps = createContext<readonly AutomationStep[]>([])

const OPTIONS = Object.entries(STEP_TYPES).map(([code, { name }]) => ({ code, label: t(name) }))

type ListProps = { steps: readonly AutomationStep[]; path: string; onChange: (steps: AutomationStep[]) => void; empty: string }

/** A list of steps, which are moved, removed and added; steps with ways of their own have a list in each. */
export function Steps({ steps, path, onChange, empty }: ListProps) {
  const all = useContext(AllSteps)
  const move = (from: number, to: number) => {
    const next = [...steps]
    const [moved] = next.splice(from, 1)
    next.splice(to, 0, moved!)
    onChange(next)
  }
  return (
    <div className="edit-steps" data-path={path}>
      {steps.length === 0 && <p className="soft edit-none">{empty}</p>}
      <ol>
        {steps.map((step, n) => (
          <Step
            // biome-ignore lint/suspicious/noArrayIndexKey: ids are typed, and a place in the list is what a fault names
            key={n}
            step={step}
            path={`${path}[${n}]`}
            onChange={changed => onChange(steps.map((one, other) => (other === n ? changed : one)))}
            onRemove={() => onChange(steps.filter((_, other) => other !== n))}
            onUp={n > 0 ? () => move(n, n - 1) : undefined}
            onDown={n < steps.length - 1 ? () => move(n, n + 1) : undefined}
          />
        ))}
      </ol>
      <OwnFault path={path} />
      <Pick
        name={t('Add a step')}
        text={t('Add a step')}
        options={OPTIONS}
        chosen={[]}
        dashed
        onPick={code => onChange([...steps, newStep(code as StepType, all)])}
      />
    </div>
  )
}

type StepProps = {
  step: AutomationStep
  path: string
  onChange: (step: AutomationStep) => void
  onRemove: () => void
  onUp: (() => void) | undefined
  onDown: (() => void) | undefined
}

function Step({ step, path, onChange, onRemove, onUp, onDown }: StepProps) {
  const { icon, name } = stepLook(step.type)
  const change = (part: object) => onChange({ ...step, ...part } as AutomationStep)
  const title = `${t(name)}: ${step.id}`
  return (
    <li className="edit-step" data-path={path}>
      <div className="edit-step-head">
        <Icon name={icon} size={15} />
        <strong>{t(name)}</strong>
        <span className="edit-step-acts">
          <button type="button" className="icon-button small" aria-label={t('Up: {title}', { title })} disabled={!onUp} onClick={onUp}>
            <Icon name="up" size={13} />
          </button>
          <button
            type="button"
            className="icon-button small"
            aria-label={t('Down: {title}', { title })}
            disabled={!onDown}
            onClick={onDown}
          >
            <Icon name="down" size={13} />
          </button>
          <button type="button" className="icon-button small" aria-label={t('Remove: {title}', { title })} onClick={onRemove}>
            <Icon name="close" size={13} />
          </button>
        </span>
      </div>
      <OwnFault path={path} />
      <div className="edit-fields">
        <Text label={t('Id')} value={step.id} path={`${path}.id`} onChange={id => change({ id })} />
        <StepFields step={step} path={path} onChange={change} />
      </div>
      {step.type === 'branch' && (
        <>
          <Way name={t('If yes')}>
            <Steps
              steps={step.then ?? []}
              path={`${path}.then`}
              empty={t('Goes on with what follows.')}
              onChange={then => change({ then })}
            />
          </Way>
          <Way name={t('If no')}>
            <Steps
              steps={step.else ?? []}
              path={`${path}.else`}
              empty={t('Goes on with what follows.')}
              onChange={other => change({ else: other })}
            />
          </Way>
        </>
      )}
      {step.type === 'wait_for_event' && (
        <Way name={t('If it does not come in time')}>
          <Steps
            steps={step.on_timeout ?? []}
            path={`${path}.on_timeout`}
            empty={t('Goes on with what follows.')}
            onChange={on_timeout => change({ on_timeout })}
          />
        </Way>
      )}
    </li>
  )
}

const Way = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <section className="steps-way" aria-label={name}>
    <p className="steps-way-name">{name}</p>
    {children}
  </section>
)
