import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ProjectSettings } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Newer, useBefore, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

const FIELDS = { project_name: 'Name', proxy_url: 'Pushes of Apple go on to', rtdn_proxy_url: 'Pushes of Google go on to' } as const
type Field = keyof typeof FIELDS

const textsOf = (settings: ProjectSettings): Record<Field, string> => ({
  project_name: settings.project_name,
  proxy_url: settings.proxy_url ?? '',
  rtdn_proxy_url: settings.rtdn_proxy_url ?? '',
})

export default function EditProject({ settings, onClose }: { settings: ProjectSettings; onClose: () => void }) {
  const [form, setForm] = useState(textsOf(settings))
  const [failed, setFailed] = useState<unknown>()
  const { newer, taken, isStill } = useBefore(settings, useLook('v4GetProjectSettings', {}), FIELDS)
  const { send, isPending, error } = useWrite('v4UpdateProjectSettings', { changes: ['v4GetProjectSettings', 'v4ListAuditLog'] })
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field)?.message

  const save = useOne(async () => {
    setFailed(undefined)
    if (!(await isStill())) return
    await send({
      body: {
        project_name: form.project_name.trim(),
        proxy_url: form.proxy_url.trim() || null,
        rtdn_proxy_url: form.rtdn_proxy_url.trim() || null,
      },
    })
    say(t('The settings are saved'))
    onClose()
  })
  return (
    <Modal opened onClose={onClose} title={t('Edit the project')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void save().catch(setFailed)
        }}
      >
        {(Object.keys(FIELDS) as Field[]).map(field => (
          <TextInput
            key={field}
            label={t(FIELDS[field])}
            {...(field === 'project_name' ? { required: true, 'data-autofocus': true } : { placeholder: 'https://' })}
            description={field === 'project_name' ? undefined : t('An https address; empty: nowhere')}
            value={form[field]}
            maxLength={field === 'project_name' ? 255 : 2_048}
            error={faultOf(field)}
            onChange={({ currentTarget: { value } }) => setForm(last => ({ ...last, [field]: value }))}
          />
        ))}
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              setForm(textsOf(newer.of))
              taken()
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        <div className="form-actions">
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={isPending}>
            {newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
