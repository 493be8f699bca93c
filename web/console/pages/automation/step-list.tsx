import type { AutomationData, AutomationStep, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { count } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { EndBox, StartBox, StepBox } from './box.tsx'
import { countOfStep } from './use-counts.ts'
import { type NameOfEvent, stepsOf, waysOf } from './words.ts'

type Props = { counts: AutomationVersionCounts | undefined; nameOf: NameOfEvent }

/** The flow on narrow screens: steps one below the other, the ways of a step below it and indented. */
export const StepList = ({ data, counts, nameOf }: Props & { data: AutomationData }) => (
  <ol className="steps-list" aria-label={t('Flow')}>
    <li>
      <StartBox data={data} counts={counts} nameOf={nameOf} />
    </li>
    <Steps steps={stepsOf(data)} counts={counts} nameOf={nameOf} />
    <li>
      <EndBox counts={counts} />
    </li>
  </ol>
)

const Steps = ({ steps, counts, nameOf }: Props & { steps: readonly AutomationStep[] }) =>
  steps.map(step => (
    <li key={step.id}>
      <StepBox step={step} counts={counts} nameOf={nameOf} />
      {waysOf(step).map(({ way, says, steps: own }) => (
        <div key={way} className="steps-way">
          <p className="steps-way-name">
            {says}
            {counts && <b>{count(countOfStep(counts, step.id)?.branches?.[way] ?? 0)}</b>}
            {own.length === 0 && <span className="faint">{t('goes on')}</span>}
          </p>
          {own.length > 0 && (
            <ol>
              <Steps steps={own} counts={counts} nameOf={nameOf} />
            </ol>
          )}
        </div>
      ))}
    </li>
  ))
