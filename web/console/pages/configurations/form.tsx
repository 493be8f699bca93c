import '../../parts/growth/growth.css'
import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ConditionInput, RemoteConfiguration } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Conditions } from '../../parts/conditions/conditions.tsx'
import { conditionsInWords } from '../../parts/conditions/words.ts'
import { Fault } from '../../parts/fault.tsx'
import { percentText } from '../../parts/growth/words.ts'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

type Draft = { name: string; key: string; percent: string; conditions: ConditionInput[] }

const draftOf = (of?: RemoteConfiguration): Draft => ({
  name: of?.name ?? '',
  key: of?.context_key ?? '',
  percent: String(of?.segment_percent ?? 100),
  conditions: [...(of?.segmentation_conditions ?? [])],
})

const bodyOf = ({ name, key, percent, conditions }: Draft) => ({
  name: name.trim(),
  context_key: key === '' ? null : key,
  segment_percent: Number(percent),
  segmentation_conditions: conditions,
})

const inWords = (of: RemoteConfiguration) => ({
  name: of.name,
  key: of.context_key,
  percent: percentText(of.segment_percent),
  conditions: conditionsInWords(of.segmentation_conditions),
})
const FIELDS = { name: 'Name', key: 'Context key', percent: 'Share', conditions: 'Conditions' } as const

const CHANGES = { changes: ['v4ListRemoteConfigurations', 'v4GetRemoteConfiguration'] } as const

/** Makes a draft, or changes what is said about a configuration; its payload has an editor of its own. */
export default function ConfigurationForm({
  configuration,
  onDone,
  onClose,
}: {
  configuration?: RemoteConfiguration
  onDone: (id: string) => void
  onClose: () => void
}) {
  const [draft, setDraft] = useState(() => draftOf(configuration))
  const [failed, setFailed] = useState<unknown>()
  const making = useWrite('v4CreateRemoteConfiguration', CHANGES)
  const changing = useWrite('v4UpdateRemoteConfiguration', CHANGES)
  const path = { config_id: configuration?.id ?? '' }
  const { before, newer, taken, isStill } = useBefore<RemoteConfiguration, RemoteConfiguration | undefined>(
    configuration,
    useLook('v4GetRemoteConfiguration', { path }),
    FIELDS,
    inWords,
  )
  const change = (part: Partial<Draft>) => setDraft(last => ({ ...last, ...part }))
  const body = bodyOf(draft)
  const error = making.error ?? changing.error
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message
  const isReady = body.name !== '' && draft.percent.trim() !== '' && Number.isFinite(body.segment_percent)
  const save = useOne(async () => {
    setFailed(undefined)
    if (before === undefined) {
      const { id } = await making.send({ body })
      say(t('The draft is made'))
      return onDone(id)
    }
    if (!(await isStill())) return
    await changing.send({ path, body })
    say(t('The configuration is saved'))
    onDone(before.id)
  })
  return (
    <Modal opened onClose={onClose} size={720} title={configuration ? t('Edit the configuration') : t('New configuration')}>
      <form
        className="form growth-form"
        onSubmit={event => {
          event.preventDefault()
          if (isReady) void save().catch(setFailed)
        }}
      >
        <TextInput
          label={t('Name')}
          required
          data-autofocus
          maxLength={256}
          value={draft.name}
          error={faultOf('name')}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
        />
        <div className="growth-fields">
          <TextInput
            label={t('Context key')}
            description={t('With which the app asks; empty: without a key')}
            placeholder="main_paywall"
            maxLength={256}
            value={draft.key}
            error={faultOf('context_key')}
            onChange={({ currentTarget }) => change({ key: currentTarget.value.trim() })}
          />
          <TextInput
            label={t('Share in percent')}
            description={t('Raising it keeps everyone who is in')}
            type="number"
            min={0}
            max={100}
            step="any"
            required
            value={draft.percent}
            error={faultOf('segment_percent')}
            onChange={({ currentTarget }) => change({ percent: currentTarget.value })}
          />
        </div>
        <Conditions
          value={draft.conditions}
          onChange={conditions => change({ conditions })}
          errors={error?.details}
          field="segmentation_conditions"
          legend={t('Served where all of these hold')}
          references
        />
        {configuration?.status === 'active' && (
          <p className="growth-note">{t('It is active: apps are served by what is saved here from their next request on.')}</p>
        )}
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
          {configuration ? (
            <ShowTheCall name="v4UpdateRemoteConfiguration" input={{ path, body }} />
          ) : (
            <ShowTheCall name="v4CreateRemoteConfiguration" input={{ body }} />
          )}
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={making.isPending || changing.isPending} disabled={!isReady}>
            {configuration === undefined ? t('Make the draft') : newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
