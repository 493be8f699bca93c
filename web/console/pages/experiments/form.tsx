import '../../parts/growth/growth.css'
import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Conditions } from '../../parts/conditions/conditions.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { bodyOf, changed, type Draft, draftOf, FIELDS, inWords, isReady } from './draft.ts'
import { Goal, Naming, Reach } from './fields.tsx'

const CHANGES = {
  changes: ['v4ListExperiments', 'v4GetExperiment', 'v4GetExperimentsSummary', 'v4ChangeExperimentStatus'],
} as const

/** Makes a draft, or changes an experiment: in a draft all of it, later what its state allows. */
export default function ExperimentForm({
  experiment,
  onDone,
  onClose,
}: {
  experiment?: Experiment
  onDone: (id: string) => void
  onClose: () => void
}) {
  const [draft, setDraft] = useState(() => draftOf(experiment))
  const [failed, setFailed] = useState<unknown>()
  const making = useWrite('v4CreateExperiment', CHANGES)
  const changing = useWrite('v4UpdateExperiment', CHANGES)
  const path = { experiment_id: experiment?.id ?? '' }
  const { before, newer, taken, isStill } = useBefore(experiment, useLook('v4GetExperiment', { path }), FIELDS, inWords)
  const body = before === undefined ? bodyOf(draft) : changed(before, draft)
  const error = making.error ?? changing.error
  const isDraft = experiment === undefined || experiment.status === 'draft'
  const fields = {
    draft,
    isDraft,
    isNew: experiment === undefined,
    change: (part: Partial<Draft>) => setDraft(last => ({ ...last, ...part })),
    faultOf: (field: string) => error?.details.find(detail => detail.field === field)?.message,
  }
  const ready = isReady(draft) && (before === undefined || Object.keys(body).length > 0)
  const save = useOne(async () => {
    setFailed(undefined)
    if (before === undefined) {
      const { id } = await making.send({ body: bodyOf(draft) })
      say(t('The draft is made'))
      return onDone(id)
    }
    if (!(await isStill())) return
    await changing.send({ path, body })
    say(t('The experiment is saved'))
    onDone(before.id)
  })
  return (
    <Modal opened onClose={onClose} size={760} title={experiment ? t('Edit the experiment') : t('New experiment')}>
      <form
        className="form growth-form"
        onSubmit={event => {
          event.preventDefault()
          if (ready) void save().catch(setFailed)
        }}
      >
        {!isDraft && (
          <p className="notice">
            {t(
              'It has started: own id, context key, independence and conditions stay as they are. A new traffic counts for new people only.',
            )}
          </p>
        )}
        <Naming {...fields} />
        <Reach {...fields} />
        <Conditions
          value={draft.conditions}
          onChange={conditions => fields.change({ conditions })}
          errors={error?.details}
          field="segmentation_conditions"
          legend={t('Takes in people for whom all of these hold')}
          references
          disabled={!isDraft}
        />
        <Goal {...fields} />
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              setDraft(draftOf(newer.of))
              taken()
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          {experiment ? (
            <ShowTheCall name="v4UpdateExperiment" input={{ path, body }} />
          ) : (
            <ShowTheCall name="v4CreateExperiment" input={{ body: bodyOf(draft) }} />
          )}
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={making.isPending || changing.isPending} disabled={!ready}>
            {experiment === undefined ? t('Make the draft') : newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
