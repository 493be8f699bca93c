import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Experiment, ExperimentGroup } from '../../../../clients/typescript/src/index.ts'
import { usePages } from '../../data/read.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type Difference, differences, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Pick } from '../../parts/pick.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { CHANGES } from './changes.ts'

type Draft = { name: string; weight: string; is_control: boolean; config: string; offering: string }

/** The first group of an experiment is the control, until somebody says otherwise. */
const draftOf = (group?: ExperimentGroup, isFirst = false): Draft => ({
  name: group?.name ?? '',
  weight: String(group?.weight ?? 1),
  is_control: group?.is_control ?? isFirst,
  config: group?.remote_config_uid ?? '',
  offering: group?.offering_uid ?? '',
})

const bodyOf = ({ name, weight, is_control, config, offering }: Draft) => ({
  name: name.trim() === '' ? null : name.trim(),
  weight: Number(weight),
  is_control,
  remote_config_uid: config === '' ? null : config,
  offering_uid: offering === '' ? null : offering,
})
type Body = ReturnType<typeof bodyOf>

/** Only what is different: of a running experiment the service takes name and weight alone. */
function changed(before: ExperimentGroup, draft: Draft): Partial<Body> {
  const [was, is] = [bodyOf(draftOf(before)), bodyOf(draft)]
  return Object.fromEntries((Object.keys(is) as (keyof Body)[]).filter(name => was[name] !== is[name]).map(name => [name, is[name]]))
}

const inWords = ({ name, weight, is_control, remote_config_name, remote_config_uid, offering_product_ids }: ExperimentGroup) => ({
  name,
  weight: String(weight),
  is_control: is_control ? t('yes') : t('no'),
  config: remote_config_name ?? remote_config_uid,
  offering: offering_product_ids?.join(', ') ?? null,
})
const FIELDS = { name: 'Name', weight: 'Weight', is_control: 'Control', config: 'Payload', offering: 'Products' } as const

