import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { sayWithUndo } from '../../parts/undo.tsx'

type Property = { key: string; value: string }
const CHANGES = { changes: ['v4GetCustomer', 'v4ListCustomerTimeline'] } as const

/** The properties as a form. Only what was changed is sent; the way back sets what was there, and empties what was not. */
export function EditProperties({ id, view, onClose }: { id: string; view: CustomerData; onClose: () => void }) {
  const [before] = useState(() => new Map(view.userProperties.map(({ key, value }) => [key, value])))
  const [values, setValues] = useState(before)
  const [added, setAdded] = useState<Property>({ key: '', value: '' })
  const [refused, setRefused] = useState<ReadonlyMap<string, string>>(new Map())
  const { send, isPending, error } = useWrite('v4SetUserProperties', CHANGES)
  const undo = useWrite('v4SetUserProperties', CHANGES)
  const changed: Property[] = [...values].filter(([key, value]) => before.get(key) !== value).map(([key, value]) => ({ key, value }))
  if (added.key !== '') changed.push(added)
  const save = async () => {
    try {
      const result = await send({ path: { user_id: id }, body: { properties: changed } })
      if (result === undefined) return
      const { saved_properties: saved, property_errors: errors } = result
      sayWithUndo(t('The properties are saved'), () =>
        undo.send({ path: { user_id: id }, body: { properties: saved.map(({ key }) => ({ key, value: before.get(key) ?? '' })) } }),
      )
      if (errors.length === 0) return onClose()
      setRefused(new Map(errors.map(({ key, error: why }) => [key, why])))
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Drawer title={t('Properties')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        {[...values].map(([key, value]) => (
          <TextInput
            key={key}
            label={<span className="property-key">{key}</span>}
            value={value}
            error={refused.get(key)}
            onChange={({ currentTarget }) => setValues(new Map(values).set(key, currentTarget.value))}
          />
        ))}
        <fieldset className="property-new">
          <legend className="form-label">{t('Another one')}</legend>
          <TextInput
            aria-label={t('Key')}
            placeholder={t('Key')}
            value={added.key}
            error={refused.get(added.key)}
            onChange={({ currentTarget }) => setAdded({ ...added, key: currentTarget.value.trim() })}
          />
          <TextInput
            aria-label={t('Value')}
            placeholder={t('Value')}
            value={added.value}
            onChange={({ currentTarget }) => setAdded({ ...added, value: currentTarget.value })}
          />
        </fieldset>
        <p className="soft">
          {t('A property is not deleted: an empty value empties it. Keys that begin with _ are registered ones, such as _q_email.')}
        </p>
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Send size="xs" loading={isPending} disabled={changed.length === 0}>
            {t('Save')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
