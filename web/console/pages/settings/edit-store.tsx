import { Button, Checkbox, Modal, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { StoreConfig } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { type Platform, STORES } from './store-fields.ts'

const valuesOf = (config: StoreConfig) => config as unknown as Record<string, string | boolean | null>

/** Only what is changed is sent. A secret stays unless another one is typed. */
export function EditStore({ platform, config, onClose }: { platform: Platform; config: StoreConfig; onClose: () => void }) {
  const { title, fields, secrets } = STORES[platform]
  const textsOf = (from: StoreConfig) => Object.fromEntries(Object.keys(fields).map(name => [name, String(valuesOf(from)[name] ?? '')]))
  const [form, setForm] = useState<Record<string, string>>(() => textsOf(config))
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [enabled, setEnabled] = useState(config.enabled)
  const [failed, setFailed] = useState<unknown>()
  const { before, newer, taken, isStill } = useBefore(config, useLook('v4GetStoreConfig', { path: { platform } }), {
    ...fields,
    enabled: t('On'),
  })
  const { send, isPending, error } = useWrite('v4UpdateStoreConfig', { changes: ['v4GetStoreConfig', 'v4ListAlerts', 'v4ListAuditLog'] })
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message

  const changed = {
    ...Object.fromEntries(
      Object.keys(fields)
        .filter(name => (form[name] ?? '').trim() !== String(valuesOf(before)[name] ?? ''))
        .map(name => [name, form[name]!.trim() || null]),
    ),
    ...Object.fromEntries(Object.entries(typed).filter(([, value]) => value.trim() !== '')),
    ...(enabled !== before.enabled && { enabled }),
  }
  const save = useOne(async () => {
    setFailed(undefined)
    if (!(await isStill())) return
    await send({ path: { platform }, body: changed })
    say(t('{title} is saved', { title }))
    onClose()
  })
  return (
    <Modal opened onClose={onClose} title={t('Edit {title}', { title })} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void save().catch(setFailed)
        }}
      >
        {Object.entries(fields).map(([name, label], at) => (
          <TextInput
            key={name}
            data-autofocus={at === 0 || undefined}
            label={t(label)}
            value={form[name] ?? ''}
            maxLength={255}
            error={faultOf(name)}
            onChange={({ currentTarget: { value } }) => setForm(last => ({ ...last, [name]: value }))}
          />
        ))}
        {Object.entries(secrets).map(([name, label], at) => (
          <Textarea
            key={name}
            data-autofocus={(at === 0 && Object.keys(fields).length === 0) || undefined}
            label={t(label)}
            description={
              valuesOf(before)[`has_${name}`] ? t('Stored, and never shown. Type another one to replace it.') : t('Not stored yet')
            }
            rows={2}
            classNames={{ input: 'code-text' }}
            spellCheck={false}
            autoComplete="off"
            value={typed[name] ?? ''}
            error={faultOf(name)}
            onChange={({ currentTarget: { value } }) => setTyped(last => ({ ...last, [name]: value }))}
          />
        ))}
        <Checkbox
          label={t('On: purchases of this store are checked')}
          checked={enabled}
          onChange={({ currentTarget }) => setEnabled(currentTarget.checked)}
        />
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              setForm(textsOf(newer.of))
              setEnabled(newer.of.enabled)
              taken()
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={isPending} disabled={Object.keys(changed).length === 0}>
            {newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