/** Adds a group to a draft, or changes one. */
export default function GroupForm({
  of: experiment,
  group,
  isFirst = false,
  onClose,
}: {
  of: Experiment
  group?: ExperimentGroup
  isFirst?: boolean
  onClose: () => void
}) {
  const [before, setBefore] = useState(group)
  const [draft, setDraft] = useState(() => draftOf(group, isFirst))
  const [newer, setNewer] = useState<{ of: ExperimentGroup; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const making = useWrite('v4CreateExperimentGroup', CHANGES)
  const changing = useWrite('v4UpdateExperimentGroup', CHANGES)
  const look = useLook('v4ListExperimentGroups', { path: { experiment_id: experiment.id } })
  const isDraft = experiment.status === 'draft'
  const error = making.error ?? changing.error
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message
  const change = (part: Partial<Draft>) => setDraft(last => ({ ...last, ...part }))
  const path = { experiment_id: experiment.id, group_id: group?.id ?? '' }
  const body = before === undefined ? bodyOf(draft) : changed(before, draft)
  const weight = Number(draft.weight)
  const ready = draft.weight.trim() !== '' && Number.isFinite(weight) && weight >= 0 && Object.keys(body).length > 0
  const save = useOne(async () => {
    setFailed(undefined)
    if (before === undefined) {
      await making.send({ path: { experiment_id: experiment.id }, body: bodyOf(draft) })
      say(t('The group is added'))
      return onClose()
    }
    const now = (await look()).data.find(({ id }) => id === before.id)
    const found = now === undefined ? [] : differences(inWords(before), inWords(now), FIELDS)
    if (now !== undefined && found.length > 0) {
      setBefore(now)
      return setNewer({ of: now, found })
    }
    await changing.send({ path, body })
    say(t('The group is saved'))
    onClose()
  })
  return (
    <Drawer title={group ? t('Edit the group') : t('Add a group')} onClose={onClose}>
      <form
        className="form growth-form"
        onSubmit={event => {
          event.preventDefault()
          if (ready) void save().catch(setFailed)
        }}
      >
        <TextInput
          label={t('Name')}
          maxLength={256}
          value={draft.name}
          error={faultOf('name')}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
        />
        <TextInput
          label={t('Weight')}
          description={
            isDraft
              ? t('Relative to the other groups: 1 and 1 are halves, 0 takes nobody in')
              : t('Counts for new people only: everyone else stays in their group')
          }
          inputMode="decimal"
          required
          value={draft.weight}
          error={faultOf('weight')}
          onChange={({ currentTarget }) => change({ weight: currentTarget.value.replace(',', '.') })}
        />
        {isDraft ? (
          <>
            <Checkbox
              size="xs"
              label={t('The control: the others are compared with it')}
              checked={draft.is_control}
              // Another group takes it over, none gives it up.
              disabled={before?.is_control === true}
              onChange={({ currentTarget }) => change({ is_control: currentTarget.checked })}
            />
            <Payload
              chosen={draft.config}
              name={before?.remote_config_name}
              fault={faultOf('remote_config_uid')}
              onPick={config => change({ config })}
            />
            <OfferingPick
              before={before}
              chosen={draft.offering}
              fault={faultOf('offering_uid')}
              onPick={offering => change({ offering })}
            />
          </>
        ) : (
          <p className="growth-note">{t('What a group serves, and which one is the control, can be changed in a draft only.')}</p>
        )}
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              setDraft(draftOf(newer.of))
              setNewer(undefined)
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          {group ? (
            <ShowTheCall name="v4UpdateExperimentGroup" input={{ path, body }} />
          ) : (
            <ShowTheCall name="v4CreateExperimentGroup" input={{ path: { experiment_id: experiment.id }, body: bodyOf(draft) }} />
          )}
          <Send size="xs" loading={making.isPending || changing.isPending} disabled={!ready}>
            {group === undefined ? t('Add the group') : newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}

type PickedProps = { chosen: string; fault: string | undefined; onPick: (id: string) => void }
const NONE = ''

function Payload({ chosen, name, fault, onPick }: PickedProps & { name: string | null | undefined }) {
  const [opened, setOpened] = useState(false)
  const { data, isLoading } = usePages('v4ListRemoteConfigurations', { query: { limit: 100 } }, { when: opened })
  const known = (data ?? []).filter(({ status }) => status !== 'archived').map(one => ({ code: one.id, label: one.name }))
  const shown = known.find(({ code }) => code === chosen)?.label ?? name ?? chosen
  return (
    <div>
      <p className="form-label">{t('Payload')}</p>
      <Pick
        name={t('Configuration')}
        text={chosen === NONE ? t('what everybody is served') : shown}
        options={[{ code: NONE, label: t('what everybody is served') }, ...known]}
        chosen={[chosen]}
        free
        reading={isLoading}
        wide
        onOpen={() => setOpened(true)}
        onPick={onPick}
      />
      {fault && <p className="growth-fault">{fault}</p>}
    </div>
  )
}

function OfferingPick({ before, chosen, fault, onPick }: PickedProps & { before: ExperimentGroup | undefined }) {
  const [opened, setOpened] = useState(false)
  const { data, isLoading } = usePages('v4ListOfferings', { query: { limit: 100 } }, { when: opened })
  const own = before?.offering_uid
  const kept = own ? [{ code: own, label: t('its own copy, as it is') }] : []
  const known = (data ?? []).map(({ id }) => ({ code: id, label: t('a copy of {id}', { id }) }))
  const options = [{ code: NONE, label: t('what everybody is offered') }, ...kept, ...known]
  return (
    <div>
      <p className="form-label">{t('Offering')}</p>
      <Pick
        name={t('Offering')}
        text={options.find(({ code }) => code === chosen)?.label ?? t('a copy of {id}', { id: chosen })}
        options={options}
        chosen={[chosen]}
        free
        reading={isLoading}
        wide
        onOpen={() => setOpened(true)}
        onPick={onPick}
      />
      {own === chosen && own !== null && (before?.offering_product_ids?.length ?? 0) > 0 && (
        <p className="growth-note">{before?.offering_product_ids?.join(', ')}</p>
      )}
      {fault && <p className="growth-fault">{fault}</p>}
    </div>
  )
}
