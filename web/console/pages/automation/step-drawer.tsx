import type { Automation, AutomationData, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { Pairs } from '../../parts/card.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { count } from '../../parts/format.ts'
import { JsonText } from '../../parts/json-text.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { countOfStep } from './use-counts.ts'
import { allOf, type NameOfEvent, stepLook, stepsOf, stepText, waysOf } from './words.ts'

/** A step by itself: what it does, and what became of the runs that reached it. */
export function StepDrawer({
  id,
  automation,
  data,
  counts,
  nameOf,
  onClose,
}: {
  id: string
  automation: Automation
  data: AutomationData
  counts: AutomationVersionCounts | undefined
  nameOf: NameOfEvent
  onClose: () => void
}) {
  const step = allOf(stepsOf(data)).find(one => one.id === id)
  if (!step)
    return (
      <Drawer title={t('There is no such step')} onClose={onClose}>
        <p className="soft">{t('This version has no step with this id.')}</p>
      </Drawer>
    )
  const own = countOfStep(counts, id)
  const figure = (n: number | undefined) => <b className="num">{count(n ?? 0)}</b>
  return (
    <Drawer title={`${t(stepLook(step.type).name)}: ${id}`} onClose={onClose}>
      <p className="step-text">{stepText(step, nameOf)}</p>
      {counts && (
        <Pairs
          rows={[
            [t('Runs that reached it'), figure(own?.reached)],
            ...waysOf(step).map(({ way, says }) => [t('… and went “{way}”', { way: says }), figure(own?.branches?.[way])] as const),
            [t('Wait there now'), figure(own?.waiting)],
            [t('Being tried again'), figure(own?.retrying)],
            [t('Succeeded there'), figure(own?.succeeded)],
            [t('Failed there'), figure(own?.failed)],
            [t('Left out'), figure(own?.skipped)],
            [t('Cancelled there'), figure(own?.cancelled)],
            [t('Ended after it'), figure(own?.ended)],
          ]}
        />
      )}
      <p className="step-links">
        <To to="/runs" search={{ 'f.automation_id': automation.id }} className="link">
          {t('Runs of this automation')}
        </To>
      </p>
      <JsonText value={step} />
    </Drawer>
  )
}
